"""Tiers of difficulty: recorded, given by a caller, or AgentMeter's from a calibration pool.

A tier depends neither on costs, nor on the names of models, nor on a ranking.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from scoring.choices import TIERS as TIERS, Tier as Tier
from scoring.errors import ScoringError
from scoring.rows import TrialRow
from scoring.selecting.selection import passed_and_quality


@dataclass(frozen=True)
class Calibration:
    """Means over the trials of one task in the calibration pool."""

    pass_rate: float
    """p, from 0 to 1."""
    reward: float
    """r, from 0 to 1: mean quality, including partial quality."""
    tokens: float
    """T, the tokens of a trial."""
    tool_uses: float
    """U, the commands of a trial. T, U and I are not defined in our source; this reading is ours."""
    interactions: float
    """I, the calls of a trial that brought a reply (steps)."""


def tier_named(word: str) -> Tier:
    """Return the tier of this name, in upper or lower case.

    Raises: ScoringError.
    """
    tier = word.strip().lower()
    if tier not in TIERS:
        raise ScoringError(f"unknown tier {word!r}: a tier is one of {', '.join(TIERS)}")
    return tier


def calibration_of(rows: Iterable[TrialRow]) -> dict[str, Calibration]:
    """Return a calibration pool: for each task, means over its trials of all setups.

    Raises: ScoringError, naming the trial, if its tokens are unknown.
    """
    pool: defaultdict[str, list[TrialRow]] = defaultdict(list)
    for row in rows:
        if row.tokens is None:
            raise ScoringError(f"{row.directory}: its tokens are unknown, so it cannot calibrate tiers; leave it out")
        pool[row.task].append(row)
    return {
        task: Calibration(
            pass_rate=fmean(passed_and_quality(row)[0] for row in trials),
            reward=fmean(passed_and_quality(row)[1] for row in trials),
            tokens=fmean(row.tokens or 0 for row in trials),
            tool_uses=fmean(row.commands for row in trials),
            interactions=fmean(row.steps for row in trials),
        )
        for task, trials in sorted(pool.items())
    }


def effort(pool: Mapping[str, Calibration]) -> dict[str, float]:
    """Return the effort of each task, from 0 to 100 (AgentMeter, arXiv 2606.21140, eq. 1).

    s = 0.7 p + 0.3 r; E = 55 (1 - s) + 25 q(log(1 + T)) + 10 q(log(1 + U)) + 10 q(log(1 + I)), q the percentile rank
    over the pool: the share of tasks below, plus half of those equal (itself included).

    Raises: ScoringError, naming the task, for an impossible figure.
    """
    for task, means in pool.items():
        shares, counts = (means.pass_rate, means.reward), (means.tokens, means.tool_uses, means.interactions)
        if not all(0 <= share <= 1 for share in shares) or not all(0 <= count < math.inf for count in counts):
            raise ScoringError(f"{task}: impossible calibration: {means}")
    ranks = [
        percentile_ranks({task: math.log1p(getattr(means, name)) for task, means in pool.items()})
        for name in ("tokens", "tool_uses", "interactions")
    ]
    return {
        task: 55 * (1 - (0.7 * means.pass_rate + 0.3 * means.reward))
        + 25 * ranks[0][task]
        + 10 * ranks[1][task]
        + 10 * ranks[2][task]
        for task, means in pool.items()
    }


def percentile_ranks(values: Mapping[str, float]) -> dict[str, float]:
    """Return, by name, (number of values below + half the number of equal ones) / number of values, between 0 and 1."""
    ordered = sorted(values.values())
    return {
        name: (bisect_left(ordered, value) + bisect_right(ordered, value)) / (2 * len(ordered))
        for name, value in values.items()
    }


def equal_thirds(efforts: Mapping[str, float]) -> dict[str, Tier]:
    """Return the tiers of tasks, from the least effort (easy) to the most (hard).

    The sizes of the thirds differ by at most one; the easier tiers get the surplus. Equal efforts are ordered by the
    name of the task.
    """
    ordered = sorted(efforts, key=lambda task: (efforts[task], task))
    third, surplus = divmod(len(ordered), len(TIERS))
    sizes = [third + (index < surplus) for index in range(len(TIERS))]
    tiers = [tier for tier, size in zip(TIERS, sizes, strict=True) for _ in range(size)]
    return dict(zip(ordered, tiers, strict=True))


@dataclass(frozen=True)
class TierGap:
    """The reason for a missing AMS: tasks without a tier, or tiers without a task."""

    tasks: int
    """Number of all tasks."""
    untiered: tuple[str, ...]
    empty: tuple[Tier, ...]


def tier_gap(tiers: Mapping[str, Tier], tasks: Sequence[str]) -> TierGap | None:
    """Return the reason why these tasks have no AMS; None if they have one."""
    untiered = tuple(task for task in tasks if task not in tiers)
    used = set(tiers.values())
    empty = tuple(tier for tier in TIERS if tier not in used)
    return TierGap(len(tasks), untiered, empty) if untiered or empty else None


def tiers_of(rows: Sequence[TrialRow]) -> dict[str, Tier]:
    """Return the tiers that trials record, by task; tasks without a recorded tier are left out.

    Raises: ScoringError, naming the trial, for an unknown tier, or for a task that two trials put in different tiers.
    """
    tiers: dict[str, Tier] = {}
    for row in rows:
        if row.tier is None:
            continue
        try:
            tier = tier_named(row.tier)
        except ScoringError as error:
            raise ScoringError(f"{row.directory}: {error}") from None
        if tiers.setdefault(row.task, tier) != tier:
            raise ScoringError(
                f"{row.directory} puts {row.task} in the tier {tier}, another trial in {tiers[row.task]}"
            )
    return tiers


def tiers_from_words(words: Mapping[str, str]) -> dict[str, Tier]:
    """Return tiers by task from the words that a person wrote.

    Raises: ScoringError, naming the task, for an unknown tier.
    """
    tiers: dict[str, Tier] = {}
    for task, word in words.items():
        try:
            tiers[task] = tier_named(word)
        except ScoringError as error:
            raise ScoringError(f"{task}: {error}") from None
    return tiers
