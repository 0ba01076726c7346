"""AMS computed by hand, and properties that hold for all outcomes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from scoring.agentmeter import ams
from scoring.agentmeter.ams import Outcome
from scoring.agentmeter.bootstrap import sample
from scoring.agentmeter.profiles import AGENTMETER, Budgets, Profile
from scoring.agentmeter.tiers import TIERS, Tier
from scoring.errors import ScoringError

TASKS: dict[str, Tier] = {f"{tier}-{number}": tier for tier in TIERS for number in range(4)}
brief = settings(max_examples=60, deadline=None)
qualities = st.floats(0, 1, allow_nan=False)
costs = st.none() | st.floats(0, 8, allow_nan=False)
trials = st.builds(Outcome, st.booleans(), qualities, costs)
batches = st.dictionaries(st.sampled_from(sorted(TASKS)), st.lists(trials, min_size=1, max_size=3))


def value(outcomes: ams.Outcomes, profile: Profile = AGENTMETER) -> float:
    score = ams.score(outcomes, TASKS, profile).ams
    assert score is not None
    return score


def test_one_tier_by_hand() -> None:
    """Easy: grid 0.01, 0.04, 0.10, 0.18, 0.26, tau 0.12; four tasks, one of them not tried."""
    result = ams.score(
        {
            "easy-0": [Outcome(True, 1.0, 0.04)],
            "easy-1": [Outcome(False, 0.5, 0.10)],
            "easy-2": [Outcome(False, 0.8, 0.20)],
        },
        TASKS,
        AGENTMETER,
    )
    easy = result.tiers[0]
    assert (easy.tier, easy.tasks, easy.missing, easy.unknown_cost) == ("easy", 4, 1, 0)
    assert [point.quality for point in easy.curve] == pytest.approx([0, 1 / 4, 1.5 / 4, 1.5 / 4, 2.3 / 4])
    assert easy.cost_aubqc == pytest.approx((1 + 1.5 + 1.5 + 2.3) / 4 / 5)
    assert (easy.success_rate, easy.expensive_failure_rate) == (0.25, 0.25)
    assert easy.score == pytest.approx((0.6 * 0.25 + 0.4 * 6.3 / 20) * 0.75)
    assert result.ams == pytest.approx(easy.score / 3), "the other tiers were not tried: they count as 0"


def test_a_cost_equal_to_the_budget_is_within_it_though_it_is_a_sum_of_floats() -> None:
    ten_cents = sum([0.01] * 10)
    assert ten_cents != 0.10
    for cost in (ten_cents, 0.1 + 1e-17, sum([0.1] * 3) / 3):
        easy = ams.score({"easy-0": [Outcome(False, 1.0, cost)]}, TASKS, AGENTMETER).tiers[0]
        assert easy.curve[2].quality == 0.25


def test_an_unknown_cost_is_counted_and_is_neither_within_a_budget_nor_an_expensive_failure() -> None:
    easy = ams.score(
        {"easy-0": [Outcome(True, 1.0, None)], "easy-1": [Outcome(False, 0.9, None)]}, TASKS, AGENTMETER
    ).tiers[0]
    assert (easy.unknown_cost, easy.success_rate, easy.cost_aubqc, easy.expensive_failure_rate) == (2, 0.25, 0, 0)


def test_an_expensive_success_is_not_an_expensive_failure() -> None:
    """Both trials cost more than tau (0.12); only the one that failed is an expensive failure."""
    easy = ams.score(
        {"easy-0": [Outcome(True, 1.0, 5.0)], "easy-1": [Outcome(False, 0.5, 5.0)]}, TASKS, AGENTMETER
    ).tiers[0]
    assert (easy.success_rate, easy.expensive_failure_rate) == (0.25, 0.25)
    assert easy.score == pytest.approx(0.6 * 0.25 * 0.75)


def test_a_tier_without_tasks_leaves_no_ams() -> None:
    result = ams.score({}, {"a": "easy", "b": "hard"}, AGENTMETER)
    assert result.ams is None
    assert [tier.tier for tier in result.tiers] == ["easy", "hard"]
    assert sample({}, {"a": "easy", "b": "hard"}, AGENTMETER).estimate().method == "no AMS: a tier has no tasks"


def test_a_task_in_no_tier_is_refused_by_name() -> None:
    with pytest.raises(ScoringError, match="odd is in no tier"):
        ams.score({"odd": [Outcome(True, 1.0, 0.1)]}, TASKS, AGENTMETER)
    with pytest.raises(ScoringError, match="a: unknown tier 'Extreme'"):
        ams.score({}, {"a": "Extreme"}, AGENTMETER)  # type: ignore[dict-item]


@brief
@given(batches)
def test_ams_is_between_0_and_1(outcomes: ams.Outcomes) -> None:
    result = ams.score(outcomes, TASKS, AGENTMETER)
    assert result.ams is not None
    for figure in (result.ams, *(tier.score for tier in result.tiers), *(tier.cost_aubqc for tier in result.tiers)):
        assert 0 <= figure <= 1 + 1e-12


@brief
@given(batches, st.data())
def test_more_quality_at_the_same_cost_never_lowers_ams(outcomes: ams.Outcomes, data: st.DataObject) -> None:
    changed = {
        task: [
            replace(
                outcome,
                quality=data.draw(st.floats(outcome.quality, 1)),
                passed=outcome.passed or data.draw(st.booleans()),
            )
            for outcome in attempts
        ]
        for task, attempts in outcomes.items()
    }
    assert value(changed) >= value(outcomes) - 1e-12


@brief
@given(batches, st.floats(1, 100))
def test_a_higher_cost_of_a_failed_trial_never_raises_ams(outcomes: ams.Outcomes, factor: float) -> None:
    changed = {
        task: [
            outcome
            if outcome.passed or outcome.cost_usd is None
            else replace(outcome, cost_usd=outcome.cost_usd * factor)
            for outcome in attempts
        ]
        for task, attempts in outcomes.items()
    }
    assert value(changed) <= value(outcomes) + 1e-12


@brief
@given(batches, st.randoms())
def test_the_order_of_tasks_and_trials_does_not_matter(outcomes: ams.Outcomes, chance) -> None:
    tasks = list(outcomes)
    chance.shuffle(tasks)
    shuffled = {task: chance.sample(list(outcomes[task]), len(outcomes[task])) for task in tasks}
    names = list(TASKS)
    chance.shuffle(names)
    other = ams.score(shuffled, {name: TASKS[name] for name in names}, AGENTMETER)
    assert other.model_dump() == ams.score(outcomes, TASKS, AGENTMETER).model_dump()


@brief
@given(batches, st.integers(-20, 20))
def test_scaling_prices_and_budgets_by_a_power_of_two_changes_nothing(outcomes: ams.Outcomes, exponent: int) -> None:
    assert value(_scaled(outcomes, 2.0**exponent), AGENTMETER.scaled(2.0**exponent)) == value(outcomes)


cents = st.integers(0, 800).map(lambda cost: cost / 100)
in_cents = st.dictionaries(
    st.sampled_from(sorted(TASKS)),
    st.lists(st.builds(Outcome, st.booleans(), qualities, cents), min_size=1, max_size=3),
)


@brief
@given(in_cents, st.floats(1e-6, 1e6))
def test_prices_and_budgets_in_another_currency_change_nothing(outcomes: ams.Outcomes, rate: float) -> None:
    """The rate is arbitrary. Costs are in cents, so that none is within 1e-9 of a budget without being equal to it."""
    assert value(_scaled(outcomes, rate), AGENTMETER.scaled(rate)) == value(outcomes)


def _scaled(outcomes: ams.Outcomes, factor: float) -> ams.Outcomes:
    return {
        task: [
            outcome if outcome.cost_usd is None else replace(outcome, cost_usd=outcome.cost_usd * factor)
            for outcome in attempts
        ]
        for task, attempts in outcomes.items()
    }


@settings(max_examples=20, deadline=None)
@given(batches)
def test_the_interval_contains_the_value_of_the_same_tasks(outcomes: ams.Outcomes) -> None:
    drawn = sample(outcomes, TASKS, AGENTMETER, replicates=200)
    estimate = drawn.estimate()
    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 <= estimate.low <= estimate.high <= 1 + 1e-12
    assert drawn.replicates is not None
    assert drawn.replicates.min() <= estimate.value + 1e-9 <= drawn.replicates.max() + 2e-9
    assert (estimate.tasks, estimate.missing) == (12, 12 - len(outcomes))
    assert drawn.less(drawn).value == 0
    assert (drawn.less(drawn).low, drawn.less(drawn).high) == (0, 0), "a configuration does not differ from itself"


def test_a_paired_difference_is_more_certain_than_two_intervals() -> None:
    """One configuration is slightly better at every task; the tasks differ much more."""
    worse = {task: [Outcome(False, 0.1 * (number % 9), 0.001)] for number, task in enumerate(TASKS)}
    better = {task: [replace(attempts[0], quality=attempts[0].quality + 0.05)] for task, attempts in worse.items()}
    first, second = (sample(side, TASKS, AGENTMETER) for side in (better, worse))
    difference = first.less(second)
    assert difference.low is not None
    assert difference.low > 0
    assert first.estimate().low < second.estimate().high  # type: ignore[operator]


def test_ams_over_different_budgets_cannot_be_compared() -> None:
    cheap = Profile(
        name="cheap",
        source="here",
        tiers={tier: Budgets(grid_usd=(0.001,), expensive_failure_usd=0.001) for tier in TIERS},
    )
    with pytest.raises(ScoringError, match="cannot be compared"):
        sample({}, TASKS, AGENTMETER).less(sample({}, TASKS, cheap))


def test_if_all_tasks_are_alike_every_replicate_is_the_value() -> None:
    """The bootstrap uses the same formula: success, quality within budgets, expensive failures."""
    alike = [Outcome(True, 1.0, 0.05), Outcome(False, 0.5, 7.0)]
    drawn = sample(dict.fromkeys(TASKS, alike), TASKS, AGENTMETER, replicates=5)
    assert drawn.ams.tiers[0].expensive_failure_rate == 0.5
    assert drawn.replicates is not None
    assert drawn.replicates == pytest.approx([drawn.ams.ams] * 5)
