"""Runs the commands of a record again in a new environment, and compares.

Commands run in order, with the recorded deadlines, and no difference stops the replay. Each command is compared in its
end and its output, each step in the workspace that it left. The first action after which the workspace differs is the
causal one: later differences may only follow from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from agent.errors import UserError
from agent.replay.outputs import OutputComparison
from agent.replay.place import for_shell, recorded_directory
from agent.replay.report import Divergence, ReplayReport
from agent.replay.start import ReplayStart
from agent.replay.submission import Submitting, submitting
from agent.replay.workspaces import Workspaces, whole
from agent.trial.snapshots import ignored
from environments.protocol import Environment, Execution
from trajectories.interrupts import interruptible
from trajectories.reading.reader import read_events
from trajectories.record.events import CUT_OFF, ActionFinished, ActionStarted, Event, Snapshot, TrialStarted
from trajectories.record.layout import TrialFolder
from trajectories.workspace.exported import archive_manifest
from trajectories.workspace.manifest import compare_manifests
from trajectories.workspace.states import NoSnapshots, state_at

NOT_RECORDED = "not recorded"
"""Class of an action whose end or output the record does not hold."""
VOLATILE = ".git/index"
"""git's notes of the time when it last saw each file: never the same twice. The contents that it names are compared."""


class Replay:
    """One replay of a trial; `say` gets a line for each divergence as it is found."""

    def __init__(self, directory: Path, start: ReplayStart, say: Callable[[str], None]) -> None:
        self._directory = directory
        self._start = start
        self._say = say
        self._report = ReplayReport(directory, start.order.spec.kind, notes=[*start.notes])
        self._differing: set[str] = set()
        """Paths of the workspace that differ now."""

    def run(self, to: int | None = None) -> ReplayReport:
        """Replay up to step `to`, or to the end.

        Raises: UserError, RecordError, EnvironmentFault.
        """
        events = list(read_events(self._directory))
        first = events[0]
        assert isinstance(first, TrialStarted)
        steps = max((event.step for event in events if isinstance(event, ActionStarted)), default=0)
        if to is not None and not 1 <= to <= steps:
            raise UserError(f"--to {to}: {self._directory.name} has commands in steps 1 to {steps}")
        environment = self._start.environment()
        try:
            with interruptible():
                started, self._report.not_restored = self._start.start(environment)
                self._note_directory(started.workdir, recorded_directory(first, events))
                outputs = OutputComparison(self._directory, first, events)
                last = submitting(first, events)
                own = [event for event in events if last is None or not last.includes(event)]
                self._run_actions(environment, own, steps if to is None else to, outputs)
                if to in (None, steps):
                    self._compare_submission(environment, last, outputs)
                    if self._report.workspace_equal is None:
                        self._compare_export(environment)
        finally:
            self._start.release(environment)
        return self._report

    def _note_directory(self, now: str, recorded: str | None) -> None:
        """Note a directory that is not the recorded one, if the user named the place; outputs may name either."""
        if self._start.own_state and recorded is not None and recorded != now:
            self._report.notes.append(f"the commands run in {now}, and were recorded in {recorded}")

    def _run_actions(self, environment: Environment, events: list[Event], to: int, outputs: OutputComparison) -> None:
        events = [event for event in events if getattr(event, "step", 0) <= to]
        workspaces = self._workspaces(environment)
        finished = [event for event in events if isinstance(event, ActionFinished)]
        in_step = Counter(event.step for event in finished if _had_effects(event))
        started: ActionStarted | None = None
        action = ""
        for event in events:
            match event:
                case ActionStarted():
                    started, action = event, event.action
                    if event.action not in self._report.not_replayed:
                        self._report.not_replayed.append(event.action)
                case ActionFinished() if started is not None and event.action == started.action:
                    if _had_effects(event) and started.script is not None:
                        self._compare_action(started, event, environment, outputs)
                        if workspaces is not None and in_step[event.step] > 1:
                            workspaces.note(event.action)
                    started = None
                case Snapshot() if event.step > 0 and workspaces is not None:
                    self._compare_step(workspaces, event, action)

    def _workspaces(self, environment: Environment) -> Workspaces | None:
        """Return both workspaces side by side, as they begin; None if the record has no snapshots."""
        same_start = not self._start.own_state
        try:
            workspaces = Workspaces(environment, state_at(self._directory, 0).manifest, alike=same_start)
        except NoSnapshots:
            self._report.snapshots = False
            return None
        self._differing = set(self._compared(workspaces.differing))
        if self._differing:
            first, count = min(self._differing), len(self._differing)
            self._report.notes.append(f"the workspace differs from the beginning: {first} ({count} in all)")
        return workspaces

    def _compare_action(
        self, started: ActionStarted, recorded: ActionFinished, environment: Environment, outputs: OutputComparison
    ) -> None:
        """Run one action again and compare its end and its output."""
        report = self._report
        result = self._execute(started, environment, separate=self._start.separate or recorded.stderr is not None)
        report.actions += 1
        report.not_replayed = [action for action in report.not_replayed if action != recorded.action]
        end_recorded = recorded.ended != "unknown"
        ends_equal = _end_of(recorded) == _end_of(result)
        report.returncodes_equal += ends_equal
        streams = outputs.streams(started.command, recorded, result)
        comparisons = [stream.comparison for stream in streams or ()]
        if streams is not None:
            report.outputs_identical += all(comparison.identical for comparison in comparisons)
            report.outputs_equal_normalized += all(comparison.equal for comparison in comparisons)
            name = " + ".join(dict.fromkeys(comparison.name for comparison in comparisons if comparison.name))
            details = "; ".join(stream.detail for stream in streams if stream.comparison.name)
        else:
            name, details = NOT_RECORDED, "the record does not hold this output whole"
        if not end_recorded or streams is None:
            report.not_recorded.append(recorded.action)
        if recorded.ended == result.ended == "deadline" and not all(comparison.equal for comparison in comparisons):
            name = "cut at the deadline"
        if not ends_equal:
            detail = f"{_shown(recorded)} then, {_shown(result)} now"
            if name:
                detail += f"; output ({name}): {details}"
            name = "exit code" if recorded.ended == result.ended else "ended otherwise"
            self._diverged(Divergence(recorded.action, name if end_recorded else NOT_RECORDED, detail))
        elif name:
            self._diverged(Divergence(recorded.action, name, details))

    def _execute(self, started: ActionStarted, environment: Environment, *, separate: bool = False) -> Execution:
        return environment.execute(
            for_shell(started.command, self._start.shell),
            deadline_s=started.deadline_s or self._start.order.limits.command_s,
            separate=separate,
        )

    def _compare_submission(
        self, environment: Environment, recorded: Submitting | None, outputs: OutputComparison
    ) -> None:
        """Run the commands of the last step without a recorded end, until one submits, and compare what it hands in."""
        if recorded is None:
            return
        report = self._report
        ends = []
        for command in recorded.commands:
            result = self._execute(command, environment)
            stream = recorded.compare(command, result, outputs)
            if stream is None:
                ends.append(f"{command.action} ended with {_shown(result)} and submitted nothing")
                continue
            report.not_replayed = [action for action in report.not_replayed if action != command.action]
            report.submission_equal = stream.comparison.equal
            if stream.comparison.name:
                name = f"submission ({stream.comparison.name})"
                self._diverged(Divergence(command.action, name, stream.detail))
            return
        if recorded.commands:
            report.submission_equal = False
            self._diverged(Divergence(recorded.commands[-1].action, "submission", "; ".join(ends)))

    def _compare_step(self, workspaces: Workspaces, snapshot: Snapshot, last_action: str) -> None:
        report = self._report
        paths = self._compared(workspaces.step(snapshot.changes))
        report.workspace_equal = not paths
        report.workspace_differences = paths
        new = sorted(set(paths) - self._differing)
        self._differing = set(paths)
        if not new:
            return
        actions = (workspaces.by(path) for path in new)
        action = next((name for name in actions if name is not None), last_action)
        rest = f" and {len(new) - 1} more" if len(new) > 1 else ""
        detail = f"after it the workspace differs in {new[0]}{rest}"
        self._diverged(Divergence(action, "workspace", detail))
        if report.first_causal is None:
            others = (divergence for divergence in report.divergences if divergence.action == action)
            name = next((divergence.name for divergence in others if divergence.name != "workspace"), "workspace")
            report.first_causal = Divergence(action, name, detail)

    def _compare_export(self, environment: Environment) -> None:
        """Compare the end with the exported workspace, for a record without snapshots."""
        archive = TrialFolder(self._directory).workspace
        if archive.is_file():
            recorded = {path: entry for path, entry in archive_manifest(archive).items() if not ignored(path)}
            paths = self._compared([difference.path for difference in compare_manifests(recorded, whole(environment))])
            self._report.workspace_equal = not paths
            self._report.workspace_differences = paths

    def _compared(self, paths: Iterable[str]) -> list[str]:
        """Return the paths without volatile ones, which the report names."""
        paths = list(paths)
        volatile = [path for path in paths if path == VOLATILE or path.endswith(f"/{VOLATILE}")]
        self._report.not_compared = sorted({*self._report.not_compared, *volatile})
        return [path for path in paths if path not in volatile]

    def _diverged(self, divergence: Divergence) -> None:
        self._report.divergences.append(divergence)
        self._say(f"{divergence.action}: {divergence.name}: {divergence.detail}")


def _had_effects(recorded: ActionFinished) -> bool:
    """Report if a recorded action is a part of what came after it: neither was it cut off, nor its effects lost."""
    return recorded.ended not in CUT_OFF and not recorded.ended_environment


def _end_of(result: ActionFinished | Execution) -> tuple[str, int | None, int | None]:
    return result.ended, result.exit_code, result.signal


def _shown(result: ActionFinished | Execution) -> str:
    if result.ended not in ("exited", "oom"):
        return result.ended
    end = f"exit code {result.exit_code}" if result.signal is None else f"signal {result.signal}"
    return f"{end} ({result.ended})" if result.ended == "oom" else end
