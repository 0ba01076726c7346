"""Tables 1 to 3 of LongCLI-Bench: main table, step scores in buckets, self-correction by turn.

A turn is a trial that records its `turn`. The results of the two test sets are the metrics `f2p_step`, `f2p_pass`,
`p2p_step` and `p2p_pass` of a verdict, or its groups `F2P` and `P2P` if it has no such metrics. Missing figures are
left out of means; they are never 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from pydantic import BaseModel, ConfigDict

from scoring.rows import TrialRow
from scoring.statistics.passes import pass_at_k

BUCKETS: tuple[tuple[float, str], ...] = (
    (0.3, "[0, 0.3)"),
    (0.6, "[0.3, 0.6)"),
    (0.8, "[0.6, 0.8)"),
    (1.0, "[0.8, 1)"),
)
FULL = "[1]"
BUCKET_NAMES = (*(name for _, name in BUCKETS), FULL)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of one attempt at one task; None is unknown."""

    task: str
    attempt: tuple[str, str, int]
    """Setup, batch and number."""
    turn: int
    f2p_pass: bool | None
    p2p_pass: bool | None
    f2p_step: float | None
    p2p_step: float | None
    wall_s: float | None
    hints: int

    @property
    def all_pass(self) -> bool | None:
        """True if both test sets pass. If one of them is unknown, only the other counts."""
        passes = [value for value in (self.f2p_pass, self.p2p_pass) if value is not None]
        return all(passes) if passes else None

    @property
    def step(self) -> float | None:
        """Mean of both step scores, as in the table by turn."""
        steps = [value for value in (self.f2p_step, self.p2p_step) if value is not None]
        return fmean(steps) if steps else None


class FirstTurns(BaseModel):
    """A line of the main table: turn 1, mean over a task's attempts, then over tasks; shares from 0 to 1."""

    model_config = ConfigDict(frozen=True)

    tasks: int
    attempts: int
    pass_rate: float | None
    pass_at_3_paper: float | None
    """Definition of the paper: F2P in any and P2P in any of the first three attempts, maybe not in the same one."""
    pass_at_3: float | None
    """Unbiased estimate, over tasks with at least three attempts."""
    f2p_pass: float | None
    p2p_pass: float | None
    f2p_step: float | None
    p2p_step: float | None
    minutes: float | None


class TurnState(BaseModel):
    """The state at a turn, not the best so far."""

    model_config = ConfigDict(frozen=True)

    turn: int
    tasks: int
    attempts: int
    pass_rate: float | None
    f2p_pass: float | None
    p2p_pass: float | None
    step: float | None


class TurnDifference(BaseModel):
    """Change from one turn to another."""

    model_config = ConfigDict(frozen=True)

    before: int
    after: int
    pass_rate: float | None
    step: float | None


def turns_of(rows: Iterable[TrialRow]) -> list[Turn]:
    """Return the turns that trials record. A trial without a turn is turn 1; without a verdict its results are
    unknown."""
    return [
        Turn(
            task=row.task,
            attempt=(row.setup, row.batch, row.attempt),
            turn=row.turn or 1,
            f2p_pass=_passes(row, "f2p"),
            p2p_pass=_passes(row, "p2p"),
            f2p_step=_step(row, "f2p"),
            p2p_step=_step(row, "p2p"),
            wall_s=row.wall_s,
            hints=row.hints if row.interventions.given is None else row.interventions.given,
        )
        for row in rows
    ]


def first_turns(turns: Iterable[Turn]) -> FirstTurns:
    """Return Table 1 of one configuration."""
    first = [turn for turn in turns if turn.turn == 1]
    by_task = turns_by_task(first)
    paper: list[bool] = []
    unbiased: list[float] = []
    for attempts in by_task.values():
        three = sorted(attempts, key=lambda turn: turn.attempt)[:3]
        f2p = [turn.f2p_pass for turn in three if turn.f2p_pass is not None]
        p2p = [turn.p2p_pass for turn in three if turn.p2p_pass is not None]
        if f2p or p2p:
            paper.append(all(any(passes) for passes in (f2p, p2p) if passes))
        passes = [turn.all_pass for turn in attempts if turn.all_pass is not None]
        if len(passes) >= 3:
            unbiased.append(pass_at_k(len(passes), sum(passes), 3))
    return FirstTurns(
        tasks=len(by_task),
        attempts=len(first),
        pass_rate=mean_over_tasks(first, lambda turn: turn.all_pass),
        pass_at_3_paper=fmean(paper) if paper else None,
        pass_at_3=fmean(unbiased) if unbiased else None,
        f2p_pass=mean_over_tasks(first, lambda turn: turn.f2p_pass),
        p2p_pass=mean_over_tasks(first, lambda turn: turn.p2p_pass),
        f2p_step=mean_over_tasks(first, lambda turn: turn.f2p_step),
        p2p_step=mean_over_tasks(first, lambda turn: turn.p2p_step),
        minutes=minutes(mean_over_tasks(first, lambda turn: turn.wall_s)),
    )


def step_buckets(scores: Iterable[float]) -> dict[str, int]:
    """Return the number of scores in each bucket; a negative score is in the first."""
    counts = dict.fromkeys(BUCKET_NAMES, 0)
    for score in scores:
        counts[next((name for limit, name in BUCKETS if score < limit), FULL)] += 1
    return counts


def f2p_step_buckets(turns: Iterable[Turn]) -> dict[str, int]:
    """Return Table 2: attempts by their F2P step score at turn 1."""
    return step_buckets(turn.f2p_step for turn in turns if turn.turn == 1 and turn.f2p_step is not None)


def states_by_turn(turns: Sequence[Turn], most: int = 3) -> list[TurnState]:
    """Return Table 3: the state at each turn from 1 to `most` that any trial reached."""
    states: list[TurnState] = []
    for number in range(1, most + 1):
        same_turn = [turn for turn in turns if turn.turn == number]
        if same_turn:
            states.append(
                TurnState(
                    turn=number,
                    tasks=len(turns_by_task(same_turn)),
                    attempts=len(same_turn),
                    pass_rate=mean_over_tasks(same_turn, lambda turn: turn.all_pass),
                    f2p_pass=mean_over_tasks(same_turn, lambda turn: turn.f2p_pass),
                    p2p_pass=mean_over_tasks(same_turn, lambda turn: turn.p2p_pass),
                    step=mean_over_tasks(same_turn, lambda turn: turn.step),
                )
            )
    return states


def turn_differences(states: Sequence[TurnState]) -> list[TurnDifference]:
    """Return the differences of Table 3: each turn to the next, then the first to the last if that is another pair."""
    pairs = list(pairwise(states))
    if len(states) > 2:
        pairs.append((states[0], states[-1]))
    return [
        TurnDifference(
            before=before.turn,
            after=after.turn,
            pass_rate=_difference(after.pass_rate, before.pass_rate),
            step=_difference(after.step, before.step),
        )
        for before, after in pairs
    ]


def mean_over_tasks(turns: Iterable[Turn], value: Callable[[Turn], float | None]) -> float | None:
    """Return the mean over tasks of the mean over each task's turns; unknown values are left out."""
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for turn in turns:
        if (figure := value(turn)) is not None:
            by_task[turn.task].append(figure)
    return fmean(map(fmean, by_task.values())) if by_task else None


def turns_by_task(turns: Iterable[Turn]) -> dict[str, list[Turn]]:
    """Return the turns of each task."""
    by_task: defaultdict[str, list[Turn]] = defaultdict(list)
    for turn in turns:
        by_task[turn.task].append(turn)
    return by_task


def minutes(seconds: float | None) -> float | None:
    """Return seconds as minutes."""
    return None if seconds is None else seconds / 60


def _step(row: TrialRow, kind: str) -> float | None:
    if not row.judged or row.infrastructure:
        return None
    if f"{kind}_step" in row.metrics:
        return row.metrics[f"{kind}_step"]
    group = row.groups.get(kind.upper())
    return group.passed / group.total if group is not None and group.total else None


def _passes(row: TrialRow, kind: str) -> bool | None:
    if not row.judged or row.infrastructure:
        return None
    if f"{kind}_pass" in row.metrics:
        return row.metrics[f"{kind}_pass"] >= 1
    group = row.groups.get(kind.upper())
    return group.passed == group.total if group is not None and group.total else None


def _difference(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before
