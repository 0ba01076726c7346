"""The turns of a chain, from the records beside each other in a batch, and what changed from one to the next.

Cases are named only if the form of the feedback names them too; with `scores` there are only their numbers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import BaseModel

from trajectories.errors import RecordError
from trajectories.reading.interventions.stages import StageResult, together
from trajectories.reading.lines import complete_lines, kind_of
from trajectories.reading.reader import EventParser, events_file
from trajectories.reading.runs import Listed, listed
from trajectories.record.events import Chain, Evaluated, FeedbackForm
from trajectories.record.interventions import ChainResult
from trajectories.record.layout import TrialFolder, name_of_turn
from trajectories.record.verdict import GroupScore, Verdict, standing_verdict

_NAMING: frozenset[FeedbackForm] = frozenset({"output", "failing", "paths"})
"""Forms of feedback that name cases."""


class Changes(BaseModel):
    """Cases that passed or no longer passed after a turn, compared with the turn before."""

    gained: int
    """Number of cases that pass now, and did not."""
    lost: int
    """Number of cases that passed, and do not now: regressions."""
    gained_cases: tuple[str, ...] | None
    """Ids of the gained cases. None if the form of the feedback names no cases."""
    lost_cases: tuple[str, ...] | None
    """Ids of the lost cases. None if the form of the feedback names no cases."""


class TurnReport(BaseModel):
    """One turn of a chain."""

    turn: int
    """Number of the turn."""
    trial: str
    """Directory of the trial."""
    exit: str | None
    """Cause of the exit. None while the turn runs, and after a crash."""
    steps: int | None
    """Number of steps. None if the record cannot be read."""
    cost_usd: float | None
    """Cost of this turn alone: billed, or computed."""
    wall_s: float | None
    """Time of this turn alone."""
    passed: bool | None
    """True if the task is solved after this turn. None without a verdict."""
    quality: float | None
    """Quality after this turn."""
    groups: dict[str, GroupScore]
    """Counts of each group of tests after this turn."""
    changes: Changes | None
    """Changes since the turn before. None for turn 1, and if one of the two has no verdict."""
    problem: str = ""
    """Reason for which the record cannot be read."""


class ChainReport(BaseModel):
    """A chain with the turns that there are."""

    first: str
    """Id of turn 1."""
    turn: int
    """Number of the turn that was asked for."""
    turns: int
    """Number of turns that the chain may have."""
    feedback: FeedbackForm | None
    """Form of the feedback. None for the stages of a task."""
    conversation: str
    """Conversation of later turns."""
    until: str
    """End of the chain."""
    members: tuple[TurnReport, ...]
    """Turns with a record, in order."""
    stages: tuple[str, ...] = ()
    """Names of the task's stages. Empty if the turns are rounds with feedback."""
    result: ChainResult | None = None
    """Result of all stages together: their mean, or that of the last one. None without stages."""
    passed: bool | None = None
    """True if all stages together passed. None without stages, and if none was judged."""
    quality: float | None = None
    """Quality of all stages together. None without stages, and if none was judged."""


def read_chain(trial: Path) -> ChainReport | None:
    """Return the chain that a trial is a turn of; None if it is not in a chain, or its record cannot be read."""
    summary = listed(trial).summary
    chain = summary.entry.chain if summary is not None else None
    if summary is None or chain is None or summary.entry.turn is None:
        return None
    turn = summary.entry.turn
    members = [(number, listed(directory)) for number, directory in _directories(trial, turn, chain)]
    reports = tuple(_reports(members, named=chain.feedback in _NAMING, compare=not chain.stages))
    scored = [StageResult(bool(report.passed), report.quality, {}) for report in reports if report.quality is not None]
    score = together(scored, chain.result, chain.turns) if chain.result is not None else None
    return ChainReport(
        first=chain.first,
        turn=turn,
        turns=chain.turns,
        feedback=chain.feedback,
        conversation=chain.conversation,
        until=chain.until,
        members=reports,
        stages=tuple(stage.name for stage in chain.stages),
        result=chain.result,
        passed=None if score is None else score.passed,
        quality=None if score is None else score.quality,
    )


def compared(before: Verdict, after: Verdict, *, named: bool) -> Changes:
    """Return the cases that were gained and lost. A case that only one verdict has did not pass in the other."""
    passed_before, passed_after = _passed(before), _passed(after)
    gained = [case for case in passed_after if case not in passed_before]
    lost = [case for case in passed_before if case not in passed_after]
    return Changes(
        gained=len(gained),
        lost=len(lost),
        gained_cases=tuple(gained) if named else None,
        lost_cases=tuple(lost) if named else None,
    )


def _directories(trial: Path, turn: int, chain: Chain) -> Iterable[tuple[int, Path]]:
    """Yield the turns of the chain that are beside this one, by the names of their folders.

    The names in the batch are read, because a record may state any number of turns and any name.
    """
    batch = trial.absolute().parent
    numbers = {turn: trial}
    for name in os.listdir(batch) if chain.first else ():
        number = 1 if name == chain.first else _turn(name.removeprefix(f"{chain.first}.t"))
        if number is not None and name == name_of_turn(chain.first, number) and TrialFolder(batch / name).is_trial():
            numbers.setdefault(number, batch / name)
    yield from sorted(numbers.items())


def _turn(digits: str) -> int | None:
    return int(digits) if digits.isdecimal() and len(digits) < 10 else None


def _reports(members: Sequence[tuple[int, Listed]], *, named: bool, compare: bool) -> Iterable[TurnReport]:
    before: tuple[int, Verdict] | None = None
    for number, member in members:
        summary = member.summary
        verdict = None if summary is None or summary.verdict is None else _verdict(member.directory)
        scored = verdict if verdict is not None and verdict.status == "scored" else None
        changes = None
        if compare and scored is not None and before is not None and before[0] == number - 1:
            changes = compared(before[1], scored, named=named)
        yield TurnReport(
            turn=number,
            trial=str(member.directory),
            exit=summary.exit.cause if summary is not None and summary.exit is not None else None,
            steps=summary.steps if summary is not None else None,
            cost_usd=summary.cost_usd.best if summary is not None else None,
            wall_s=summary.wall_s if summary is not None else None,
            passed=scored.passed if scored is not None else None,
            quality=scored.quality if scored is not None else None,
            groups=scored.groups if scored is not None else {},
            changes=changes,
            problem=member.problem,
        )
        before = (number, scored) if scored is not None else None


def _verdict(trial: Path) -> Verdict | None:
    """Return the verdict that holds for a trial. Only the lines of evaluations are parsed."""
    try:
        path = events_file(trial)
        parser = EventParser()
        verdicts = []
        for number, line in complete_lines(path):
            if number == 1 or kind_of(line) in ("evaluation", None):
                events = parser.events(line, f"{path}:{number}")
                verdicts += [event.verdict for event in events if isinstance(event, Evaluated)]
    except (RecordError, OSError):
        return None
    return standing_verdict(verdicts)


def _passed(verdict: Verdict) -> dict[str, None]:
    return dict.fromkeys(case.id for case in verdict.cases if case.status == "passed")
