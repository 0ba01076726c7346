"""Sources of the contents that an order names: the user's own files, unless a batch keeps them.

An order names a prompt, a plan, a price table, short names of models, scripts and answers. A trial that runs alone
reads them from the user's files. The trials of a batch read what was frozen when the batch was planned, so a worker
needs none of these files. The task is not among them: it comes from its benchmark, and its digest tells if it changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agent.guidance.plans import GivenPlan
    from agent.models.aliases import Alias
    from agent.models.protocol import Model
    from benchmarks.task.task import Task
    from environments.protocol import EnvironmentSpec
    from prompts import Prompt
    from scoring.pricing.tables import PriceTable
    from trajectories.record.interventions import CodeRule


class Sources(Protocol):
    """Contents that an order is made of, by the names that its options have for them, and its checks of the machine."""

    def aliases(self) -> Mapping[str, Alias]:
        """Return the short names of models.

        Raises: ModelUnusable.
        """

    def script(self, path: Path) -> bytes:
        """Return the file of a model that is a script.

        Raises: OSError.
        """

    def answers(self, path: Path) -> bytes:
        """Return a file with answers of an expert.

        Raises: UserError.
        """

    def prompt(self, name: str) -> Prompt:
        """Return a prompt of the model.

        Raises: PromptError.
        """

    def role_prompt(self, name: str) -> Prompt:
        """Return the prompt of a role beside the trial.

        Raises: PromptError.
        """

    def plan(self, typed: Path, runs: Path, rule: CodeRule | None, task: Task) -> GivenPlan:
        """Return a plan.

        Raises: UserError.
        """

    def prices(self, name: str | None) -> PriceTable:
        """Return a price table; None is the default one.

        Raises: UserError, PriceError.
        """

    def check_model(self, model: Model) -> None:
        """Check what can be checked of a model without a call.

        Raises: ModelUnusable.
        """

    def check_environment(self, spec: EnvironmentSpec) -> None:
        """Check that this machine can make an environment.

        Raises: EnvironmentUnavailable, MachineLacks.
        """


class ChecksHere:
    """The base of sources: the machine that asks is the one that is checked."""

    def check_model(self, model: Model) -> None:
        """See `Sources`."""
        model.check()

    def check_environment(self, spec: EnvironmentSpec) -> None:
        """See `Sources`."""
        from environments.choose import make

        make(spec).check()


class UserFiles(ChecksHere):
    """Implements `Sources` with the user's own files and those that come with Retrace."""

    def aliases(self) -> Mapping[str, Alias]:
        """See `Sources`."""
        from agent.models.aliases import load_aliases

        return load_aliases()

    def script(self, path: Path) -> bytes:
        """See `Sources`."""
        return path.read_bytes()

    def answers(self, path: Path) -> bytes:
        """See `Sources`."""
        from agent.option_files import read_data

        return read_data(path, f"--guidance file:{path}")

    def prompt(self, name: str) -> Prompt:
        """See `Sources`."""
        from prompts import load

        return load(name)

    def role_prompt(self, name: str) -> Prompt:
        """See `Sources`."""
        from prompts import load_role

        return load_role(name)

    def plan(self, typed: Path, runs: Path, rule: CodeRule | None, task: Task) -> GivenPlan:
        """See `Sources`."""
        from agent.guidance.plans import given_plan

        return given_plan(typed, runs, rule, task)

    def prices(self, name: str | None) -> PriceTable:
        """See `Sources`."""
        from agent.reports.prices import find_prices

        return find_prices(name)


USER_FILES: Sources = UserFiles()
