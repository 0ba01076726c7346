"""Checks a whole record and reports each inconsistency, in the order of the record.

It continues after an inconsistency and never fails because of a record. A torn last line is a warning, because a crash
leaves one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ValidationError

from trajectories.checks.actions import Actions
from trajectories.checks.calls import Calls
from trajectories.checks.contents import Contents
from trajectories.checks.interventions import Questions, Turns
from trajectories.checks.order import Order
from trajectories.checks.outcome import Outcome, Parentage
from trajectories.checks.panels import Panels
from trajectories.checks.plans import GivenPlan, RoleRecord
from trajectories.checks.rule import Rule
from trajectories.checks.workspaces import Workspaces
from trajectories.errors import RecordError
from trajectories.plain_files import read_plain
from trajectories.reading.lines import complete_lines
from trajectories.reading.packed import open_record
from trajectories.reading.reader import EventParser, events_file
from trajectories.reading.steps.index import first_false_step
from trajectories.reading.summary import Summary, missing_fields, names_a_hint_wrongly
from trajectories.record.events import Event, Exited, TrialStarted, Unknown
from trajectories.record.layout import STEPS, TrialFolder
from trajectories.writing.derived import derived

_MOST_FINDINGS = 1000
_MOST_CONVENIENCE_BYTES = 64 << 20
_OLDER = "it was written by an older version (`agent show --rebuild` rewrites it)"


class Finding(BaseModel):
    """An inconsistency, or a fact that a reader should know."""

    rule: str
    """Name of the rule."""
    place: str
    """File and line, or the file."""
    text: str
    """Description in one line."""
    warning: bool = False
    """True for a fact that does not make the record inconsistent."""


class Checked(BaseModel):
    """The result of checking a record."""

    trial: str
    """Directory of the trial."""
    consistent: bool
    """True if there are at most warnings."""
    finished: bool
    """False if the record has no exit (yet). The record of a plan has none."""
    events: int
    """Number of events."""
    findings: list[Finding]
    """Inconsistencies and warnings, in the order of the record."""

    @property
    def first(self) -> Finding | None:
        """The first inconsistency."""
        return next((finding for finding in self.findings if not finding.warning), None)


def check(trial: Path) -> Checked:
    """Check the record of a trial.

    Raises: RecordError if there is none.
    """
    path = events_file(trial)
    checking = _Checking(path)
    findings: list[Finding] = []
    for finding in checking.run():
        findings.append(finding)
        if len(findings) >= _MOST_FINDINGS:
            findings.append(Finding(rule="order", place=path.name, text="there are more", warning=True))
            break
    return Checked(
        trial=str(path.parent),
        consistent=all(finding.warning for finding in findings),
        finished=checking.finished,
        events=checking.events,
        findings=findings,
    )


class _Checking:
    def __init__(self, path: Path) -> None:
        self._path = path
        contents = Contents(path.parent)
        self._of_role = TrialFolder(path.parent).is_role_record()
        self._parentage = Parentage(path.parent)
        self._rules: tuple[Rule, ...] = (
            Order(),
            self._parentage,
            Calls(),
            Actions(contents),
            Workspaces(path.parent, contents),
            Outcome(),
            Panels(),
            Turns(contents),
            Questions(),
            GivenPlan(path.parent),
        )
        if self._of_role:
            self._rules = (Order(), Panels(), RoleRecord(path.parent))
        self.finished = self._of_role
        self.events = 0

    def run(self) -> Iterator[Finding]:
        readable = True
        kept: list[Event] = []
        parser = EventParser(of_role=self._of_role)
        try:
            for number, line in complete_lines(self._path):
                place = f"{self._path.name}:{number}"
                self.events = number
                try:
                    events = parser.events(line, place)
                except RecordError as error:
                    yield Finding(rule="event", place=place, text=str(error).removeprefix(f"{place}: "))
                    readable = False
                    continue
                for event in events:
                    kept.append(event)
                    self.finished |= isinstance(event, Exited)
                    if isinstance(event, Unknown):
                        text = f"the type of event {event.type[:40]!r} is unknown to this version"
                        yield Finding(rule="event", place=place, text=text, warning=True)
                    for rule in self._rules:
                        if rule.name == Order.name and event is not events[-1]:
                            continue  # a line of an older version is several events, and has one number
                        for text in rule.feed(event):
                            yield Finding(rule=rule.name, place=place, text=text)
        except RecordError as error:
            yield Finding(rule="event", place=self._path.name, text=str(error))
            readable = False
        if not self.events:
            yield Finding(rule="event", place=self._path.name, text="the record has no events")
        yield from self._end()
        if readable and kept and self.finished and not self._of_role:
            yield from self._conveniences(kept)
            if (step := first_false_step(self._path)) is not None:
                text = f"it differs from the events in step {step} (`agent show --rebuild` rewrites it)"
                yield Finding(rule="conveniences", place=STEPS, text=text)

    def _end(self) -> Iterator[Finding]:
        for rule in self._rules:
            for text in rule.end():
                yield Finding(rule=rule.name, place=self._path.name, text=text)
        if parent := self._parentage.missing_parent():
            text = f"the parent {parent[:80]!r} is not among the trials of these batches"
            yield Finding(rule="parentage", place=self._path.name, text=text, warning=True)
        if _is_torn(self._path):
            text = "the last line is torn: its writer ended while it was writing it"
            yield Finding(rule="event", place=f"{self._path.name}:{self.events + 1}", text=text, warning=True)

    def _conveniences(self, events: list[Event]) -> Iterator[Finding]:
        """Yield derived files that differ from the events: somebody changed one, or `agent show --rebuild` is due."""
        if not isinstance(events[0], TrialStarted):
            return
        for name, content in derived(self._path.parent, events).items():
            path = self._path.parent / name
            try:
                if path.stat().st_size > _MOST_CONVENIENCE_BYTES:
                    raise ValueError("it is too large")
                stored = type(content).model_validate_json(read_plain(path))
            except FileNotFoundError:
                continue
            except (OSError, ValidationError, ValueError) as error:
                problems = error.errors(include_url=False) if isinstance(error, ValidationError) else []
                if problems and all(problem["type"] == "missing" for problem in problems):
                    yield Finding(rule="conveniences", place=name, text=_OLDER, warning=True)
                    continue
                reason = problems[0]["msg"] if problems else str(error)
                text = f"it cannot be read: {' '.join(reason.split())[:200]}"
                yield Finding(rule="conveniences", place=name, text=text)
                continue
            if isinstance(stored, Summary) and names_a_hint_wrongly(stored):
                yield Finding(rule="conveniences", place=name, text=_OLDER, warning=True)
                continue
            before, after = (_compared(summary, stored) for summary in (stored, content))
            differing = [key for key in after if before[key] != after[key]]
            if differing:
                text = f"it differs from the events in {', '.join(differing)} (`agent show --rebuild` rewrites it)"
                yield Finding(rule="conveniences", place=name, text=text)


def _compared(content: BaseModel, stored: BaseModel) -> dict[str, object]:
    """Return the fields of a derived file that must be those of the stored one: of a summary, those that it has."""
    if not isinstance(stored, Summary):
        return content.model_dump()
    missing, of_entry = missing_fields(stored)
    left_out: dict[str, bool | set[str]] = {"entry": set(of_entry)}
    left_out.update(dict.fromkeys(("trial", *missing), True))
    return content.model_dump(exclude=left_out)


def _is_torn(path: Path) -> bool:
    try:
        with open_record(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 1))
            return size > 0 and file.read(1) != b"\n"
    except RecordError:  # a damaged packed record, which its reader has reported
        return False
