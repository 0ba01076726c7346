"""The validator: reads a whole record and names what cannot be, first things first.

Reads on after what is wrong, so that all of it is named; nothing of a record makes it fail. A torn last line is what a
crash leaves, and a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ValidationError

from trajectories.checks.actions import Actions
from trajectories.checks.calls import Calls
from trajectories.checks.contents import Contents
from trajectories.checks.order import Order
from trajectories.checks.outcome import Outcome, Parentage
from trajectories.checks.panels import Panels
from trajectories.checks.rule import Rule
from trajectories.checks.workspaces import Workspaces
from trajectories.errors import RecordError
from trajectories.reading.lines import complete_lines
from trajectories.reading.reader import events_file, parse_event
from trajectories.record.events import Event, Exited, TrialStarted, Unknown
from trajectories.writing.derived import derived

_MOST_FINDINGS = 1000
_MOST_CONVENIENCE_BYTES = 64 << 20


class Finding(BaseModel):
    """One thing that cannot be, or that a reader should know (`warning`)."""

    rule: str
    place: str
    """File and line, or the file."""
    text: str
    warning: bool = False


class Checked(BaseModel):
    """All that was found; `consistent` if there are warnings at most. `finished` False: it has no exit (yet)."""

    trial: str
    consistent: bool
    finished: bool
    events: int
    findings: list[Finding]

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
            findings.append(Finding(rule="order", place=path.name, text="and more", warning=True))
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
        self._parentage = Parentage(path.parent)
        self._rules: tuple[Rule, ...] = (
            Order(),
            self._parentage,
            Calls(),
            Actions(contents),
            Workspaces(path.parent, contents),
            Outcome(),
            Panels(),
        )
        self.finished = False
        self.events = 0

    def run(self) -> Iterator[Finding]:
        readable = True
        kept: list[Event] = []
        try:
            for number, line in complete_lines(self._path):
                place = f"{self._path.name}:{number}"
                self.events = number
                try:
                    event = parse_event(line, place, first=number == 1)
                except RecordError as error:
                    yield Finding(rule="event", place=place, text=str(error).removeprefix(f"{place}: "))
                    readable = False
                    continue
                kept.append(event)
                self.finished |= isinstance(event, Exited)
                if isinstance(event, Unknown):
                    text = f"an event of the type {event.type[:40]!r}, which this version does not know"
                    yield Finding(rule="event", place=place, text=text, warning=True)
                for rule in self._rules:
                    for text in rule.feed(event):
                        yield Finding(rule=rule.name, place=place, text=text)
        except RecordError as error:
            yield Finding(rule="event", place=self._path.name, text=str(error))
            readable = False
        if not self.events:
            yield Finding(rule="event", place=self._path.name, text="the record holds no event")
        yield from self._end()
        if readable and kept and self.finished:
            yield from self._conveniences(kept)

    def _end(self) -> Iterator[Finding]:
        for rule in self._rules:
            for text in rule.end():
                yield Finding(rule=rule.name, place=self._path.name, text=text)
        if parent := self._parentage.missing_parent():
            text = f"the parent {parent[:80]!r} is not among the trials here"
            yield Finding(rule="parentage", place=self._path.name, text=text, warning=True)
        if _is_torn(self._path):
            text = "the last line is torn: its writer died while writing it"
            yield Finding(rule="event", place=f"{self._path.name}:{self.events + 1}", text=text, warning=True)

    def _conveniences(self, events: list[Event]) -> Iterator[Finding]:
        """What is derived differs from the events: somebody changed one of them, or forgot `agent show --rebuild`."""
        if not isinstance(events[0], TrialStarted):
            return
        for name, content in derived(self._path.parent, events).items():
            path = self._path.parent / name
            try:
                if path.stat().st_size > _MOST_CONVENIENCE_BYTES:
                    raise ValueError("it is too large")
                there = type(content).model_validate_json(path.read_bytes())
            except FileNotFoundError:
                continue
            except (OSError, ValidationError, ValueError) as error:
                problems = error.errors(include_url=False) if isinstance(error, ValidationError) else []
                if problems and all(problem["type"] == "missing" for problem in problems):
                    text = "an older version wrote it (`agent show --rebuild` writes it anew)"
                    yield Finding(rule="conveniences", place=name, text=text, warning=True)
                    continue
                why = problems[0]["msg"] if problems else str(error)
                text = f"cannot be read: {' '.join(why.split())[:200]}"
                yield Finding(rule="conveniences", place=name, text=text)
                continue
            own, derived_ones = there.model_dump(exclude={"trial"}), content.model_dump(exclude={"trial"})
            differing = [key for key in derived_ones if own[key] != derived_ones[key]]
            if differing:
                text = f"differs from the events in {', '.join(differing)} (`agent show --rebuild` writes it anew)"
                yield Finding(rule="conveniences", place=name, text=text)


def _is_torn(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 1))
        return size > 0 and file.read(1) != b"\n"
