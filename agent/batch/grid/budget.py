"""Checks the budget of a spec: every call has a bound, and the first call of every trial fits."""

from __future__ import annotations

from collections.abc import Iterator

from agent.batch.grid.options import Combination
from agent.batch.spec.spec import Budget
from agent.models.bounds import FREE_EXPERT
from agent.models.call_bounds import first_call
from agent.reports.prices import price_problem
from agent.trial.order import Order
from trajectories.yaml_mistakes import Mistake, Place


class BudgetCheck:
    """Compares the calls of a grid with the budget of its spec."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._unbounded: dict[Mistake, None] = {}
        self._largest_usd = (0.0, "")
        self._largest_tokens = (0, "")

    def take(self, order: Order, combination: Combination) -> None:
        """Take in the order of a combination."""
        if self._budget == Budget():
            return
        model, entry = order.model.info, combination.model.place
        if self._budget.usd is not None:
            self._take_prices(order, combination)
        if model.free is not None:
            return
        bound = first_call(order)
        if bound.tokens is None:
            reason = (
                f"nothing bounds a reply of {model.ref.name!r}, so the budget could not be kept; give it the setting "
                "max_tokens"
            )
            self._unbounded[Mistake(entry, reason)] = None
            return
        name = f"{model.ref.asked} ({combination.origin.id}, arm {combination.arm.name})"
        self._largest_tokens = max(self._largest_tokens, (bound.tokens, name))
        self._largest_usd = max(self._largest_usd, (bound.usd or 0.0, name))

    def mistakes(self) -> Iterator[Mistake]:
        """Yield what is wrong."""
        yield from self._unbounded
        usd, name = self._largest_usd
        if self._budget.usd is not None and usd > self._budget.usd:
            yield self._too_small("usd", f"${self._budget.usd:g}", f"{name} can cost, ${usd:.2f}")
        tokens, name = self._largest_tokens
        if self._budget.tokens is not None and tokens > self._budget.tokens:
            yield self._too_small("tokens", f"{self._budget.tokens:,}", f"{name} can use, {tokens:,}")

    def _too_small(self, key: str, budget: str, largest: str) -> Mistake:
        way_out = "raise it, or lower the model's setting max_tokens"
        return Mistake(("budget", key), f"{budget} is less than the first call of {largest}; {way_out}")

    def _take_prices(self, order: Order, combination: Combination) -> None:
        expert = None if order.expert is None else order.expert.guidance.model
        asked: list[tuple[str, Place]] = []
        if order.model.info.free is None:
            asked.append((order.model.info.ref.name, combination.model.place))
        if expert is not None and expert.name != FREE_EXPERT:
            asked.append((expert.name, (*combination.arm.place, "guidance")))
        for name, place in asked:
            if problem := price_problem(order.prices, name):
                reason = f"{problem}, so budget.usd could not be kept; name a table with `prices`, or leave it out"
                self._unbounded[Mistake(place, reason)] = None
