"""The analysis of one trial, computed in one pass over its events.

Contents of files come from the trial's own folder, through `contents`; no model, container or network is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from trajectories.analysis.code.contents import Contents, StoredFile, archived_files
from trajectories.analysis.code.growth import Growth
from trajectories.analysis.code.languages import may_be_source
from trajectories.analysis.code.structure import Structure, structure
from trajectories.analysis.commands.classes import PRIORITY, ActionClass, classify, first
from trajectories.analysis.commands.loops import Loops
from trajectories.analysis.commands.outcomes import OutcomeCount
from trajectories.analysis.commands.reference import Reference, initial_programs
from trajectories.analysis.observations import Observations
from trajectories.analysis.report import Actions, CodeGrowth, FileCounts, LargestStep, TrialAnalysis, Turns
from trajectories.errors import RecordError
from trajectories.reading.reader import after_first, read_events
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    CallFinished,
    EnvStarted,
    Event,
    Exited,
    Message,
    Snapshot,
    TrialStarted,
)

_COMMAND_SHOWN = 160


def analyze_trial(directory: Path) -> TrialAnalysis:
    """Analyze the trial in a directory.

    Raises: RecordError if its events cannot be read; MissingExtra without tree-sitter.
    """
    return analyze_events(directory, read_events(directory))


def analyze_events(directory: Path, events: Iterable[Event]) -> TrialAnalysis:
    """Analyze events; `directory` holds their blobs and the exported workspace.

    Raises: RecordError if the first event is not a `trial_started`; MissingExtra without tree-sitter.
    """
    start, stream = after_first(directory, events)
    analyzer = _Analyzer(directory, start)
    for event in stream:
        analyzer.feed(event)
    return analyzer.analysis()


class _Analyzer:
    """Collects figures from events in order. Steps are counted as they come, so the first step of a fork is 1."""

    def __init__(self, directory: Path, start: TrialStarted) -> None:
        self._directory = directory
        self._start = start
        self._contents = Contents(directory)
        self._reference = Reference()
        self._growth = Growth(self._contents.of)
        self._snapshots = 0
        self._loops = Loops()
        self._observations = Observations()
        self._outcomes = OutcomeCount()
        self._actions: Counter[ActionClass] = Counter()
        self._unparsed = 0
        self._addresses: set[str] = set()
        self._sequence: list[ActionClass | None] = []
        self._started: dict[str, tuple[str, ActionClass]] = {}
        self._commands: dict[str, str] = {}
        self._exit: str | None = None

    def feed(self, event: Event) -> None:
        """Process one event after the first."""
        match event:
            case EnvStarted():
                if self._reference.workdir != event.workdir and not self._sequence:
                    self._reference = Reference(event.workdir)
            case Message():
                self._observations.feed(event, self._commands.pop(event.action or "", ""))
            case CallFinished():
                self._observations.feed(event)
                self._sequence.append(None)
            case ActionStarted():
                self._action(event)
            case ActionFinished():
                self._finished(event)
            case Snapshot():
                self._snapshot(event)
            case Exited():
                self._exit = event.exit.cause

    def _action(self, event: ActionStarted) -> None:
        kind, parsed = classify(event.command, self._reference)
        if event.action not in self._addresses:  # a command that a crash interrupted starts again
            self._addresses.add(event.action)
            self._actions[kind] += 1
            self._unparsed += not parsed
        if self._sequence:
            self._sequence[-1] = first([kind, *(earlier for earlier in self._sequence[-1:] if earlier)])
        self._started[event.action] = (event.command, kind)
        self._commands[event.action] = " ".join(event.command[: 4 * _COMMAND_SHOWN].split())[:_COMMAND_SHOWN]

    def _finished(self, event: ActionFinished) -> None:
        script, kind = self._started.pop(event.action, ("", "other"))
        self._outcomes.feed(event, kind)
        printed = (event.output.sha256, event.stderr.sha256 if event.stderr else None)
        self._loops.feed(event.action, script, (event.ended, event.exit_code, event.signal, printed), event.exit_code)

    def _snapshot(self, event: Snapshot) -> None:
        step = len(self._sequence)
        if step == 0 and self._snapshots == 0 and not self._start.inherits_work:
            self._reference.start(initial_programs(event, self._reference.workdir, self._contents.of))
        else:
            self._reference.settle(event.changes)
        self._snapshots += 1
        self._growth.feed(event.changes, step)

    def analysis(self) -> TrialAnalysis:
        """Return the analysis of the events so far."""
        notes: list[str] = []
        repetitions = self._loops.repetitions()
        turns = Counter(kind for kind in self._sequence if kind is not None)
        return TrialAnalysis(
            trial=str(self._directory),
            task=self._start.task.id,
            model=self._start.model.asked,
            exit=self._exit,
            steps=len(self._sequence),
            actions=Actions(
                total=self._actions.total(),
                by_class={kind: self._actions[kind] for kind in PRIORITY},
                unparsed=self._unparsed,
            ),
            turns=Turns(
                total=len(self._sequence),
                by_class={kind: turns[kind] for kind in PRIORITY},
                without_action=self._sequence.count(None),
                sequence=self._sequence,
            ),
            growth=self._code_growth() if self._snapshots else None,
            files=FileCounts(
                created=len(self._growth.created),
                modified=len(self._growth.modified),
                deleted=len(self._growth.deleted),
            )
            if self._snapshots
            else None,
            structure=self._structure(notes),
            repetitions=repetitions,
            repeated_actions=sum(repetition.times - 1 for repetition in repetitions),
            observations=self._observations.costs(),
            outcomes=self._outcomes.outcomes(),
            notes=notes,
        )

    def _code_growth(self) -> CodeGrowth:
        growth = self._growth
        surviving = growth.surviving()
        own = {step: lines for step, lines in surviving.items() if step > 0}
        total = sum(own.values())
        largest = max(own, key=lambda step: (own[step], -step), default=None)
        written = {step: lines for step, lines in sorted(growth.written.items()) if step > 0 and lines}
        return CodeGrowth(
            initial_lines=growth.lines_after.get(0, 0),
            final_lines=growth.lines,
            surviving_lines=total,
            written_lines=sum(written.values()),
            largest_step=None
            if largest is None
            else LargestStep(step=largest, lines=own[largest], share=round(own[largest] / total, 4)),
            curve=growth.curve(len(self._sequence)),
            written_by_step=written,
            unread=growth.unread,
        )

    def _structure(self, notes: list[str]) -> Structure | None:
        if self._snapshots:
            return structure(self._snapshot_files(), "snapshots")
        notes.append("no snapshots: growth and changed files are unknown")
        files = archived_files(self._directory)
        if files is None:
            notes.append("no exported workspace: its structure is unknown")
            return None
        try:
            return structure(files, "archive")
        except RecordError as error:
            notes.append(str(error))
            return None

    def _snapshot_files(self) -> Iterator[StoredFile]:
        for path, change in self._growth.files.items():
            content = self._contents.of(change) if may_be_source(path) else None
            yield StoredFile(path, change.size or 0, content)
