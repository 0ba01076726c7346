"""The commands of a record once more, in a fresh environment: what came again, what did not, and where it matters.

Commands run in order, with the recorded deadlines; nothing stops at a difference. Each is compared in its end and its
output (`trajectories.comparison.compare`), each step in what it left of the workspace. The first action after which the
workspace differs is the causal one: what differs later may only follow from it.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from agent.errors import UserError
from agent.replay.initial import Initial
from agent.replay.workspaces import Workspaces, whole
from agent.trial.snapshots import ignored
from environments.protocol import Environment, Execution
from trajectories.blobs.spooled import Spooled
from trajectories.blobs.store import BlobStore
from trajectories.comparison.compare import (
    NORMALIZED_BYTES,
    Comparison,
    Span,
    compare,
    first_difference,
    first_differing_byte,
)
from trajectories.interrupts import interruptible
from trajectories.reading.reader import read_events
from trajectories.record.events import CUT_OFF, ActionFinished, ActionStarted, BaseEvent, Event, Output, Snapshot
from trajectories.record.layout import WORKSPACE
from trajectories.workspace.exported import archive_manifest
from trajectories.workspace.manifest import compare_manifests
from trajectories.workspace.states import NoSnapshots, state_at

VOLATILE = ".git/index"
"""git's notes of when it last saw each file: never the same twice. The contents it names are compared as objects."""


@dataclass(frozen=True)
class Divergence:
    """An action that did not come out as it was recorded; `name` is the class of the difference."""

    action: str
    name: str
    detail: str

    def json(self) -> dict[str, str]:
        return {"action": self.action, "class": self.name, "detail": self.detail}


@dataclass
class Report:
    """What a replay found. Counts are out of `actions`; an output that is identical is also equal normalised."""

    trial: Path
    environment: str
    actions: int = 0
    returncodes_equal: int = 0
    outputs_identical: int = 0
    outputs_equal_normalized: int = 0
    divergences: list[Divergence] = field(default_factory=list)
    first_causal: Divergence | None = None
    workspace_equal: bool | None = None
    """None where the record does not say what the workspace was."""
    workspace_differences: list[str] = field(default_factory=list)
    not_replayed: list[str] = field(default_factory=list)
    """Actions whose end is not recorded, or not their own (interrupted, lost): there is nothing to compare with."""
    not_restored: list[str] = field(default_factory=list)
    not_compared: list[str] = field(default_factory=list)
    """Paths that differ and say something of times and file numbers only (`VOLATILE`)."""
    notes: list[str] = field(default_factory=list)

    @property
    def all_equal(self) -> bool:
        """Whether everything came again to the byte."""
        return not self.divergences and self.workspace_equal is not False

    def json(self) -> dict[str, Any]:
        """As `agent replay --json` prints it."""
        return {
            "trial": str(self.trial),
            "environment": self.environment,
            "actions": self.actions,
            "returncodes_equal": self.returncodes_equal,
            "outputs_identical": self.outputs_identical,
            "outputs_equal_normalized": self.outputs_equal_normalized,
            "divergences": [one.json() for one in self.divergences],
            "first_causal": None if self.first_causal is None else self.first_causal.json(),
            "workspace_equal": self.workspace_equal,
            "workspace_differences": self.workspace_differences,
            "not_replayed": self.not_replayed,
            "not_restored": self.not_restored,
            "not_compared": self.not_compared,
            "notes": self.notes,
        }


def replay(directory: Path, initial: Initial, *, to: int | None = None, say: Callable[[str], None] = print) -> Report:
    """Run a trial's commands again, up to step `to`; `initial` gives the environment that they begin in.

    Raises: UserError, RecordError, EnvironmentFault.
    """
    events = list(read_events(directory))
    steps = max((event.step for event in events if isinstance(event, ActionStarted)), default=0)
    if to is not None and not 1 <= to <= steps:
        raise UserError(f"--to {to}: {directory.name} has commands in steps 1 to {steps}")
    environment = initial.environment()
    report = Report(directory, initial.order.spec.kind, notes=[initial.note] if initial.note else [])
    try:
        with interruptible():
            report.not_restored = initial.start(environment)
            commands = _Replay(
                directory,
                environment,
                report,
                say,
                alike=not initial.own_state,
                deadline_s=initial.order.limits.command_s,
            )
            commands.run(events, steps if to is None else to)
            if report.workspace_equal is None and to in (None, steps):
                _compare_final(directory, environment, report)
    finally:
        environment.stop()
        if initial.scratch is not None:
            initial.scratch.rmdir()
    return report


class _Replay:
    def __init__(
        self,
        directory: Path,
        environment: Environment,
        report: Report,
        say: Callable[[str], None],
        *,
        alike: bool,
        deadline_s: float,
    ) -> None:
        """`alike`: whether the workspace is what it was at the beginning of the trial.

        `deadline_s` is for commands of which no deadline was recorded.
        """
        self._deadline_s = deadline_s
        self._environment = environment
        self._report = report
        self._say = say
        self._blobs = BlobStore(directory / "blobs")
        self._began_s = time.time()
        self._trial_began_s: float | None = None
        self._differing: set[str] = set()
        try:
            self._workspaces: Workspaces | None = Workspaces(environment, state_at(directory, 0).manifest, alike=alike)
        except NoSnapshots:
            self._workspaces = None
        else:
            self._differing = set(_told(self._workspaces.differing, report))
            if self._differing:
                first, more = min(self._differing), len(self._differing)
                report.notes.append(f"the workspace is another one from the beginning: {first} ({more} in all)")

    def run(self, events: list[Event], to: int) -> None:
        events = [event for event in events if getattr(event, "step", 0) <= to]
        self._trial_began_s = _seconds(events[0])
        finished = [event for event in events if isinstance(event, ActionFinished)]
        in_step = Counter(event.step for event in finished if event.ended not in CUT_OFF)
        started: ActionStarted | None = None
        action = ""
        for event in events:
            match event:
                case ActionStarted():
                    started, action = event, event.action
                    if event.action not in self._report.not_replayed:
                        self._report.not_replayed.append(event.action)
                case ActionFinished() if started is not None and event.action == started.action:
                    if event.ended not in CUT_OFF:
                        self._run(started, event)
                        if self._workspaces is not None and in_step[event.step] > 1:
                            self._workspaces.note(event.action)
                    started = None
                case Snapshot() if event.step > 0 and self._workspaces is not None:
                    self._compare_step(event, action)

    def _run(self, started: ActionStarted, then: ActionFinished) -> None:
        report = self._report
        separate = then.stderr is not None
        now = self._environment.execute(
            started.script, deadline_s=started.deadline_s or self._deadline_s, separate=separate
        )
        report.actions += 1
        report.not_replayed = [action for action in report.not_replayed if action != then.action]
        ends_equal = _end_of(then) == _end_of(now)
        report.returncodes_equal += ends_equal
        streams = [(then.output, now.output)]
        if then.stderr is not None:
            streams.append((then.stderr, b"" if now.stderr is None else now.stderr))
        compared = [self._compare(old, new, then) for old, new in streams]
        if any(one is None for one in compared):
            self._diverged(Divergence(then.action, "not recorded", "the record does not hold this output whole"))
            return
        outputs = [one for one in compared if one is not None]
        report.outputs_identical += all(one.identical for one, _ in outputs)
        report.outputs_equal_normalized += all(one.equal for one, _ in outputs)
        names = [one.name for one, _ in outputs if one.name]
        details = [detail for one, detail in outputs if one.name]
        name = " + ".join(dict.fromkeys(names))
        if then.ended == now.ended == "deadline" and any(not one.equal for one, _ in outputs):
            name = "cut at the deadline"
        if not ends_equal:
            detail = f"{_shown(then)} then, {_shown(now)} now"
            if name:
                detail += f"; output ({name}): {'; '.join(details)}"
            name = "exit code" if then.ended == now.ended else "ended otherwise"
            self._diverged(Divergence(then.action, name, detail))
        elif name:
            self._diverged(Divergence(then.action, name, "; ".join(details)))

    def _compare(self, then: Output, now: bytes | Spooled, finished: ActionFinished) -> tuple[Comparison, str] | None:
        """How one stream differs, and where; None where the record does not hold it to the byte."""
        if max(then.kept, len(now)) > NORMALIZED_BYTES and then.blob is not None:
            pieces = now.pieces() if isinstance(now, Spooled) else (now,)
            at = first_differing_byte(self._blobs.pieces(then.blob), pieces)
            same = at is None
            detail = f"{then.kept} bytes then, {len(now)} now: they part at byte {at} (too long to be looked at closer)"
            return Comparison(identical=same, equal=same, noise=("masked",) if not same and then.masked else ()), detail
        recorded = self._recorded(then)
        if recorded is None:
            return None
        printed = bytes(now)
        ended_s = _seconds(finished)
        then_span = None
        if self._trial_began_s is not None and ended_s is not None:
            then_span = Span(self._trial_began_s, ended_s)
        outputs = compare(recorded, printed, then_span, Span(self._began_s, time.time()))
        if then.masked and not outputs.equal:
            outputs = Comparison(identical=False, equal=False, noise=("masked",))
        return outputs, "" if outputs.identical else first_difference(recorded, printed)

    def _compare_step(self, snapshot: Snapshot, action: str) -> None:
        assert self._workspaces is not None
        report = self._report
        paths = _told(self._workspaces.step(snapshot.changes), report)
        report.workspace_equal = not paths
        report.workspace_differences = paths
        more = sorted(set(paths) - self._differing)
        self._differing = set(paths)
        if not more:
            return
        where = next((found for path in more if (found := self._workspaces.by(path)) is not None), action)
        rest = f" and {len(more) - 1} more" if len(more) > 1 else ""
        detail = f"after it the workspace differs in {more[0]}{rest}"
        self._diverged(Divergence(where, "workspace", detail))
        if report.first_causal is None:
            same = [one.name for one in report.divergences if one.action == where and one.name != "workspace"]
            report.first_causal = Divergence(where, same[0] if same else "workspace", detail)

    def _diverged(self, divergence: Divergence) -> None:
        self._report.divergences.append(divergence)
        self._say(f"{divergence.action}: {divergence.name}: {divergence.detail}")

    def _recorded(self, output: Output) -> bytes | None:
        """What was kept of an output; None where the record does not hold it to the byte."""
        if output.blob is not None:
            return self._blobs.get(output.blob)
        data = output.text.encode("utf-8", "surrogatepass")
        return data if hashlib.sha256(data).hexdigest() == output.sha256 else None


def _compare_final(directory: Path, environment: Environment, report: Report) -> None:
    """The end, where the record has no snapshots but an exported workspace."""
    archive = directory / WORKSPACE
    if archive.is_file():
        recorded = {path: entry for path, entry in archive_manifest(archive).items() if not ignored(path)}
        found = _told([one.path for one in compare_manifests(recorded, whole(environment))], report)
        report.workspace_equal = not found
        report.workspace_differences = found


def _told(paths: Iterable[str], report: Report) -> list[str]:
    """The paths without those that are not compared, which the report names."""
    left_out = [path for path in paths if path == VOLATILE or path.endswith(f"/{VOLATILE}")]
    report.not_compared = sorted({*report.not_compared, *left_out})
    return [path for path in paths if path not in left_out]


def _seconds(event: BaseEvent) -> float | None:
    """When an event was written, in seconds since 1970."""
    try:
        return datetime.fromisoformat(event.t).timestamp()
    except (ValueError, OverflowError):
        return None


def _end_of(result: ActionFinished | Execution) -> tuple[str, int | None, int | None]:
    return result.ended, result.exit_code, result.signal


def _shown(result: ActionFinished | Execution) -> str:
    if result.ended not in ("exited", "oom"):
        return result.ended
    end = f"exit code {result.exit_code}" if result.signal is None else f"signal {result.signal}"
    return f"{end} ({result.ended})" if result.ended == "oom" else end
