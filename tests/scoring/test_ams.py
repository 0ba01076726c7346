"""AMS by hand, and what must hold for any outcomes."""

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
    found = ams.score(outcomes, TASKS, profile).ams
    assert found is not None
    return found


def test_one_tier_by_hand() -> None:
    """Easy: grid 0.01, 0.04, 0.10, 0.18, 0.26, tau 0.12; four tasks, one of them not tried."""
    found = ams.score(
        {
            "easy-0": [Outcome(True, 1.0, 0.04)],
            "easy-1": [Outcome(False, 0.5, 0.10)],
            "easy-2": [Outcome(False, 0.8, 0.20)],
        },
        TASKS,
        AGENTMETER,
    )
    easy = found.tiers[0]
    assert (easy.tier, easy.tasks, easy.missing, easy.unknown_cost) == ("easy", 4, 1, 0)
    assert [point.quality for point in easy.curve] == pytest.approx([0, 1 / 4, 1.5 / 4, 1.5 / 4, 2.3 / 4])
    assert easy.cost_aubqc == pytest.approx((1 + 1.5 + 1.5 + 2.3) / 4 / 5)
    assert (easy.success_rate, easy.expensive_failure_rate) == (0.25, 0.25)
    assert easy.score == pytest.approx((0.6 * 0.25 + 0.4 * 6.3 / 20) * 0.75)
    assert found.ams == pytest.approx(easy.score / 3), "the other tiers were not tried: they count as 0"


def test_a_cost_equal_to_the_budget_is_within_it_though_it_is_a_sum_of_floats() -> None:
    ten_cents = sum([0.01] * 10)
    assert ten_cents != 0.10
    for cost in (ten_cents, 0.1 + 1e-17, sum([0.1] * 3) / 3):
        easy = ams.score({"easy-0": [Outcome(False, 1.0, cost)]}, TASKS, AGENTMETER).tiers[0]
        assert easy.curve[2].quality == 0.25


def test_an_unknown_cost_is_within_no_budget_and_no_expensive_failure_and_is_counted() -> None:
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
    found = ams.score({}, {"a": "easy", "b": "hard"}, AGENTMETER)
    assert found.ams is None
    assert [tier.tier for tier in found.tiers] == ["easy", "hard"]
    assert sample({}, {"a": "easy", "b": "hard"}, AGENTMETER).estimate().method == "no AMS: a tier has no tasks"


def test_a_task_in_no_tier_is_refused_by_name() -> None:
    with pytest.raises(ScoringError, match="odd is in no tier"):
        ams.score({"odd": [Outcome(True, 1.0, 0.1)]}, TASKS, AGENTMETER)
    with pytest.raises(ScoringError, match="a: unknown tier 'Extreme'"):
        ams.score({}, {"a": "Extreme"}, AGENTMETER)  # type: ignore[dict-item]


@brief
@given(batches)
def test_it_lies_in_0_to_1(outcomes: ams.Outcomes) -> None:
    found = ams.score(outcomes, TASKS, AGENTMETER)
    assert found.ams is not None
    for figure in (found.ams, *(tier.score for tier in found.tiers), *(tier.cost_aubqc for tier in found.tiers)):
        assert 0 <= figure <= 1 + 1e-12


@brief
@given(batches, st.data())
def test_more_quality_at_the_same_cost_never_lowers_it(outcomes: ams.Outcomes, data: st.DataObject) -> None:
    changed = {
        task: [
            replace(
                one,
                quality=data.draw(st.floats(one.quality, 1)),
                passed=one.passed or data.draw(st.booleans()),
            )
            for one in found
        ]
        for task, found in outcomes.items()
    }
    assert value(changed) >= value(outcomes) - 1e-12


@brief
@given(batches, st.floats(1, 100))
def test_a_failed_run_made_dearer_never_raises_it(outcomes: ams.Outcomes, factor: float) -> None:
    changed = {
        task: [
            one if one.passed or one.cost_usd is None else replace(one, cost_usd=one.cost_usd * factor) for one in found
        ]
        for task, found in outcomes.items()
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
def test_prices_and_budgets_times_a_power_of_two_change_nothing_at_all(outcomes: ams.Outcomes, exponent: int) -> None:
    assert value(_scaled(outcomes, 2.0**exponent), AGENTMETER.scaled(2.0**exponent)) == value(outcomes)


cents = st.integers(0, 800).map(lambda cost: cost / 100)
in_cents = st.dictionaries(
    st.sampled_from(sorted(TASKS)),
    st.lists(st.builds(Outcome, st.booleans(), qualities, cents), min_size=1, max_size=3),
)


@brief
@given(in_cents, st.floats(1e-6, 1e6))
def test_prices_and_budgets_in_another_currency_change_nothing(outcomes: ams.Outcomes, rate: float) -> None:
    """Any factor, for costs that are not within 1e-9 of a budget without being equal to it."""
    assert value(_scaled(outcomes, rate), AGENTMETER.scaled(rate)) == value(outcomes)


def _scaled(outcomes: ams.Outcomes, factor: float) -> ams.Outcomes:
    return {
        task: [one if one.cost_usd is None else replace(one, cost_usd=one.cost_usd * factor) for one in found]
        for task, found in outcomes.items()
    }


@settings(max_examples=20, deadline=None)
@given(batches)
def test_the_interval_holds_the_value_of_the_same_tasks(outcomes: ams.Outcomes) -> None:
    drawn = sample(outcomes, TASKS, AGENTMETER, replicates=200)
    found = drawn.estimate()
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.high <= 1 + 1e-12
    assert drawn.replicates is not None
    assert drawn.replicates.min() <= found.value + 1e-9 <= drawn.replicates.max() + 2e-9
    assert (found.tasks, found.missing) == (12, 12 - len(outcomes))
    assert drawn.less(drawn).value == 0
    assert (drawn.less(drawn).low, drawn.less(drawn).high) == (0, 0), "a configuration does not differ from itself"


def test_a_paired_difference_is_surer_than_two_intervals() -> None:
    """One configuration is a little better at every task; tasks differ much more than that."""
    worse = {task: [Outcome(False, 0.1 * (number % 9), 0.001)] for number, task in enumerate(TASKS)}
    better = {task: [replace(found[0], quality=found[0].quality + 0.05)] for task, found in worse.items()}
    one, other = (sample(side, TASKS, AGENTMETER) for side in (better, worse))
    apart = one.less(other)
    assert apart.low is not None
    assert apart.low > 0
    assert one.estimate().low < other.estimate().high  # type: ignore[operator]


def test_ams_over_other_budgets_are_not_compared() -> None:
    cheap = Profile(
        name="cheap",
        source="here",
        tiers={tier: Budgets(grid_usd=(0.001,), expensive_failure_usd=0.001) for tier in TIERS},
    )
    with pytest.raises(ScoringError, match="cannot be compared"):
        sample({}, TASKS, AGENTMETER).less(sample({}, TASKS, cheap))


def test_where_all_tasks_are_alike_every_replicate_is_the_value() -> None:
    """The bootstrap reckons with the same formula: success, quality within budgets, expensive failures."""
    alike = [Outcome(True, 1.0, 0.05), Outcome(False, 0.5, 7.0)]
    drawn = sample(dict.fromkeys(TASKS, alike), TASKS, AGENTMETER, replicates=5)
    assert drawn.ams.tiers[0].expensive_failure_rate == 0.5
    assert drawn.replicates is not None
    assert drawn.replicates == pytest.approx([drawn.ams.ams] * 5)
