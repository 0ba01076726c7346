"""Makes a line of a grid: a configuration with everything that a worker needs of the user's files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.batch.grid.options import Combination, is_of_a_provider
from agent.models.bounds import CostBound, cost_bound
from agent.trial.order import Order
from agent.trial.sources import Sources
from scoring.pricing.frozen import frozen_table
from trajectories.batches.configuration import Configuration
from trajectories.record.base import Json
from trajectories.record.events import TextRef, TrialStarted
from trajectories.record.identity import sha256_of
from trajectories.writing.claim import stem_of

PRICES = "prices"
"""Name of the input that is the price table."""
SCRIPT = "script:"
"""Beginning of the name of an input that is a script; its path follows."""


@dataclass(frozen=True)
class GridLine:
    """A configuration of a grid, and what it was made of."""

    configuration: Configuration
    combination: Combination
    order: Order
    contents: tuple[tuple[TextRef, bytes], ...]
    """The inputs of the configuration with their contents."""
    bound: CostBound
    """Largest cost of one unit."""


class LineMaker:
    """Makes the lines of one grid, whose trials are all priced with one table."""

    def __init__(self, sources: Sources, prices: str | None) -> None:
        """`prices` is the name of the table.

        Raises: UserError, RecordError if there is no such table.
        """
        self._sources = sources
        table = frozen_table(sources.prices(prices))
        self._prices = TextRef(name=PRICES, sha256=sha256_of(table.decode())), table

    def line(self, combination: Combination, order: Order, first: TrialStarted, own: Mapping[str, object]) -> GridLine:
        """Return the line of an order whose trials begin with event 0 `first`; `own` are options beside event 0."""
        contents = (self._prices, *self._contents(order))
        bound = unit_bound(order)
        first = _as_read(first)
        configuration = Configuration(
            id=Configuration.id_of(first),
            arm=combination.arm.name,
            stem=stem_of(first),
            first=first,
            options={**own, "aliases": self._aliases(order)},
            inputs=tuple(ref for ref, _ in contents),
            cost_bound_usd=bound.usd,
        )
        return GridLine(configuration, combination, order, contents, bound)

    def _contents(self, order: Order) -> Iterator[tuple[TextRef, bytes]]:
        """Yield what a worker needs of the user's files, with the name that the configuration has for it."""
        yield order.prompt, order.prompt_data
        if order.plan is not None and order.plan_ref is not None:
            text = order.plan.encode("utf-8", "surrogatepass")
            yield TextRef(name=order.plan_ref.name, sha256=order.plan_ref.sha256), text
        guidance = None if order.expert is None else order.expert.guidance
        if guidance is not None and order.expert is not None:
            ref = guidance.file or guidance.prompt
            if ref is not None:
                yield ref, order.expert.inputs[0]
        for model in (order.model.info.ref, None if guidance is None else guidance.model):
            if model is not None and model.name == "script":
                path = model.asked.removeprefix(SCRIPT)
                data = self._sources.script(Path(path))
                yield TextRef(name=f"{SCRIPT}{path}", sha256=str(model.settings["sha256"])), data

    def _aliases(self, order: Order) -> Json:
        """Return what the short names of its models stand for."""
        guidance = None if order.expert is None else order.expert.guidance
        models = (order.model.info.ref, None if guidance is None else guidance.model)
        names = [model.asked for model in models if model is not None and is_of_a_provider(model.asked)]
        aliases = self._sources.aliases() if names else {}
        known = [aliases[name] for name in names if name in aliases]
        return {alias.alias: {"name": alias.name, "settings": alias.settings} for alias in known}


def unit_bound(order: Order) -> CostBound:
    """Return the largest cost of one unit: of a trial, or of a chain in which each turn has limits of its own."""
    expert = None if order.expert is None else order.expert.guidance.model
    bound = cost_bound(order.model.info, order.limits, order.prices, expert)
    if order.chain is None or not bound.usd:
        return bound
    return CostBound(bound.usd * order.chain.turns, f"{order.chain.turns} {order.chain.unit}s, and {bound.reason}")


def _as_read(first: TrialStarted) -> TrialStarted:
    """Return event 0 as the grid holds it, without the endpoint: that is for each worker's own environment."""
    options = {name: value for name, value in first.options.items() if name != "api_base"}
    plain = {"options": options, "environment_spec": first.environment_spec}
    return first.model_copy(update={name: json.loads(json.dumps(value)) for name, value in plain.items()})
