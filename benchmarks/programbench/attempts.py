"""The choice of the trial that stands for an instance in a run directory.

A trial that the user named is taken; otherwise the latest one that reached its end. A trial that ended by the agent or
by a limit is exported as it is. A trial that the infrastructure or the user ended is not an attempt, and a trial of a
variant is an attempt at another task. So is a turn after the first one, which had feedback, a fork of such a turn, and
any turn of a chain that reveals tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.programbench.adapter import NAME
from benchmarks.programbench.handover import HandOverError, check_complete
from scoring.families.programbench_tasks import is_published
from trajectories.errors import RecordError
from trajectories.formats.errors import CannotExport
from trajectories.formats.source import Source
from trajectories.reading.summary import Summary
from trajectories.record.events import (
    Change,
    Evaluated,
    EvaluationStarted,
    Exited,
    Feedback,
    Snapshot,
    TrialStarted,
    WorkspaceExported,
)


@dataclass(frozen=True)
class Attempt:
    """A finished trial of an instance, with the few events that a run directory needs."""

    directory: Path
    instance: str
    named: bool
    """True if the user named the trial, False if it comes from a batch."""
    variant: str
    exited: str
    """Time of its end, in UTC."""
    exported: WorkspaceExported
    evaluated: Evaluated | None
    """Its last evaluation, if that evaluated this workspace."""
    executable_sha256: str | None
    """sha256 of the original program, if the record has it."""
    summary: Summary

    @property
    def id(self) -> str:
        """Return the trial's id."""
        return self.directory.name

    @property
    def scored(self) -> bool:
        """Return True if the files of its last evaluation are complete and of this workspace."""
        verdict = self.evaluated.verdict if self.evaluated else None
        return verdict is not None and verdict.status == "scored"

    @property
    def evaluated_submission(self) -> str | None:
        """Return the sha256 of the evaluated submission, if the verdict has it."""
        verdict = self.evaluated.verdict if self.evaluated else None
        return verdict.evaluator.inputs.get("submission") if verdict is not None else None


@dataclass(frozen=True)
class PassedOver:
    """A trial that is not in the run directory, and the reason."""

    trial: Path
    reason: str


class NotAnAttempt(CannotExport):
    """A trial that cannot stand for an instance."""

    def __init__(self, trial: Path, reason: str) -> None:
        super().__init__(f"{trial}: {reason}")
        self.reason = reason


def read_attempt(directory: Path, *, named: bool) -> Attempt:
    """Return the attempt that a trial is.

    Raises: NotAnAttempt if it is none; RecordError if the trial cannot be read.
    """
    source = Source.of(directory)
    start = source.start
    if start.task.benchmark != NAME:
        raise NotAnAttempt(directory, f"is a trial of {start.task.id}; a run directory is for ProgramBench only")
    if not is_published(start.task.id):
        raise NotAnAttempt(directory, f"is a trial of {start.task.id}, which is not one of ProgramBench's 200 tasks")
    if source.exit is None:
        raise NotAnAttempt(directory, "is not finished; continue it with `agent resume`")
    if source.exit.reason not in ("agent", "limit"):
        raise NotAnAttempt(
            directory, f"was ended by {source.exit}, so it is not an attempt; continue it with `agent resume`"
        )
    if start.turn is not None and start.turn > 1:
        raise NotAnAttempt(directory, f"is turn {start.turn} of a chain with feedback; only turn 1 is an attempt")
    if start.tests_revealed:
        raise NotAnAttempt(directory, "belongs to a chain that shows hidden tests to the agent (--reveal-tests)")
    if start.variant and not named:
        raise NotAnAttempt(directory, f"ran as the variant {start.variant}; name the trial itself to include it")
    exported: WorkspaceExported | None = None
    of_sha256 = exited = ""
    evaluated: Evaluated | None = None
    program: str | None = None
    for event in source.events:
        match event:
            case Feedback():
                raise NotAnAttempt(directory, "was forked from a turn with feedback, so it is not an attempt")
            case Exited():
                exited, exported, evaluated = event.t, None, None
            case WorkspaceExported():
                exported = event
            case EvaluationStarted():
                of_sha256, evaluated = event.submission.sha256 or "", None
            case Evaluated() if exported is not None:
                evaluated = event if of_sha256 == exported.sha256 else None
            case Snapshot(step=0):
                program = next((change.sha256 for change in event.changes if _is_original(change, start)), program)
    if exported is None:
        raise NotAnAttempt(directory, "its workspace was not exported; finish it with `agent resume`")
    try:
        check_complete(exported.skipped)
    except HandOverError as error:
        raise NotAnAttempt(directory, str(error)) from None
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
    """Return True for the image's program: a fork's first snapshot may have a replacement made by its parent."""
    unreadable = change.mode is not None and not change.mode & 0o444
    return change.path == "executable" and (start.parent is None or unreadable)


def choose(named: Iterable[Path], of_batches: Iterable[Path]) -> tuple[list[Attempt], list[PassedOver]]:
    """Return one attempt for each instance, sorted by instance, and the trials that are passed over.

    Raises: RecordError for a named trial that is not an attempt, and for two named trials of the same instance.
    """
    chosen: dict[str, Attempt] = {}
    passed_over: list[PassedOver] = []
    attempts = [read_attempt(directory, named=True) for directory in named]
    for directory in of_batches:
        try:
            attempts.append(read_attempt(directory, named=False))
        except NotAnAttempt as error:
            passed_over.append(PassedOver(directory, error.reason))
        except RecordError as error:
            passed_over.append(PassedOver(directory, str(error)))
    for attempt in attempts:
        other = chosen.get(attempt.instance)
        if other is None:
            chosen[attempt.instance] = attempt
            continue
        if other.named and attempt.named:
            raise CannotExport(
                f"{other.id} and {attempt.id} are both trials of {attempt.instance}; name one of them, or their batch "
                "to take the latest"
            )
        first, last = sorted((other, attempt), key=_precedence)
        chosen[attempt.instance] = last
        passed_over.append(
            PassedOver(first.directory, f"{last.id} is {'named' if last.named else 'the later attempt'}")
        )
    return [chosen[instance] for instance in sorted(chosen)], passed_over


def _precedence(attempt: Attempt) -> tuple[bool, str, int, str]:
    return attempt.named, attempt.exited, attempt.summary.attempt, attempt.id
