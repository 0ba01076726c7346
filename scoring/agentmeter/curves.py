"""Mean quality within any budget: CBQ (AgentMeter, arXiv 2606.21140, eq. 3) not only on the grid."""

from __future__ import annotations

from collections.abc import Collection

from scoring.agentmeter.ams import Outcomes


def quality_within_budgets(outcomes: Outcomes, tasks: Collection[str]) -> list[tuple[float, float]]:
    """(budget in US dollars, CBQ) at each budget where CBQ rises: a step function, 0 below the first.

    Over all `tasks`: one that was not tried contributes nothing; several trials of a task count by their mean.
    """
    gains = [
        (one.cost_usd, one.quality / len(outcomes[task]) / len(tasks))
        for task in tasks
        for one in outcomes.get(task, ())
        if one.cost_usd is not None and one.quality
    ]
    steps: list[tuple[float, float]] = []
    total = 0.0
    for cost, gain in sorted(gains):
        total += gain
        if steps and steps[-1][0] == cost:
            steps.pop()
        steps.append((cost, total))
    return steps
