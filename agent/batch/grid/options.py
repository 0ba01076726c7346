"""The options of `agent solve` that a task, a model and an arm of a spec stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from agent.batch.grid.branches import BranchOrigin
from agent.batch.grid.tasks import TaskOrigin
from agent.batch.spec.spec import PARENTS_MODEL, Arm, ModelEntry, Spec
from agent.errors import UserError
from agent.models.choose import HUMAN, ORACLE, REPLAY, SCRIPT
from agent.trial.options import LimitChanges, OptionChanges, Options
from benchmarks.task.registry import PATH
from trajectories.record.base import Json
from trajectories.yaml_mistakes import Place

TASK = "{task}"
"""Stands for the last part of a task's name in names of files."""
FILE = "file:"
SOLVE, FORK = "solve", "fork"
"""Keys of a configuration's options: what event 0 does not tell of a trial from its beginning, and of a fork."""
_INTERVENTIONS = ("self_correct", "guidance", "plan")
_OF_CHAINS = ("self_correct", "feedback", "conversation", "until", "reveal_tests")
_NOT_IN_EVENT_0 = ("plan", "plan_rule", *_OF_CHAINS)
_OF_NO_FORK = ("shell", "variants", *_OF_CHAINS)


Origin = TaskOrigin | BranchOrigin
"""With what trials of a batch begin: a task, or a step of another trial."""


class Wrong(Exception):
    """An option that cannot be used. `str()` is the reason."""

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(reason)
        self.place = place


@dataclass(frozen=True)
class Combination:
    """An origin, a model and an arm."""

    origin: Origin
    model: ModelEntry
    arm: Arm

    def __str__(self) -> str:
        return f"{self.origin}, {self.model.name}, {self.arm.name}"


class OptionsOf:
    """Makes options of combinations; names of files are relative to the folder of the spec."""

    def __init__(self, spec: Spec, runs: Path, api_base: str | None) -> None:
        self._spec = spec
        self._folder = spec.path.parent
        self._runs = runs
        self._api_base = api_base

    def __call__(self, combination: Combination, origin: TaskOrigin) -> tuple[Json, Options]:
        """Return the options of a combination that begins with a task, and those that event 0 does not tell.

        Raises: Wrong.
        """
        entry, arm, word = combination.model, combination.arm, origin.last_part
        model = self.model(entry.name, word, entry.place)
        self._check_oracle(model, arm)
        given = self._given(arm, word)
        settings = {**entry.settings, **given.pop("model_settings", {})}
        limits: LimitChanges = self._limits()
        options = Options(
            model=model,
            task=str(origin.task.directory) if origin.task.benchmark == PATH else origin.id,
            env=self._spec.env or origin.task.kinds[0],
            prices=self._spec.prices,
            runs=self._runs,
            batch=self._spec.name,
            model_settings=settings,
            api_base=self.api_base_of(model),
            **limits,
            **given,
        )
        own = {name: str(given[name]) if name == "plan" else given[name] for name in _NOT_IN_EVENT_0 if name in given}
        return {SOLVE: own}, options

    def changes(self, combination: Combination, origin: BranchOrigin) -> tuple[Json, OptionChanges]:
        """Return the options in which a fork differs from its parent, and what a worker needs to make it again.

        Raises: Wrong.
        """
        entry, arm, word = combination.model, combination.arm, origin.last_part
        for name in _OF_NO_FORK:
            if name in arm.options:
                raise Wrong((*arm.place, name), "does not go with `from`: a fork has it from its parent, or not at all")
        given = self._given(arm, word)
        recorded = origin.first.options
        changes: Json = {**self._limits(), "prices": self._spec.prices, "evaluate": True}
        if self._spec.env is not None:
            changes["env"] = self._spec.env
        settings = recorded.get("model_settings", {})
        if entry is not PARENTS_MODEL:
            changes["model"] = self.model(entry.name, word, entry.place)
            settings = entry.settings
        changes["model_settings"] = {**settings, **given.pop("model_settings", {})}
        if "guidance" in given:
            changes |= {"max_interventions": None, "guidance_rule": None, "guidance_settings": {}}
            changes["guidance_api_base"] = None
        changes |= given
        written = {name: str(value) if name == "plan" else value for name, value in changes.items()}
        own = {FORK: {"parent": str(origin.parent), "step": origin.step, "changes": written}}
        return own, fork_changes(changes, str(recorded.get("model", "")), self._runs, self._spec.name, self._api_base)

    def _given(self, arm: Arm, word: str) -> dict[str, Any]:
        """Return the options of an arm with the files that they name."""
        given: dict[str, Any] = dict(arm.options)
        if "plan" in given:
            given["plan"] = self._plan(given["plan"], word, (*arm.place, "plan"))
        if "prompt" in given:
            given["prompt"] = self._prompt(given["prompt"], word, (*arm.place, "prompt"))
        if "guidance" in given:
            given["guidance"] = self._expert(given["guidance"], word, (*arm.place, "guidance"))
        return given

    def _limits(self) -> LimitChanges:
        """Return the limits that the spec sets."""
        limits, changes = self._spec.limits, LimitChanges()
        if limits.steps is not None:
            changes["step_limit"] = limits.steps
        if limits.time_s is not None:
            changes["time_limit_s"] = limits.time_s
        if limits.tokens is not None:
            changes["token_limit"] = limits.tokens
        if limits.cost_usd is not None:
            changes["cost_limit_usd"] = limits.cost_usd
        if limits.command_s is not None:
            changes["command_timeout_s"] = limits.command_s
        return changes

    def model(self, name: str, word: str, place: Place) -> str:
        """Return a model's name as `agent solve` takes it, with the path of a script.

        Raises: Wrong for a model that cannot take part in a batch, or a script that is missing.
        """
        if name == HUMAN or name.startswith(REPLAY):
            raise Wrong(place, f"{name} cannot be a model of a batch: nobody is there to type, or the trial exists")
        if name.startswith(SCRIPT):
            return f"{SCRIPT}{self._file(name.removeprefix(SCRIPT), word, place)}"
        return name

    def api_base_of(self, model: str) -> str | None:
        """Return the endpoint that the user's configuration has for a model."""
        return self._api_base if is_of_a_provider(model) else None

    def _check_oracle(self, model: str, arm: Arm) -> None:
        given = [name for name in _INTERVENTIONS if name in arm.options]
        if model == ORACLE and given:
            raise Wrong(
                (*arm.place, given[0]),
                f"does not apply to {ORACLE}, which submits the task's own solution; leave it out with the entry "
                f"{{model: {ORACLE}, arm: {arm.name}}} in `exclude`",
            )

    def _plan(self, name: str, word: str, place: Place) -> Path:
        beside = self._folder / _filled(name, word)
        if beside.exists():
            return beside.resolve()
        from trajectories.reading.plans.finding import find_plan

        record = find_plan(str(_filled(name, word)), self._runs)
        if record is None:
            raise Wrong(place, _missing(beside, name))
        return record.resolve()

    def _prompt(self, name: str, word: str, place: Place) -> str:
        from prompts import PromptError, load, names

        path = self._folder / _filled(name, word)
        if path.is_file():
            return str(path.resolve())
        try:
            load(name)
        except PromptError:
            raise Wrong(place, f"{_missing(path, name)}; prompts are {', '.join(names())}") from None
        return name

    def _expert(self, name: str, word: str, place: Place) -> str:
        if name == HUMAN:
            raise Wrong(place, f"{HUMAN} cannot be an expert of a batch: nobody is there to answer; use file:PATH")
        for scheme in (FILE, SCRIPT):
            if name.startswith(scheme):
                return f"{scheme}{self._file(name.removeprefix(scheme), word, place)}"
        return name

    def _file(self, name: str, word: str, place: Place) -> Path:
        path = self._folder / _filled(name, word)
        if not path.is_file():
            raise Wrong(place, _missing(path, name))
        return path.resolve()


def is_of_a_provider(model: str) -> bool:
    """Return True if calls of a model go to a provider."""
    from agent.models.choose import NOP

    return not (model.startswith((SCRIPT, REPLAY)) or model in (HUMAN, ORACLE, NOP))


def fork_changes(
    changes: Mapping[str, Any], parents_model: str, runs: Path, batch: str, api_base: str | None
) -> OptionChanges:
    """Return the options in which a fork differs from its parent: those of a spec, and those of this machine.

    The parent's endpoint must not see the requests of another machine, so that of this machine's configuration is used.
    """
    model = str(changes.get("model", parents_model))
    own = {"runs": runs, "batch": batch, "api_base": api_base if is_of_a_provider(model) else None}
    plan = {"plan": Path(changes["plan"])} if "plan" in changes else {}
    return cast(OptionChanges, {**changes, **plan, **own})


def _filled(name: str, word: str) -> Path:
    try:
        return Path(name.replace(TASK, word)).expanduser()
    except RuntimeError as error:
        raise UserError(f"{name}: {error}") from None


def _missing(path: Path, name: str) -> str:
    """Return the reason why a file cannot be used, with the name in the spec if `{task}` was filled in."""
    if path.is_dir():
        return f"{path} is a directory, not a file"
    return f"there is no file {path}" + (f" ({name})" if TASK in name else "")
