"""Resolves a spec into the configurations of its grid.

Every name is looked up, every file is read, and every configuration goes through the same `resolve` as a trial of
`agent solve`, so the trials of a batch have the identities of trials that are begun one by one. All mistakes are
collected first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.batch.grid.budget import BudgetCheck
from agent.batch.grid.contents import ReadOnce
from agent.batch.grid.exclusions import Exclusions
from agent.batch.grid.mistakes import Problems, in_words_of_a_spec
from agent.batch.grid.options import Combination, OptionsOf, Wrong, is_of_a_provider
from agent.batch.grid.spec import Spec
from agent.batch.grid.spec_file import read_spec, refused
from agent.batch.grid.tasks import find_tasks
from agent.errors import MachineError, UserError
from agent.models.bounds import CostBound, cost_bound
from agent.models.choose import ORACLE, make_model
from agent.models.protocol import ModelUnusable
from agent.trial.options import Options
from agent.trial.order import Order
from agent.trial.resolve import resolve as resolve_order
from scoring.pricing.frozen import frozen_table, thawed_table
from scoring.pricing.tables import PriceTable
from trajectories.batches.configuration import Configuration
from trajectories.batches.grid import read_grid
from trajectories.batches.inputs import BatchInputs
from trajectories.errors import RecordError
from trajectories.record.base import Json
from trajectories.record.events import ModelRef, TextRef, TrialStarted
from trajectories.record.identity import sha256_of
from trajectories.record.layout import BatchFolder
from trajectories.writing.claim import stem_of
from trajectories.yaml_mistakes import Mistake

PRICES = "prices"
SCRIPT_INPUT = "script:"
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


@dataclass(frozen=True)
class Grid:
    """The resolved grid of a spec."""

    spec: Spec
    folder: BatchFolder
    lines: tuple[GridLine, ...]

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        """The configurations, in the order of the spec: by task, model and arm."""
        return tuple(line.configuration for line in self.lines)

    @property
    def units(self) -> int:
        """Number of units of work: each attempt of each configuration."""
        return len(self.lines) * self.spec.attempts


def resolve_spec(path: Path, runs: Path, *, checks_machine: bool = True) -> Grid:
    """Return the grid of the spec in a file, whose batch is in its folder below `runs`. Nothing is written.

    Without `checks_machine` keys, endpoints and environments are not checked: that is for the machines that have them.

    Raises: UserError naming all mistakes of the spec, each with its line and key.
    """
    spec, mistakes = read_spec(path)
    prices = prices_of_batch(BatchFolder(runs / spec.name))
    grid, more = Resolver(spec, runs, prices, checks_machine=checks_machine).grid()
    if mistakes or more:
        raise refused(spec, [*mistakes, *more])
    return grid


def prices_of_batch(folder: BatchFolder) -> PriceTable | None:
    """Return the table that a batch which exists already is priced with; None without a batch.

    Raises: RecordError if the folder is damaged.
    """
    refs = (ref for configuration in read_grid(folder.path)[:1] for ref in configuration.inputs if ref.name == PRICES)
    ref = next(refs, None)
    return None if ref is None else thawed_table(BatchInputs(folder.path).get(ref.sha256))


class Resolver:
    """Resolves one spec."""

    def __init__(
        self, spec: Spec, runs: Path, prices: PriceTable | None = None, *, checks_machine: bool = True
    ) -> None:
        """`prices` are those of a batch that exists already, whose trials are all priced alike."""
        from agent.config import defaults

        self._spec = spec
        self._runs = runs
        self._sources = ReadOnce(prices, checks_machine=checks_machine)
        self._options_of = OptionsOf(spec, runs, defaults().api_base)
        self._problems = Problems(spec)
        self._budget = BudgetCheck(spec.budget)
        self._mistakes: list[Mistake] = []

    def grid(self) -> tuple[Grid, list[Mistake]]:
        """Return the grid with the configurations that could be resolved, and the mistakes of the others."""
        frozen = self._frozen_prices()
        lines: list[GridLine] = []
        if frozen is not None:
            ref = TextRef(name=PRICES, sha256=sha256_of(frozen.decode()))
            lines = [line for each in self._combinations() if (line := self._line(each, ref, frozen)) is not None]
        self._check_duplicates(lines)
        mistakes = [*self._mistakes, *self._problems.mistakes(), *self._budget.mistakes()]
        return Grid(self._spec, BatchFolder(self._runs / self._spec.name), tuple(lines)), mistakes

    def _frozen_prices(self) -> bytes | None:
        try:
            return frozen_table(self._sources.prices(self._spec.prices))
        except (UserError, RecordError) as error:
            self._mistakes.append(Mistake(("prices",), in_words_of_a_spec(str(error))))
            return None

    def _combinations(self) -> Iterator[Combination]:
        tasks, mistakes = find_tasks(self._spec)
        self._mistakes += mistakes
        self._problems.tasks = len(tasks)
        exclusions = Exclusions(self._spec)
        for task in tasks:
            for model in self._spec.models:
                for arm in self._spec.arms:
                    combination = Combination(task, model, arm)
                    if not exclusions.exclude(combination):
                        yield combination
        self._mistakes += exclusions.mistakes(tasks, tasks_are_known=not mistakes)

    def _line(self, combination: Combination, prices: TextRef, frozen: bytes) -> GridLine | None:
        found = combination.found
        try:
            options = self._options_of(combination)
            order = resolve_order(
                options,
                task_as_recorded=(found.benchmark, found.task),
                sources=self._sources,
            )
        except Wrong as wrong:
            self._problems.at(wrong.place, wrong.reason)
            return None
        except (UserError, MachineError, RecordError) as error:
            if self._is_of_model(options, str(error)):
                self._problems.at(combination.model.place, in_words_of_a_spec(str(error)))
            else:
                self._problems.of(str(error), combination)
            return None
        self._budget.take(order, combination)
        contents = ((prices, frozen), *self._contents(order))
        first = _as_read(order.trial_started())
        bound = unit_bound(order)
        configuration = Configuration(
            id=Configuration.id_of(first),
            arm=combination.arm.name,
            stem=stem_of(first),
            first=first,
            options=self._own_options(order),
            inputs=tuple(ref for ref, _ in contents),
            cost_bound_usd=bound.usd,
        )
        return GridLine(configuration, combination, order, contents, bound)

    def _is_of_model(self, options: Options, reason: str) -> bool:
        """Return True if the model has this problem by itself."""
        if options.model == ORACLE:
            return False
        try:
            model = make_model(
                options.model, settings=options.model_settings, api_base=options.api_base, sources=self._sources
            )
            self._sources.check_model(model)
        except ModelUnusable as error:
            return str(error) == reason
        return False

    def _contents(self, order: Order) -> Iterable[tuple[TextRef, bytes]]:
        """Yield what a worker needs of the user's files, with the name that the configuration has for it."""
        yield order.prompt, order.prompt_data
        if order.plan is not None and order.plan_ref is not None:
            yield TextRef(name=order.plan_ref.name, sha256=order.plan_ref.sha256), order.plan.encode()
        guidance = None if order.expert is None else order.expert.guidance
        if guidance is not None and order.expert is not None:
            ref = guidance.file or guidance.prompt
            if ref is not None:
                yield ref, order.expert.inputs[0]
        for model in (order.model.info.ref, None if guidance is None else guidance.model):
            if model is not None and model.name == "script":
                path = model.asked.removeprefix(SCRIPT_INPUT)
                data = self._sources.script(Path(path))
                yield TextRef(name=f"{SCRIPT_INPUT}{path}", sha256=str(model.settings["sha256"])), data

    def _own_options(self, order: Order) -> Json:
        """Return what event 0 does not tell of the options."""
        options = order.options
        solve = {
            "plan": None if options.plan is None else str(options.plan),
            "plan_rule": options.plan_rule,
            "self_correct": options.self_correct,
            "feedback": options.feedback,
            "conversation": options.conversation,
            "until": options.until,
            "reveal_tests": options.reveal_tests or None,
        }
        guidance = None if order.expert is None else order.expert.guidance
        models = (order.model.info.ref, None if guidance is None else guidance.model)
        names = [model.asked for model in models if isinstance(model, ModelRef) and is_of_a_provider(model.asked)]
        aliases = self._sources.aliases() if names else {}
        return {
            "solve": {name: value for name, value in solve.items() if value is not None},
            "aliases": {
                name: {"name": aliases[name].name, "settings": aliases[name].settings}
                for name in names
                if name in aliases
            },
        }

    def _check_duplicates(self, lines: list[GridLine]) -> None:
        """Find configurations that come twice, and name what makes them equal."""
        before: dict[str, Combination] = {}
        for line in lines:
            first = before.setdefault(line.configuration.id, line.combination)
            if first is not line.combination:
                self._problems.equal(first, line.combination)


def _as_read(first: TrialStarted) -> TrialStarted:
    """Return event 0 as the grid holds it, without the endpoint: that is for each worker's own environment."""
    options = {name: value for name, value in first.options.items() if name != "api_base"}
    return TrialStarted.model_validate_json(first.model_copy(update={"options": options}).model_dump_json())


def unit_bound(order: Order) -> CostBound:
    """Return the largest cost of one unit: of a trial, or of a chain in which each turn has limits of its own."""
    expert = None if order.expert is None else order.expert.guidance.model
    bound = cost_bound(order.model.info, order.limits, order.prices, expert)
    if order.chain is None or not bound.usd:
        return bound
    return CostBound(bound.usd * order.chain.turns, f"{order.chain.turns} {order.chain.unit}s, and {bound.reason}")
