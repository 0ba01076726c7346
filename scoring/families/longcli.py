"""The tables of LongCLI-Bench: main, step-score buckets, self-correction by turn, modes of collaboration.

A turn is a trial that records its `turn`; what a verdict says of the two test sets is in its metrics `f2p_step`,
`f2p_pass`, `p2p_step`, `p2p_pass`, else in its groups `F2P` and `P2P`. Missing figures are left out of means, never 0.
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

BUCKETS = ((0.3, "[0, 0.3)"), (0.6, "[0.3, 0.6)"), (0.8, "[0.6, 0.8)"), (1.0, "[0.8, 1)"))
FULL = "[1]"
MODES = ("base", "self-correction", "plan", "interactive", "plan-and-interactive")
_WORDS = ("self-correction", "plan", "interactive")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of one attempt at one task; None is "not said"."""

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
        """Both sets; where one is missing, the other's."""
        known = [value for value in (self.f2p_pass, self.p2p_pass) if value is not None]
        return all(known) if known else None

    @property
    def step(self) -> float | None:
        """The mean of both steps, as the table by turn has it."""
        known = [value for value in (self.f2p_step, self.p2p_step) if value is not None]
        return fmean(known) if known else None


class Main(BaseModel):
    """The main table: of turn 1, mean over a task's attempts, then over tasks; shares in [0, 1]."""

    model_config = ConfigDict(frozen=True)

    tasks: int
    attempts: int
    pass_rate: float | None
    pass_at_3_paper: float | None
    """The paper's: F2P in any and P2P in any of the first three attempts, perhaps not the same one."""
    pass_at_3: float | None
    """The unbiased one, over tasks with three attempts and more."""
    f2p_pass: float | None
    p2p_pass: float | None
    f2p_step: float | None
    p2p_step: float | None
    minutes: float | None


class AtTurn(BaseModel):
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
    """What changed from one turn to another."""

    model_config = ConfigDict(frozen=True)

    before: int
    after: int
    pass_rate: float | None
    step: float | None


class Mode(BaseModel):
    """A line of the collaboration table (Table 4): the last turn's state, the time of all turns."""

    model_config = ConfigDict(frozen=True)

    mode: str
    tasks: int
    attempts: int
    pass_rate: float | None
    f2p_step: float | None
    minutes: float | None
    interventions: float | None
    """Mean a task; None in modes without a person."""


def turns_of(rows: Iterable[TrialRow]) -> list[Turn]:
    """The turns that trials record; a trial without a turn is turn 1. Without a verdict nothing is known of it."""
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
            hints=row.hints,
        )
        for row in rows
    ]


def main(turns: Iterable[Turn]) -> Main:
    """Table 1 of one configuration."""
    first = [one for one in turns if one.turn == 1]
    by_task = _by_task(first)
    paper: list[bool] = []
    unbiased: list[float] = []
    for found in by_task.values():
        three = sorted(found, key=lambda one: one.attempt)[:3]
        sets = [[one.f2p_pass for one in three], [one.p2p_pass for one in three]]
        known = [[value for value in values if value is not None] for values in sets]
        if any(known):
            paper.append(all(any(values) for values in known if values))
        whole = [one.all_pass for one in found if one.all_pass is not None]
        if len(whole) >= 3:
            unbiased.append(pass_at_k(len(whole), sum(whole), 3))
    return Main(
        tasks=len(by_task),
        attempts=len(first),
        pass_rate=_over_tasks(first, lambda one: one.all_pass),
        pass_at_3_paper=fmean(paper) if paper else None,
        pass_at_3=fmean(unbiased) if unbiased else None,
        f2p_pass=_over_tasks(first, lambda one: one.f2p_pass),
        p2p_pass=_over_tasks(first, lambda one: one.p2p_pass),
        f2p_step=_over_tasks(first, lambda one: one.f2p_step),
        p2p_step=_over_tasks(first, lambda one: one.p2p_step),
        minutes=_minutes(_over_tasks(first, lambda one: one.wall_s)),
    )


def step_buckets(turns: Iterable[Turn]) -> dict[str, int]:
    """Table 2: attempts by their F2P step at turn 1; a negative step is in the first bucket."""
    counts = {name: 0 for _, name in BUCKETS} | {FULL: 0}
    for one in turns:
        if one.turn == 1 and one.f2p_step is not None:
            step = one.f2p_step
            counts[next((name for limit, name in BUCKETS if step < limit), FULL)] += 1
    return counts


def by_turn(turns: Sequence[Turn], most: int = 3) -> list[AtTurn]:
    """Table 3: the state at each turn from 1 to `most`, as far as any trial got."""
    found: list[AtTurn] = []
    for number in range(1, most + 1):
        some = [one for one in turns if one.turn == number]
        if some:
            found.append(
                AtTurn(
                    turn=number,
                    tasks=len(_by_task(some)),
                    attempts=len(some),
                    pass_rate=_over_tasks(some, lambda one: one.all_pass),
                    f2p_pass=_over_tasks(some, lambda one: one.f2p_pass),
                    p2p_pass=_over_tasks(some, lambda one: one.p2p_pass),
                    step=_over_tasks(some, lambda one: one.step),
                )
            )
    return found


def turn_differences(table: Sequence[AtTurn]) -> list[TurnDifference]:
    """Table 3's differences: each turn to the next, then the first to the last where that is another pair."""
    pairs = list(pairwise(table))
    if len(table) > 2:
        pairs.append((table[0], table[-1]))
    return [
        TurnDifference(
            before=before.turn,
            after=after.turn,
            pass_rate=_less(after.pass_rate, before.pass_rate),
            step=_less(after.step, before.step),
        )
        for before, after in pairs
    ]


def mode_of(row: TrialRow, *, turns: int = 1) -> str:
    """The mode of a trial whose configuration has so many turns: from its variant, its plan and its turns."""
    words = {word for word in (row.variant or "").split("+") if word}
    if row.plan:
        words.add("plan")
    if turns > 1:
        words.add("self-correction")
    named = [word for word in _WORDS if word in words] + sorted(words.difference(_WORDS))
    return "-and-".join(named) or "base"


def modes(rows: Sequence[TrialRow]) -> list[Mode]:
    """Table 4 for trials of one harness and model, the paper's modes first. Time is summed over an attempt's turns."""
    most: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        most[row.setup] = max(most[row.setup], row.turn or 1)
    members: defaultdict[str, list[TrialRow]] = defaultdict(list)
    for row in rows:
        members[mode_of(row, turns=most[row.setup])].append(row)
    order = {name: place for place, name in enumerate(MODES)}
    return [
        _mode(name, turns_of(members[name])) for name in sorted(members, key=lambda name: (order.get(name, 99), name))
    ]


def _mode(name: str, turns: Sequence[Turn]) -> Mode:
    attempts: defaultdict[tuple[str, tuple[str, str, int]], list[Turn]] = defaultdict(list)
    for one in turns:
        attempts[one.task, one.attempt].append(one)
    last = [max(found, key=lambda one: one.turn) for found in attempts.values()]
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    hints: defaultdict[str, list[float]] = defaultdict(list)
    for (task, _), found in attempts.items():
        known = [one.wall_s for one in found if one.wall_s is not None]
        if len(known) == len(found):
            seconds[task].append(sum(known))
        hints[task].append(sum(one.hints for one in found))
    return Mode(
        mode=name,
        tasks=len(_by_task(turns)),
        attempts=len(attempts),
        pass_rate=_over_tasks(last, lambda one: one.all_pass),
        f2p_step=_over_tasks(last, lambda one: one.f2p_step),
        minutes=_minutes(fmean(map(fmean, seconds.values())) if seconds else None),
        interventions=fmean(map(fmean, hints.values())) if "interactive" in name and hints else None,
    )


def _over_tasks(turns: Iterable[Turn], value: Callable[[Turn], float | None]) -> float | None:
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for one in turns:
        if (figure := value(one)) is not None:
            by_task[one.task].append(figure)
    return fmean(map(fmean, by_task.values())) if by_task else None


def _by_task(turns: Iterable[Turn]) -> dict[str, list[Turn]]:
    found: defaultdict[str, list[Turn]] = defaultdict(list)
    for one in turns:
        found[one.task].append(one)
    return found


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


def _minutes(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 60


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other
