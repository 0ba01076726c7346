"""How hard a task is: AgentMeter's tiers from a calibration pool, ProgramBench's and CLI-Tool-Bench's from sizes.

Neither cost nor a model's name nor any ranking goes into a tier.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, get_args

from scoring.errors import ScoringError
from scoring.rows import TrialRow
from scoring.selection import outcome

Tier = Literal["easy", "medium", "hard"]
TIERS: tuple[Tier, ...] = get_args(Tier)


@dataclass(frozen=True)
class Calibration:
    """What the trials of the calibration pool say of one task: mean over its trials."""

    pass_rate: float
    """p in [0, 1]."""
    reward: float
    """r in [0, 1]: mean quality, partial quality included."""
    tokens: float
    """T."""
    tool_uses: float
    """U: commands. The issue names T, U and I without saying what they are; this reading is ours."""
    interactions: float
    """I: calls that brought a reply (steps)."""


def tier_named(word: str) -> Tier:
    """The tier of this name, in any case.

    Raises: ScoringError.
    """
    tier = word.strip().lower()
    if tier not in TIERS:
        raise ScoringError(f"unknown tier {word!r}: a tier is one of {', '.join(TIERS)}")
    return tier


def calibration_of(rows: Iterable[TrialRow]) -> dict[str, Calibration]:
    """A calibration pool from trials: by task, means over its trials, whichever setup made them.

    Raises: ScoringError, naming the trial, for one whose tokens are unknown.
    """
    pool: defaultdict[str, list[TrialRow]] = defaultdict(list)
    for row in rows:
        if row.tokens is None:
            raise ScoringError(f"{row.directory}: its tokens are unknown, so it cannot calibrate tiers; leave it out")
        pool[row.task].append(row)
    return {
        task: Calibration(
            pass_rate=fmean(outcome(row)[0] for row in found),
            reward=fmean(outcome(row)[1] for row in found),
            tokens=fmean(row.tokens or 0 for row in found),
            tool_uses=fmean(row.commands for row in found),
            interactions=fmean(row.steps for row in found),
        )
        for task, found in sorted(pool.items())
    }


def effort(pool: Mapping[str, Calibration]) -> dict[str, float]:
    """Effort of each task in [0, 100] (AgentMeter, arXiv 2606.21140, eq. 1).

    s = 0.7 p + 0.3 r; E = 55 (1 - s) + 25 q(log(1 + T)) + 10 q(log(1 + U)) + 10 q(log(1 + I)), q the percentile rank
    over the pool: the share of tasks below, plus half of those equal (itself included).

    Raises: ScoringError, naming the task, for a figure that cannot be.
    """
    for task, one in pool.items():
        shares, counts = (one.pass_rate, one.reward), (one.tokens, one.tool_uses, one.interactions)
        if not all(0 <= share <= 1 for share in shares) or not all(0 <= count < math.inf for count in counts):
            raise ScoringError(f"{task}: its calibration cannot be: {one}")
    ranks = [
        percentile_ranks({task: math.log1p(getattr(one, name)) for task, one in pool.items()})
        for name in ("tokens", "tool_uses", "interactions")
    ]
    return {
        task: 55 * (1 - (0.7 * one.pass_rate + 0.3 * one.reward))
        + 25 * ranks[0][task]
        + 10 * ranks[1][task]
        + 10 * ranks[2][task]
        for task, one in pool.items()
    }


def percentile_ranks(values: Mapping[str, float]) -> dict[str, float]:
    """By name, (number below + half the number equal) / number, in (0, 1)."""
    ordered = sorted(values.values())
    return {
        name: (bisect_left(ordered, value) + bisect_right(ordered, value)) / (2 * len(ordered))
        for name, value in values.items()
    }


def equal_thirds(efforts: Mapping[str, float]) -> dict[str, Tier]:
    """The least effort is easy, the most hard; thirds differ by one at most, the easier get the surplus.

    Equal efforts are told apart by the task's name.
    """
    ordered = sorted(efforts, key=lambda task: (efforts[task], task))
    third, surplus = divmod(len(ordered), len(TIERS))
    sizes = [third + (index < surplus) for index in range(len(TIERS))]
    tiers = [tier for tier, size in zip(TIERS, sizes, strict=True) for _ in range(size)]
    return dict(zip(ordered, tiers, strict=True))


def programbench_difficulty(lines: int, dependencies: int) -> float:
    """ProgramBench's difficulty: clamp(log10(lines) + log10(1 + dependencies) - 2, 0, 10).

    Raises: ScoringError for a program without lines, or a negative number.
    """
    if lines < 1 or dependencies < 0:
        raise ScoringError(f"no difficulty of {lines} lines and {dependencies} dependencies")
    return min(10.0, max(0.0, math.log10(lines) + math.log10(1 + dependencies) - 2))


def programbench_tier(lines: int, dependencies: int) -> Tier:
    """Easy below 2, medium below 4, else hard."""
    difficulty = programbench_difficulty(lines, dependencies)
    return "easy" if difficulty < 2 else "medium" if difficulty < 4 else "hard"


def clitool_tier(lines: int) -> Tier:
    """CLI-Tool-Bench's: easy up to 1,500 lines of the original, hard from 4,000.

    Raises: ScoringError for a negative number.
    """
    if lines < 0:
        raise ScoringError(f"no tier of {lines} lines")
    return "easy" if lines <= 1500 else "medium" if lines < 4000 else "hard"


def tiers_of(rows: Sequence[TrialRow]) -> dict[str, Tier]:
    """The tiers that trials record, by task; tasks without one are left out.

    Raises: ScoringError, naming the trial, for an unknown tier or a task that two trials put in different ones.
    """
    found: dict[str, Tier] = {}
    for row in rows:
        if row.tier is None:
            continue
        try:
            tier = tier_named(row.tier)
        except ScoringError as error:
            raise ScoringError(f"{row.directory}: {error}") from None
        if found.setdefault(row.task, tier) != tier:
            raise ScoringError(
                f"{row.directory} puts {row.task} in the tier {tier}, another trial in {found[row.task]}"
            )
    return found


def tiers_given(words: Mapping[str, str]) -> dict[str, Tier]:
    """Tiers by task, as somebody wrote them.

    Raises: ScoringError, naming the task, for an unknown tier.
    """
    tiers: dict[str, Tier] = {}
    for task, word in words.items():
        try:
            tiers[task] = tier_named(word)
        except ScoringError as error:
            raise ScoringError(f"{task}: {error}") from None
    return tiers
