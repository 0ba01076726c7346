"""The judges of one command: chosen and checked before any of them is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from agent.errors import UserError
from agent.roles.asking import make_asker
from agent.roles.budget import RoleBudget
from agent.roles.judge import ModelJudge
from prompts import Prompt
from scoring.pricing.tables import PriceTable
from trajectories.analysis.integrity.judge import Judge
from trajectories.record.panel import INTEGRITY

JUDGES = 9
"""Number of judges of a panel, unless the user chooses another."""


@dataclass(frozen=True)
class Judges:
    """The judges, and what they share. Models are assigned to them in turn."""

    judges: Sequence[Judge]
    prompt: Prompt
    prices: PriceTable
    budget: RoleBudget
    say: Callable[[str], None]
    """Shows the user a line for each vote."""

    def close(self) -> None:
        """Close every judge."""
        for judge in self.judges:
            with suppress(Exception):
                judge.close()


def make_judges(
    models: Sequence[str],
    count: int,
    *,
    settings: Mapping[str, object],
    api_base: str | None,
    cost_limit_usd: float | None,
    say: Callable[[str], None],
) -> Judges:
    """Make and check the judges.

    Raises: UserError naming the model or the limit.
    """
    from agent.models.choose import HUMAN, REPLAY, SCRIPT
    from prompts import load_judging
    from scoring.pricing.tables import wheel_prices

    if len(models) > count:
        raise UserError(f"--judges {count}: too few for {len(models)} models; {models[-1]} would never be asked")
    prices, budget, prompt = wheel_prices(), RoleBudget(cost_limit_usd), load_judging(INTEGRITY)
    judges: list[Judge] = []
    for number in range(count):
        name = models[number % len(models)]
        if name == HUMAN or name.startswith(REPLAY):
            raise UserError(f"--judge-model {name}: a judge is a model (see agent models list) or {SCRIPT}FILE")
        asker = make_asker(
            name, option="--judge-model", settings=settings, api_base=api_base, prices=prices, budget=budget
        )
        if cost_limit_usd is not None and not asker.is_free and prices.row(asker.model.name) is None:
            raise UserError(
                f"--judge-cost-limit {cost_limit_usd:g}: {asker.model.name!r} has no price in {prices.source}, so "
                "the limit could not be kept; leave it out, or name a model that has a price"
            )
        judges.append(ModelJudge(asker, prompt))
    return Judges(judges, prompt, prices, budget, say)
