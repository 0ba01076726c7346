"""Makes the order of a configuration again, in a process that has the folder of its batch and nothing else of it.

The prompt, the plan, the expert, prices, scripts and the models behind short names come from the folder. The task comes
from its benchmark, and must be the one that was planned. Keys and API bases come from the worker's own environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from agent.batch.grid.lines import PRICES, SCRIPT
from agent.batch.grid.options import FORK, SOLVE, fork_changes, is_of_a_provider
from agent.config import defaults
from agent.continuation.fork import fork
from agent.errors import UserError
from agent.guidance.plans import GivenPlan
from agent.models.aliases import Alias
from agent.trial.fresh import Fresh
from agent.trial.options import Options
from agent.trial.order import Order
from agent.trial.resolve import resolve
from agent.trial.sources import USER_FILES, ChecksHere, Sources
from agent.trial.start import Start
from benchmarks.task.task import Task
from prompts import Prompt, parse, parse_role
from scoring.pricing.frozen import thawed_table
from scoring.pricing.tables import PriceTable
from trajectories.batches.configuration import Configuration
from trajectories.batches.grid import read_grid
from trajectories.batches.inputs import BatchInputs
from trajectories.errors import RecordError
from trajectories.reading.reader import first_event
from trajectories.record.events import TextRef
from trajectories.record.interventions import CodeRule
from trajectories.record.layout import BatchFolder, TrialFolder


class FrozenSources(ChecksHere):
    """The contents of one configuration, from the folder of its batch. Implements `Sources`."""

    def __init__(self, batch: BatchFolder, configuration: Configuration) -> None:
        self._batch = batch
        self._configuration = configuration
        self._inputs = BatchInputs(batch.path)

    def aliases(self) -> Mapping[str, Alias]:
        """See `Sources`."""
        source = str(self._batch.grid)
        aliases = self._configuration.options.get("aliases", {})
        return {name: Alias(name, entry["name"], entry["settings"], source=source) for name, entry in aliases.items()}

    def script(self, path: Path) -> bytes:
        """See `Sources`."""
        return self._content(self._input(f"{SCRIPT}{path}"))

    def answers(self, path: Path) -> bytes:
        """See `Sources`."""
        guidance = self._configuration.first.guidance
        return self._content(self._required(None if guidance is None else guidance.file, str(path)))

    def prompt(self, name: str) -> Prompt:
        """See `Sources`."""
        ref = self._configuration.first.prompt
        return parse(ref.name, self._content(ref))

    def role_prompt(self, name: str) -> Prompt:
        """See `Sources`."""
        guidance = self._configuration.first.guidance
        return parse_role(name, self._content(self._required(None if guidance is None else guidance.prompt, name)))

    def plan(self, typed: Path, runs: Path, rule: CodeRule | None, task: Task) -> GivenPlan:
        """See `Sources`; the plan was checked when it was frozen."""
        plan = self._configuration.first.plan
        assert plan is not None
        return GivenPlan(self._content(plan).decode("utf-8", "surrogatepass"), plan)

    def prices(self, name: str | None) -> PriceTable:
        """See `Sources`."""
        return _table(self._batch.path, self._input(PRICES).sha256)

    def _input(self, name: str) -> TextRef:
        return self._required(next((ref for ref in self._configuration.inputs if ref.name == name), None), name)

    def _required(self, ref: TextRef | None, name: str) -> TextRef:
        if ref is None:
            raise RecordError(f"{self._batch.grid}: the configuration {self._configuration.id[:12]} lacks {name}")
        return ref

    def _content(self, ref: TextRef) -> bytes:
        return self._inputs.get(ref.sha256)


@lru_cache(maxsize=4)
def _table(batch: Path, sha256: str) -> PriceTable:
    """Return a table of prices; all trials of a worker share it."""
    return thawed_table(BatchInputs(batch).get(sha256))


def sources_of(batch: BatchFolder, configuration: Configuration) -> FrozenSources:
    """Return the contents of a configuration: a trial of it that is continued needs them again."""
    return FrozenSources(batch, configuration)


def sources_of_trial(directory: Path) -> Sources:
    """Return the contents that a trial is continued with: those of its batch, or the user's files if it is of none.

    Raises: RecordError if the trial or the folder of its batch is damaged.
    """
    batch = BatchFolder(directory.absolute().parent)
    if not batch.grid.is_file():
        return USER_FILES
    first = first_event(directory)
    if first.chain is not None and (first.turn or 1) > 1:  # what later turns were shown is in their hash
        first = first_event(directory.parent / first.chain.first)
    id = Configuration.id_of(first)
    configuration = next((each for each in read_grid(batch.path) if each.id == id), None)
    return USER_FILES if configuration is None else sources_of(batch, configuration)


def api_base_here(configuration: Configuration) -> str | None:
    """Return the endpoint of this machine's configuration for a trial that is continued, in place of the recorded one.

    None is the endpoint of the model's provider.
    """
    return _api_base(str(configuration.first.options.get("model", "")))


def order_of(batch: BatchFolder, configuration: Configuration, *, evaluate: bool = True) -> tuple[Order, Start]:
    """Return the order of the trials of a configuration, and with what they begin.

    Without `evaluate` the evaluation is postponed; event 0 is the same.

    Raises: UserError if the task has changed or is not here, a key is missing, or the evaluation cannot be postponed;
    MachineError if this machine cannot run it; RecordError if the batch's folder is damaged.
    """
    first, name = configuration.first, configuration.stem
    order, start = _resolved(batch, configuration)
    if order.task.digest != first.task.digest:
        raise UserError(
            f"{name}: the task {first.task.id} is another one than was planned (its digest was "
            f"{first.task.digest[:12]}, here it is {order.task.digest[:12]}); restore it, or update this machine"
        )
    made = Configuration.id_of(start.first_event(order))
    if made != configuration.id:
        raise UserError(
            f"{name}: this machine makes another configuration of the batch's grid than was planned "
            f"({made[:12]} instead of {configuration.id[:12]}); use the same version of Retrace and of the task"
        )
    if not evaluate and order.chain is not None:
        raise UserError(f"{name}: a chain needs the result of each turn; leave --no-evaluate out")
    return replace(order, evaluate=order.evaluate and evaluate), start


def _resolved(batch: BatchFolder, configuration: Configuration) -> tuple[Order, Start]:
    sources = sources_of(batch, configuration)
    forked = configuration.options.get(FORK)
    if forked is None:
        return resolve(_options(batch, configuration), sources=sources), Fresh()
    parent = Path(forked["parent"])
    if not TrialFolder(parent).is_trial():
        raise UserError(f"{configuration.stem}: its parent {parent} is not on this machine; copy it there")
    model = str(configuration.first.options.get("model", ""))
    changes = fork_changes(forked["changes"], model, batch.path.parent, batch.path.name, defaults().api_base)
    return fork(parent, forked["step"], sources=sources, **changes)


def _options(batch: BatchFolder, configuration: Configuration) -> Options:
    own = dict(configuration.options.get(SOLVE, {}))
    if "plan" in own:
        own["plan"] = Path(own["plan"])
    options = Options.of(
        {**configuration.first.options, **own},
        runs=batch.path.parent,
        batch=batch.path.name,
    )
    return replace(options, api_base=_api_base(options.model))


def _api_base(model: str) -> str | None:
    return defaults().api_base if is_of_a_provider(model) else None
