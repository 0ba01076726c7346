"""The judges of one command: chosen and checked before any of them is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from agent.errors import UserError
from agent.models.retries import RetryPolicy
from agent.roles.budget import JudgeBudget
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
    budget: JudgeBudget
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
    from agent.models.choose import HUMAN, REPLAY, SCRIPT, make_model
    from agent.models.protocol import ModelUnusable
    from prompts import load_judging
    from scoring.pricing.tables import wheel_prices

    if len(models) > count:
        raise UserError(f"--judges {count}: too few for {len(models)} models; {models[-1]} would never be asked")
    prices, budget, prompt = wheel_prices(), JudgeBudget(cost_limit_usd), load_judging(INTEGRITY)
    judges: list[Judge] = []
    for number in range(count):
        name = models[number % len(models)]
        if name == HUMAN or name.startswith(REPLAY):
            raise UserError(f"--judge-model {name}: a judge is a model (see agent models list) or {SCRIPT}FILE")
        is_script = name.startswith(SCRIPT)
        model_settings = {} if is_script else {"action": "fenced", **settings}
        try:
            model = make_model(name, settings=model_settings, api_base=None if is_script else api_base)
            model.check()
        except ModelUnusable as error:
            raise UserError(f"--judge-model {name}: {error}") from None
        if cost_limit_usd is not None and model.info.free is None and prices.row(model.info.ref.name) is None:
            raise UserError(
                f"--judge-cost-limit {cost_limit_usd:g}: {model.info.ref.name!r} has no price in {prices.source}, so "
                "the limit could not be kept; leave it out, or name a model that has a price"
            )
        judges.append(ModelJudge(model, prompt, prices, budget, RetryPolicy()))
    return Judges(judges, prompt, prices, budget, say)
