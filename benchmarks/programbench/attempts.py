"""Which trial stands for an instance in a run directory: the one that was named, else the latest that came to its end.

A trial that ended by the agent or by a limit is handed on as it stands. One that the infrastructure or the user ended
is no attempt, and one that ran as a variant is an attempt at something else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.programbench.adapter import NAME
from benchmarks.programbench.handover import HandOverError, check_complete
from trajectories.errors import RecordError
from trajectories.formats.errors import CannotExport
from trajectories.formats.source import Source
from trajectories.reading.summary import Summary
from trajectories.record.events import (
    Change,
    Evaluated,
    EvaluationStarted,
    Exited,
    Snapshot,
    TrialStarted,
    WorkspaceExported,
)


@dataclass(frozen=True)
class Attempt:
    """A finished trial of an instance; of its events only what a run directory needs is held."""

    directory: Path
    instance: str
    named: bool
    """By the user, not found in a batch."""
    variant: str
    exited: str
    """When, in UTC."""
    exported: WorkspaceExported
    evaluated: Evaluated | None
    """Its last evaluation, if it was one of this workspace."""
    executable_sha256: str | None
    """Of the original program, where the record says it."""
    summary: Summary

    @property
    def id(self) -> str:
        """The trial's."""
        return self.directory.name

    @property
    def scored(self) -> bool:
        """Whether the files that its last evaluation left are of this workspace, and whole."""
        verdict = self.evaluated.verdict if self.evaluated else None
        return verdict is not None and verdict.status == "scored"

    @property
    def evaluated_submission(self) -> str | None:
        """The sha256 of what was evaluated, where the verdict says it."""
        verdict = self.evaluated.verdict if self.evaluated else None
        return verdict.evaluator.inputs.get("submission") if verdict is not None else None


@dataclass(frozen=True)
class Passed:
    """A trial that is not in the run directory, and why."""

    trial: Path
    why: str


def read_attempt(directory: Path, *, named: bool) -> Attempt:
    """The attempt that a trial is.

    Raises: CannotExport if it is none that can be handed on; RecordError if it cannot be read.
    """
    source = Source.of(directory)
    start = source.start
    if start.task.benchmark != NAME:
        raise CannotExport(f"{directory}: a trial of {start.task.id}, and a run directory is ProgramBench's alone")
    if source.exit is None:
        raise CannotExport(f"{directory}: has not come to an end; `agent resume` takes it there")
    if source.exit.reason not in ("agent", "limit"):
        raise CannotExport(
            f"{directory}: was ended by {source.exit}, so it is no attempt at the task; `agent resume` goes on with it"
        )
    if start.variant and not named:
        raise CannotExport(f"{directory}: ran as the variant {start.variant}; name it to have it all the same")
    exported: WorkspaceExported | None = None
    of_sha256 = exited = ""
    evaluated: Evaluated | None = None
    program: str | None = None
    for event in source.events:
        match event:
            case Exited():
                exited, exported, evaluated = event.t, None, None
            case WorkspaceExported():
                exported = event
            case EvaluationStarted():
                of_sha256, evaluated = event.workspace_sha256, None
            case Evaluated() if exported is not None:
                evaluated = event if of_sha256 == exported.sha256 else None
            case Snapshot(step=0):
                program = next((one.sha256 for one in event.changes if _is_original(one, start)), program)
    if exported is None:
        raise CannotExport(f"{directory}: its workspace was not exported; `agent resume` does what is still due")
    try:
        check_complete(exported.skipped)
    except HandOverError as error:
        raise CannotExport(f"{directory}: {error}") from None
    return Attempt(
        directory,
        start.task.id.partition("/")[2],
        named,
        start.variant or "",
        exited,
        exported,
        evaluated,
        program,
        source.summary,
    )


def _is_original(change: Change, start: TrialStarted) -> bool:
    """Whether this is the image's program: a fork begins with what its parent may have put in its place."""
    unread = change.mode is not None and not change.mode & 0o444
    return change.path == "executable" and (start.parent is None or unread)


def choose(named: Iterable[Path], of_batches: Iterable[Path]) -> tuple[list[Attempt], list[Passed]]:
    """One attempt an instance, sorted by instance; and what is passed over.

    Raises: RecordError for a trial that was named and cannot be handed on, and for two of one instance.
    """
    chosen: dict[str, Attempt] = {}
    passed: list[Passed] = []
    attempts = [read_attempt(directory, named=True) for directory in named]
    for directory in of_batches:
        try:
            attempts.append(read_attempt(directory, named=False))
        except RecordError as error:
            passed.append(Passed(directory, str(error).removeprefix(f"{directory}: ")))
    for attempt in attempts:
        other = chosen.get(attempt.instance)
        if other is None:
            chosen[attempt.instance] = attempt
            continue
        if other.named and attempt.named:
            raise CannotExport(
                f"{other.id} and {attempt.id} are both of {attempt.instance}; name one of them, or their batch for the "
                "latest"
            )
        first, last = sorted((other, attempt), key=lambda one: (one.named, one.exited, one.summary.attempt, one.id))
        chosen[attempt.instance] = last
        passed.append(Passed(first.directory, f"{last.id} is {'named' if last.named else 'the later attempt'}"))
    return [chosen[instance] for instance in sorted(chosen)], passed
