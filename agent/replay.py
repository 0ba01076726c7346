"""The commands of a record once more, in a fresh environment: what came again, what did not, and where it matters.

Commands run in order, with the recorded deadlines; nothing stops at a difference. Each is compared in its end and its
output (`trajectories.comparison`), each step in what it left of the workspace. The first step after which the
workspace differs is the causal one: what differs later may only follow from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.errors import UserError
from agent.initial import Initial
from agent.snapshots import ignored
from agent.solve import WORKSPACE
from agent.workspaces import Workspaces, whole
from environments.protocol import Environment, Execution
from trajectories.comparison import compare, first_difference
from trajectories.events import CUT_OFF, ActionFinished, ActionStarted, Event, Output, Snapshot
from trajectories.interrupts import interruptible
from trajectories.manifest import compare as differences
from trajectories.reader import read_events
from trajectories.states import NoSnapshots, state_at
from trajectories.store import BlobStore
from trajectories.workspace_archive import archive_manifest

VOLATILE = (".git/index",)
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
    """Actions whose end is not their own (interrupted, lost): there is nothing to compare with."""
    not_restored: list[str] = field(default_factory=list)
    not_compared: list[str] = field(default_factory=list)
    """Paths of the workspace that say something of times and file numbers only (`VOLATILE`)."""
    notes: list[str] = field(default_factory=list)

    @property
    def all_equal(self) -> bool:
        """Whether everything came again to the byte."""
        return not self.divergences and self.workspace_equal is not False

    def json(self) -> dict[str, Any]:
        """As `agent replay --json` prints it."""
        return {
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
    report = Report(notes=[initial.note] if initial.note else [])
    try:
        with interruptible():
            report.not_restored = initial.start(environment)
            _Replay(directory, environment, initial.order.limits.command_s, report, say).run(
                events, steps if to is None else to
            )
            if report.workspace_equal is None and to in (None, steps):
                _compare_final(directory, environment, report)
    finally:
        environment.stop()
        if initial.scratch is not None:
            initial.scratch.rmdir()
    return report


class _Replay:
    def __init__(
        self, directory: Path, environment: Environment, deadline_s: float, report: Report, say: Callable[[str], None]
    ) -> None:
        """`deadline_s` is for commands of which no deadline was recorded."""
        self._deadline_s = deadline_s
        self._environment = environment
        self._report = report
        self._say = say
        self._blobs = BlobStore(directory / "blobs")
        self._last: Divergence | None = None
        try:
            self._workspaces: Workspaces | None = Workspaces(environment, state_at(directory, 0).manifest)
        except NoSnapshots:
            self._workspaces = None

    def run(self, events: list[Event], to: int) -> None:
        started: ActionStarted | None = None
        action = ""
        for event in events:
            match event:
                case ActionStarted() if event.step > to:
                    return
                case ActionStarted():
                    started, action = event, event.action
                case ActionFinished() if started is not None and event.action == started.action:
                    if event.ended in CUT_OFF:
                        self._report.not_replayed.append(event.action)
                    else:
                        self._run(started, event)
                    started = None
                case Snapshot() if event.step > to:
                    return
                case Snapshot() if event.step > 0 and self._workspaces is not None:
                    self._compare_step(event, action)

    def _run(self, started: ActionStarted, then: ActionFinished) -> None:
        now = self._environment.execute(started.script, deadline_s=started.deadline_s or self._deadline_s)
        report = self._report
        report.actions += 1
        ends_equal = _end_of(then) == _end_of(now)
        report.returncodes_equal += ends_equal
        recorded = self._recorded(then.output)
        if recorded is None:
            self._diverged(Divergence(then.action, "not recorded", "the record does not hold this output whole"))
            return
        printed = bytes(now.output)
        if now.stderr is None and then.stderr is not None:
            recorded += self._recorded(then.stderr) or b""
        outputs = compare(recorded, printed)
        report.outputs_identical += outputs.identical
        report.outputs_equal_normalized += outputs.equal
        if not ends_equal:
            name = "exit code" if then.ended == now.ended else "ended otherwise"
            detail = f"{_shown(then)} then, {_shown(now)} now"
            if outputs.name:
                detail += f"; output ({outputs.name}): {first_difference(recorded, printed)}"
            self._diverged(Divergence(then.action, name, detail))
        elif outputs.name:
            name = "masked" if then.output.masked and not outputs.equal else outputs.name
            self._diverged(Divergence(then.action, name, first_difference(recorded, printed)))

    def _compare_step(self, snapshot: Snapshot, action: str) -> None:
        assert self._workspaces is not None
        report = self._report
        paths = _told(self._workspaces.step(snapshot.changes), report)
        report.workspace_equal = not paths
        report.workspace_differences = paths
        if paths and report.first_causal is None:
            same = [one for one in report.divergences if one.action.partition(".")[0] == str(snapshot.step)]
            name = same[-1].name if same else "workspace"
            where = same[-1].action if same else action
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            report.first_causal = Divergence(where, name, f"after it the workspace differs in {paths[0]}{more}")
            self._say(f"{where}: {report.first_causal.detail}")
            if not same:
                self._diverged(Divergence(action, "workspace", report.first_causal.detail), quiet=True)

    def _diverged(self, divergence: Divergence, *, quiet: bool = False) -> None:
        self._report.divergences.append(divergence)
        if not quiet:
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
        found = _told([one.path for one in differences(recorded, whole(environment))], report)
        report.workspace_equal = not found
        report.workspace_differences = found


def _told(paths: list[str], report: Report) -> list[str]:
    """The paths without those that are not compared, which the report names."""
    left_out = [path for path in paths if path.endswith(VOLATILE)]
    report.not_compared = sorted({*report.not_compared, *left_out})
    return [path for path in paths if path not in left_out]


def _end_of(result: ActionFinished | Execution) -> tuple[str, int | None, int | None]:
    return result.ended, result.exit_code, result.signal


def _shown(result: ActionFinished | Execution) -> str:
    if result.ended not in ("exited", "oom"):
        return result.ended
    end = f"exit code {result.exit_code}" if result.signal is None else f"signal {result.signal}"
    return f"{end} ({result.ended})" if result.ended == "oom" else end
