"""Tiers: AgentMeter's eq. 1, ProgramBench's and CLI-Tool-Bench's."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from scoring.agentmeter.tiers import (
    TIERS,
    Calibration,
    calibration_of,
    effort,
    equal_thirds,
    percentile_ranks,
    tier_named,
    tiers_of,
)
from scoring.errors import ScoringError
from scoring.families import clitool, programbench
from tests.scoring.trials import trial
from trajectories.record.usage import Usage

brief = settings(max_examples=60, deadline=None)
efforts = st.dictionaries(st.text(max_size=4), st.integers(0, 5).map(float), max_size=40)


@brief
@given(efforts)
def test_thirds_differ_by_at_most_one_task_and_rise_with_effort(efforts_by_task: dict[str, float]) -> None:
    tiers = equal_thirds(efforts_by_task)
    sizes = Counter(tiers.values())
    assert max(sizes[tier] for tier in TIERS) - min(sizes[tier] for tier in TIERS) <= 1
    for easier, harder in (
        (a, b) for a in efforts_by_task for b in efforts_by_task if efforts_by_task[a] < efforts_by_task[b]
    ):
        assert TIERS.index(tiers[easier]) <= TIERS.index(tiers[harder])


@brief
@given(efforts, st.randoms())
def test_tiers_do_not_depend_on_the_order_of_tasks(efforts_by_task: dict[str, float], chance: random.Random) -> None:
    names = list(efforts_by_task)
    chance.shuffle(names)
    assert equal_thirds({name: efforts_by_task[name] for name in names}) == equal_thirds(efforts_by_task)


def test_effort_by_hand() -> None:
    pool = {
        "cheap": Calibration(pass_rate=1.0, reward=1.0, tokens=100, tool_uses=1, interactions=2),
        "dear": Calibration(pass_rate=0.0, reward=0.5, tokens=10_000, tool_uses=50, interactions=2),
    }
    result = effort(pool)
    assert result["cheap"] == pytest.approx(0 + 25 * 0.25 + 10 * 0.25 + 10 * 0.5)
    assert result["dear"] == pytest.approx(55 * (1 - 0.15) + 25 * 0.75 + 10 * 0.75 + 10 * 0.5)


def test_equal_values_share_a_percentile_rank() -> None:
    assert percentile_ranks({"a": 1, "b": 2, "c": 2, "d": 3}) == {"a": 0.125, "b": 0.5, "c": 0.5, "d": 0.875}


def test_a_calibration_pool_is_independent_of_costs_and_models() -> None:
    rows = [
        trial("a", quality=1.0, usage=Usage(input=90, output=10), commands=4, steps=2, model="x", cost_usd=1.0),
        trial("a", attempt=2, quality=0.5, usage=Usage(input=290, output=10), commands=6, steps=4, cost_usd=None),
    ]
    assert calibration_of(rows) == {"a": Calibration(0.5, 0.75, 200, 5, 3)}
    with pytest.raises(ScoringError, match=r"runs/b/b\.s\.1: its tokens are unknown"):
        calibration_of([trial("b")])


def test_an_impossible_calibration_is_rejected_by_name() -> None:
    with pytest.raises(ScoringError, match="odd: impossible calibration"):
        effort({"odd": Calibration(0.5, 0.5, float("nan"), 1, 1)})


@pytest.mark.parametrize(
    ("lines", "dependencies", "difficulty", "tier"),
    [
        (10, 0, 0.0, "easy"),
        (1_000, 0, 1.0, "easy"),
        (1_000, 9, 2.0, "medium"),
        (9_999, 0, 1.99996, "easy"),
        (1_000_000, 0, 4.0, "hard"),
        (10**9, 10**9, 10.0, "hard"),
    ],
)
def test_tiers_of_programbench(lines: int, dependencies: int, difficulty: float, tier: str) -> None:
    assert programbench.difficulty(lines, dependencies) == pytest.approx(difficulty, abs=1e-4)
    assert programbench.tier(lines, dependencies) == tier


@pytest.mark.parametrize(
    ("lines", "tier"), [(0, "easy"), (1500, "easy"), (1501, "medium"), (3999, "medium"), (4000, "hard")]
)
def test_tiers_of_clitool(lines: int, tier: str) -> None:
    assert clitool.tier(lines) == tier


def test_recorded_tiers_must_be_valid_and_agree() -> None:
    assert tiers_of([trial("a", tier="Easy"), trial("b")]) == {"a": "easy"}
    with pytest.raises(ScoringError, match=r"runs/b/a\.s\.1: unknown tier 'extreme'"):
        tiers_of([trial("a", tier="extreme")])
    with pytest.raises(ScoringError, match="puts a in the tier hard, another trial in easy"):
        tiers_of([trial("a", tier="easy"), trial("a", attempt=2, tier="hard")])
    with pytest.raises(ScoringError, match="unknown tier"):
        tier_named("")
