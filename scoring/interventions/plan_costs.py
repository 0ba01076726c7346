"""Costs beside those of the agent: of the plans that trials were given, and of the experts that were asked.

Trials share a plan, so each plan counts once.
"""

from __future__ import annotations

from collections.abc import Iterable

from scoring.rows import TrialRow
from scoring.statistics.diagnostics import Total


def plans_total(rows: Iterable[TrialRow]) -> Total | None:
    """Return the sum over the different plans of these trials; None if no trial was given a plan.

    Plans of one record are the same plan, unless trials state different costs for it. The cost of a plan that came as a
    file is unknown.
    """
    plans: dict[object, float | None] = {}
    for row in rows:
        facts = row.interventions
        if facts.plan_record is not None:
            plans[facts.plan_record, facts.plan_costs] = facts.plan_usd
        elif row.plan:
            plans[facts.plan_sha256] = None
    return Total.of(list(plans.values())) if plans else None


def expert_total(rows: Iterable[TrialRow]) -> Total | None:
    """Return the cost of the experts' calls in these trials; None if no trial had an expert."""
    facts = [row.interventions for row in rows if row.interventions.expert_costs is not None]
    return Total.of([each.expert_usd for each in facts]) if facts else None
