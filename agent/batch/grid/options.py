"""The options of `agent solve` that a task, a model and an arm of a spec stand for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.batch.grid.spec import Arm, ModelEntry, Spec
from agent.batch.grid.tasks import FoundTask
from agent.errors import UserError
from agent.models.choose import HUMAN, ORACLE, REPLAY, SCRIPT
from agent.trial.options import Options
from benchmarks.task.registry import PATH
from trajectories.yaml_mistakes import Place

TASK = "{task}"
"""Stands for the last part of a task's name in names of files."""
FILE = "file:"
_INTERVENTIONS = ("self_correct", "guidance", "plan")


@dataclass(frozen=True)
class Wrong(Exception):
    """An option that cannot be used."""

    place: Place
    reason: str


@dataclass(frozen=True)
class Combination:
    """A task, a model and an arm."""

    found: FoundTask
    model: ModelEntry
    arm: Arm

    def __str__(self) -> str:
        return f"{self.found.task.id}, {self.model.name}, {self.arm.name}"


class OptionsOf:
    """Makes options of combinations; names of files are relative to the folder of the spec."""

    def __init__(self, spec: Spec, runs: Path, api_base: str | None) -> None:
        self._spec = spec
        self._folder = spec.path.parent
        self._runs = runs
        self._api_base = api_base

    def __call__(self, combination: Combination) -> Options:
        """Return the options of a combination.

        Raises: Wrong.
        """
        found, entry, arm = combination.found, combination.model, combination.arm
        word = found.last_part
        model = self._model(entry.name, word, entry.place)
        self._check_oracle(model, arm)
        given: dict[str, Any] = dict(arm.options)
        settings = {**entry.settings, **given.pop("model_settings", {})}
        limits = self._spec.limits
        options = Options(
            model=model,
            task=str(found.task.directory) if found.task.benchmark == PATH else found.task.id,
            env=self._spec.env or found.task.kinds[0],
            prices=self._spec.prices,
            runs=self._runs,
            batch=self._spec.name,
            model_settings=settings,
            api_base=self._api_base if is_of_a_provider(model) else None,
            step_limit=limits.steps,
            time_limit_s=limits.time_s,
            token_limit=limits.tokens,
            cost_limit_usd=limits.cost_usd,
            command_timeout_s=limits.command_s,
        )
        if "plan" in given:
            given["plan"] = self._plan(given["plan"], word, (*arm.place, "plan"))
        if "prompt" in given:
            given["prompt"] = self._prompt(given["prompt"], word, (*arm.place, "prompt"))
        if "guidance" in given:
            given["guidance"] = self._expert(given["guidance"], word, (*arm.place, "guidance"))
        return replace(options, **given)

    def _model(self, name: str, word: str, place: Place) -> str:
        if name == HUMAN or name.startswith(REPLAY):
            raise Wrong(place, f"{name} cannot be a model of a batch: nobody is there to type, or the trial exists")
        if name.startswith(SCRIPT):
            return f"{SCRIPT}{self._file(name.removeprefix(SCRIPT), word, place)}"
        return name

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
