"""ProgramBench behind our protocol: which task an instance is, how its container begins, who scores it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.programbench import instances
from benchmarks.task import Named, Task, TaskError
from environments.protocol import Environment, Kind
from trajectories.events import Skipped
from trajectories.verdict import Verdict

NAME = "programbench"


class ProgramBench:
    """The benchmark's adapter."""

    name = NAME

    def ids(self) -> Iterable[str]:
        """The 200 instances' ids, and those of one's own."""
        return instances.ids()

    def named(self, word: str) -> Named:
        """Helper A writes this."""
        raise NotImplementedError

    def load(self, id: str) -> Task:
        """Helper A writes this."""
        raise NotImplementedError

    def vary(self, task: Task, variants: tuple[str, ...]) -> Task:
        """Helper A writes this."""
        raise NotImplementedError

    def prepare(self, task: Task, environment: Environment) -> tuple[Skipped, ...]:
        """Helper A writes this."""
        raise NotImplementedError

    def evaluate(self, task: Task, workspace: Path, kind: Kind, scratch: Path) -> Verdict:
        """Score an exported workspace with the official evaluator; see `official.evaluate`."""
        from benchmarks.programbench import official

        if kind != "docker":
            raise TaskError(f"{task.id} is evaluated in docker only, not in {kind}")
        return official.evaluate(instances.instance(task.id.partition("/")[2]), workspace, scratch)
