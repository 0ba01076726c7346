"""The cost of plans in a score: once for each plan, and unknown rather than 0."""

from __future__ import annotations

from collections.abc import Iterable

from scoring.choices import CostKind
from scoring.interventions.facts import InterventionFacts, facts_with_cost
from scoring.interventions.plan_costs import plans_total
from scoring.output.tables import table_named
from scoring.rows import TrialRow
from scoring.score import score
from tests.scoring.trials import trial
from trajectories.record.usage import Costs


def with_plan(task: str, record: str | None, usd: float | None, attempt: int = 1, sha256: str = "1") -> TrialRow:
    costs = Costs(computed=usd) if record is not None else None
    facts = InterventionFacts(plan_by="p/m", plan_record=record, plan_sha256=sha256, plan_costs=costs)
    return trial(
        task,
        attempt=attempt,
        cost_usd=1.0,
        plan=True,
        mode="plan",
        interventions=facts_with_cost(facts, CostKind.COMPUTED),
    )


def value(rows: Iterable[TrialRow]) -> tuple[float | None, float, int] | None:
    total = plans_total(rows)
    return None if total is None else (total.value, total.known, total.unknown)


def test_trials_that_share_a_plan_share_its_cost() -> None:
    rows = [with_plan("a", "a.m.1", 0.5, 1), with_plan("a", "a.m.1", 0.5, 2), with_plan("b", "b.m.1", 0.25)]
    assert value(rows) == (0.75, 0.75, 0)
    other_white_space = with_plan("a", "a.m.1", 0.5, 3, sha256="2")
    assert value([*rows, other_white_space]) == (0.75, 0.75, 0)


def test_a_cost_that_is_unknown_makes_the_sum_unknown() -> None:
    assert value([with_plan("a", "a.m.1", 0.5), with_plan("b", "b.m.1", None)]) == (None, 0.5, 1)
    file = with_plan("a", None, None)
    assert value([file, with_plan("a", None, None, 2)]) == (None, 0, 1)


def test_trials_without_a_plan_have_no_such_cost() -> None:
    assert value([trial(), trial("b")]) is None


def test_a_record_for_which_trials_state_two_costs_counts_twice_instead_of_by_the_lower_one() -> None:
    assert value([with_plan("a", "a.m.1", 0.5), with_plan("a", "a.m.1", 0.0, 2)]) == (0.5, 0.5, 0)


def test_the_table_of_costs_has_a_column_for_plans_beside_the_cost_of_trials() -> None:
    rows = [with_plan("a", "a.m.1", 0.5, 1), with_plan("a", "a.m.1", 0.5, 2), trial("a", "other", cost_usd=1.0)]
    report = score(rows)
    table = {row["configuration"]: row for row in table_named(report, "costs").rows}
    assert (table["s"]["plan_usd"], table["s"]["total_usd"]) == (0.5, 2.0)
    assert table["other"]["plan_usd"] is None
