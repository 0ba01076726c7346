"""The contents that the configurations of a grid are made of: read once from the user's files, kept with the batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from agent.guidance.plans import GivenPlan
from agent.models.aliases import Alias
from agent.trial.sources import UserFiles
from benchmarks.task.task import Task
from prompts import Prompt
from scoring.pricing.tables import PriceTable
from trajectories.record.interventions import CodeRule

Value = TypeVar("Value")


class ReadOnce(UserFiles):
    """The user's files, each read once: a thousand configurations share a few of them. Implements `Sources`."""

    def __init__(self, prices: PriceTable | None = None) -> None:
        """`prices` replace the user's table: those of a batch that exists already."""
        self._kept: dict[tuple[object, ...], object] = {}
        self._prices = prices

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

    def _once(self, key: tuple[object, ...], read: Callable[[], Value]) -> Value:
        if key not in self._kept:
            self._kept[key] = read()
        return self._kept[key]  # type: ignore[return-value]
