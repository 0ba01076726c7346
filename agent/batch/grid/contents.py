"""The contents that the configurations of a grid are made of: read once from the user's files, kept with the batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from agent.guidance.plans import GivenPlan
from agent.models.aliases import Alias
from agent.models.protocol import Model, ModelUnusable
from agent.trial.sources import UserFiles
from benchmarks.task.task import Task
from environments.protocol import EnvironmentSpec, EnvironmentUnavailable, MachineLacks
from prompts import Prompt
from scoring.pricing.tables import PriceTable
from trajectories.record.interventions import CodeRule

Value = TypeVar("Value")


class ReadOnce(UserFiles):
    """The user's files, each read once: a thousand configurations share a few of them. Implements `Sources`."""

    def __init__(self, prices: PriceTable | None = None, *, checks_machine: bool = True) -> None:
        """`prices` replace the user's table: those of a batch that exists already.

        Without `checks_machine` neither keys nor endpoints nor the environment are checked, but names are.
        """
        self._kept: dict[tuple[object, ...], object] = {}
        self._prices = prices
        self._checks_machine = checks_machine

    def aliases(self) -> Mapping[str, Alias]:
        """See `Sources`."""
        return self._aliases

    @cached_property
    def _aliases(self) -> Mapping[str, Alias]:
        return super().aliases()

    def script(self, path: Path) -> bytes:
        """See `Sources`."""
        return self._once(("script", path), lambda: super(ReadOnce, self).script(path))

    def answers(self, path: Path) -> bytes:
        """See `Sources`."""
        return self._once(("answers", path), lambda: super(ReadOnce, self).answers(path))

    def prompt(self, name: str) -> Prompt:
        """See `Sources`."""
        return self._once(("prompt", name), lambda: super(ReadOnce, self).prompt(name))

    def role_prompt(self, name: str) -> Prompt:
        """See `Sources`."""
        return self._once(("role", name), lambda: super(ReadOnce, self).role_prompt(name))

    def plan(self, typed: Path, runs: Path, rule: CodeRule | None, task: Task) -> GivenPlan:
        """See `Sources`."""
        key = ("plan", typed, rule, task.digest)
        return self._once(key, lambda: super(ReadOnce, self).plan(typed, runs, rule, task))

    def prices(self, name: str | None) -> PriceTable:
        """See `Sources`."""
        return self._prices or self._once(("prices", name), lambda: super(ReadOnce, self).prices(name))

    def check_model(self, model: Model) -> None:
        """See `Sources`."""
        ref = model.info.ref
        key = ("model", ref.name, str(model.info.parameters.get("api_base")), json.dumps(ref.settings, sort_keys=True))
        self._check_once(key, lambda: model.check() if self._checks_machine else _check_name(model))

    def check_environment(self, spec: EnvironmentSpec) -> None:
        """See `Sources`."""
        if self._checks_machine:
            self._check_once(("environment", repr(spec)), lambda: super(ReadOnce, self).check_environment(spec))

    def _check_once(self, key: tuple[object, ...], check: Callable[[], None]) -> None:
        """Check, and raise the same error again if that was checked before."""

        def checked() -> Exception | None:
            try:
                check()
            except (ModelUnusable, MachineLacks, EnvironmentUnavailable) as error:
                return error
            return None

        problem = self._once(key, checked)
        if problem is not None:
            raise problem

    def _once(self, key: tuple[object, ...], read: Callable[[], Value]) -> Value:
        if key not in self._kept:
            self._kept[key] = read()
        return self._kept[key]  # type: ignore[return-value]


def _check_name(model: Model) -> None:
    from agent.models.litellm.model import LiteLLMModel

    if isinstance(model, LiteLLMModel):
        model.check_name()
