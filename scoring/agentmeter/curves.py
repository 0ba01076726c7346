"""Mean quality within any budget: CBQ (AgentMeter, arXiv 2606.21140, eq. 3) between the budgets of the grid, too."""

from __future__ import annotations

from collections.abc import Collection

from scoring.agentmeter.ams import Outcomes


def quality_within_budgets(outcomes: Outcomes, tasks: Collection[str]) -> list[tuple[float, float]]:
    """Return (budget in US dollars, CBQ) at each budget at which CBQ rises: a step function, 0 below the first.

    It is a mean over all `tasks`. A task that was not tried contributes nothing; several trials of a task are averaged.
    """
    gains = [
        (outcome.cost_usd, outcome.quality / len(outcomes[task]) / len(tasks))
        for task in tasks
        for outcome in outcomes.get(task, ())
        if outcome.cost_usd is not None and outcome.quality
    ]
    steps: list[tuple[float, float]] = []
    total = 0.0
    for cost, gain in sorted(gains):
        total += gain
        if steps and steps[-1][0] == cost:
            steps.pop()
        steps.append((cost, total))
    return steps
