"""Resolves a spec into the configurations of its grid.

Every name is looked up, every file is read, and every configuration goes through the same code as a trial of
`agent solve` or `agent fork`, so the trials of a batch have the identities of trials that are begun one by one. All
mistakes are collected first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent.batch.grid.branches import find_branches
from agent.batch.grid.budget import BudgetCheck
from agent.batch.grid.contents import ReadOnce
from agent.batch.grid.exclusions import Exclusions
from agent.batch.grid.lines import PRICES, GridLine, LineMaker
from agent.batch.grid.mistakes import Problems, in_words_of_a_spec
from agent.batch.grid.options import TASK, Combination, OptionsOf, Origin, Wrong
from agent.batch.grid.tasks import TaskOrigin, find_tasks
from agent.batch.spec.spec import PARENTS_MODEL, ModelEntry, Spec
from agent.batch.spec.spec_file import MOST_UNITS, read_spec, refused
from agent.continuation.fork import fork
from agent.errors import MachineError, UserError
from agent.models.choose import ORACLE, make_model
from agent.models.protocol import ModelUnusable
from agent.trial.options import Options
from agent.trial.resolve import resolve as resolve_order
from scoring.pricing.frozen import thawed_table
from scoring.pricing.tables import PriceTable
from trajectories.batches.configuration import Configuration
from trajectories.batches.grid import read_grid
from trajectories.batches.inputs import BatchInputs
from trajectories.errors import RecordError
from trajectories.record.layout import BatchFolder
from trajectories.yaml_mistakes import Mistake


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

    Raises: UserError naming all mistakes of the spec, each with its line and key; MachineError in the same way if only
    this machine is wrong; RecordError if the batch is damaged.
    """
    spec, mistakes = read_spec(path)
    wrong_names = [mistake for mistake in mistakes if mistake.place == ("name",)]
    prices = None if wrong_names else prices_of_batch(BatchFolder(runs / spec.name))
    resolver = Resolver(spec, runs, prices, checks_machine=checks_machine)
    grid, more = resolver.grid()
    if mistakes or more:
        error = refused(spec, [*mistakes, *more])
        raise MachineError(str(error)) if resolver.only_lacks_machine and not mistakes else error
    return grid


def check_postponable(grid: Grid) -> None:
    """Check that the evaluations of a grid can be postponed.

    Raises: UserError naming the arms whose trials are chains.
    """
    arms = dict.fromkeys(line.configuration.arm for line in grid.lines if line.order.chain is not None)
    if arms:
        raise UserError(
            f"--no-evaluate: trials of {', '.join(arms)} are chains, which need the result of each turn; leave it out, "
            f"or exclude them from {grid.spec.path}"
        )


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

        self._mistakes: list[Mistake] = []
        self._excluded = 0
        self._sources = ReadOnce(prices, checks_machine=checks_machine)
        try:
            self._maker = LineMaker(self._sources, spec.prices)
        except (UserError, RecordError) as error:
            self._mistakes.append(Mistake(("prices",), in_words_of_a_spec(str(error))))
            spec = replace(spec, prices=None)
            self._maker = LineMaker(self._sources, None)
        self._spec = spec
        self._runs = runs
        self._options_of = OptionsOf(spec, runs, defaults().api_base)
        self._problems = Problems(spec)
        self._budget = BudgetCheck(spec.budget)

    def grid(self) -> tuple[Grid, list[Mistake]]:
        """Return the grid with the configurations that could be resolved, and the mistakes of the others."""
        lines = [line for each in self._combinations() if (line := self._line(each)) is not None]
        self._check_duplicates(lines)
        self._check_size(len(lines))
        mistakes = [*self._mistakes, *self._problems.mistakes(), *self._budget.mistakes()]
        return Grid(self._spec, BatchFolder(self._runs / self._spec.name), tuple(lines)), mistakes

    @property
    def only_lacks_machine(self) -> bool:
        """True if all mistakes are of this machine, and none of the spec."""
        return self._problems.only_of_machine and not self._mistakes and not list(self._budget.mistakes())

    def _combinations(self) -> Iterator[Combination]:
        origins, mistakes = self._origins()
        self._mistakes += mistakes
        self._problems.tasks = len({origin.id for origin in origins})
        exclusions = Exclusions(self._spec)
        models = self._spec.models
        if not models and "models" not in self._spec.content and self._spec.branches is not None:
            models = (PARENTS_MODEL,)
        for origin in origins:
            for model in models:
                for arm in self._spec.arms:
                    combination = Combination(origin, model, arm)
                    if not exclusions.exclude(combination):
                        yield combination
        if not origins:
            self._check_models(models)
        self._excluded = exclusions.count
        self._mistakes += exclusions.mistakes(origins, tasks_are_known=not mistakes)

    def _origins(self) -> tuple[Sequence[Origin], list[Mistake]]:
        if self._spec.branches is not None:
            return find_branches(self._spec.branches, self._runs)
        return find_tasks(self._spec)

    def _line(self, combination: Combination) -> GridLine | None:
        try:
            if isinstance(combination.origin, TaskOrigin):
                return self._of_task(combination, combination.origin)
            parent, step = combination.origin.parent, combination.origin.step
            own, changes = self._options_of.changes(combination, combination.origin)
            order, start = fork(parent, step, sources=self._sources, **changes)
            self._budget.take(order, combination)
            return self._maker.line(combination, order, start.first_event(order), own)
        except Wrong as wrong:
            self._problems.at(wrong.place, str(wrong))
        except (UserError, MachineError, RecordError) as error:
            self._problems.of(error, combination)
        return None

    def _of_task(self, combination: Combination, origin: TaskOrigin) -> GridLine | None:
        """Return the line of a combination that begins with its task; None if its model has a problem by itself.

        Raises: Wrong, UserError, MachineError, RecordError.
        """
        own, options = self._options_of(combination, origin)
        task = origin.benchmark, origin.task
        try:
            order = resolve_order(options, task_as_recorded=task, sources=self._sources)
        except UserError as error:
            if not self._is_of_model(options, str(error)):
                raise
            self._problems.at(combination.model.place, in_words_of_a_spec(str(error)))
            return None
        self._budget.take(order, combination)
        return self._maker.line(combination, order, order.trial_started(), own)

    def _check_models(self, models: Sequence[ModelEntry]) -> None:
        """Find models that have a problem by themselves, where no task is there to show it."""
        for entry in models:
            if entry.name == ORACLE or TASK in entry.name:
                continue
            try:
                name = self._options_of.model(entry.name, "", entry.place)
                model = make_model(
                    name,
                    settings=entry.settings,
                    api_base=self._options_of.api_base_of(name),
                    sources=self._sources,
                )
                self._sources.check_model(model)
            except Wrong as wrong:
                self._problems.at(wrong.place, str(wrong))
            except ModelUnusable as error:
                self._problems.at(entry.place, in_words_of_a_spec(str(error)))

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

    def _check_size(self, configurations: int) -> None:
        units = configurations * self._spec.attempts
        if units > MOST_UNITS:
            self._mistakes.append(Mistake(("attempts",), f"make {units:,} units; a batch has at most {MOST_UNITS:,}"))
        if self._excluded and not configurations and not self._mistakes and not self._problems:
            self._mistakes.append(Mistake(("exclude",), "leaves nothing of the grid"))

    def _check_duplicates(self, lines: Sequence[GridLine]) -> None:
        """Find configurations that come twice, and name what makes them equal."""
        before: dict[str, Combination] = {}
        for line in lines:
            first = before.setdefault(line.configuration.id, line.combination)
            if first is not line.combination:
                self._problems.equal(first, line.combination)
