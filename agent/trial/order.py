"""An order: all inputs of a trial, resolved and checked. `resolve` makes one."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.loop.instructions import Say
from agent.loop.texts import PromptTexts
from agent.models.protocol import Model
from agent.models.retries import RetryPolicy
from agent.trial.gate import OPEN_GATE, Gate
from agent.trial.options import Options
from agent.trial.sources import USER_FILES, Sources
from benchmarks.task.task import Benchmark, Task
from environments.protocol import Environment, EnvironmentSpec, Started
from environments.reporting import Reporter
from environments.services import Service
from scoring.pricing.tables import PriceTable
from trajectories.record.events import Chain, Limits, Plan, TaskRef, TextRef, TrialStarted

if TYPE_CHECKING:
    from agent.guidance.experts import Expert


@dataclass(frozen=True)
class Order:
    """All inputs of a trial."""

    task: Task
    benchmark: Benchmark
    model: Model
    spec: EnvironmentSpec
    limits: Limits
    texts: PromptTexts
    prompt: TextRef
    prices: PriceTable
    retries: RetryPolicy
    runs: Path
    batch: str
    evaluate: bool
    options: Options
    plan: str | None = None
    plan_ref: Plan | None = None
    expert: Expert | None = None
    """Expert whom the model may ask."""
    prompt_data: bytes = b""
    """The prompt's file, kept with the trial: a resumed trial uses the same templates."""
    budget_usd: float | None = None
    """What is left of a budget that the trial shares with others. Neither recorded nor told to the model."""
    chain: Chain | None = None
    """Chain of turns that the trial begins; `first` is filled in with the trial's name."""
    tests_revealed: bool = False
    sources: Sources = USER_FILES
    """Sources of its contents, and of those of later turns."""
    gate: Gate = OPEN_GATE
    """Gate that its calls and its evaluation pass, and those of later turns."""

    def trial_started(self) -> TrialStarted:
        """Return event 0, without the trial's name, attempt and identity."""
        model = self.model.info
        return TrialStarted(
            trial="",
            identity="",
            task=TaskRef(
                id=self.task.id,
                benchmark=self.task.benchmark,
                digest=self.task.digest,
                title=self.task.title,
                language=self.task.language or None,
                stage=self.task.stage,
            ),
            model=model.ref,
            prompt=self.prompt,
            plan=self.plan_ref,
            guidance=None if self.expert is None else self.expert.guidance,
            limits=self.limits,
            environment=self.spec.kind,
            variant=self.task.variant or None,
            tier=self.task.facts.get("difficulty") or None,
            environment_spec=_spec_json(self.spec),
            versions={**_versions(), **model.versions},
            prices=self.prices.ref(model.ref.name) if model.free is None else None,
            options=self.options.recorded(),
            label=self.options.label,
            turn=None if self.chain is None else 1,
            chain=self.chain,
            tests_revealed=self.tests_revealed,
        )

    @property
    def told_limits(self) -> Limits:
        """Limits that the model is told: a limit on costs means nothing to a model that is free."""
        free = self.model.info.free is not None
        return self.limits.model_copy(update={"cost_usd": None}) if free else self.limits

    @property
    def guidance_inputs(self) -> tuple[bytes, ...]:
        """Contents that are kept with the trial for its expert."""
        return () if self.expert is None else self.expert.inputs

    def opening(self, started: Started) -> list[Say]:
        """Return the messages before the first call."""
        guidance = None if self.expert is None else self.expert.guidance
        return self.texts.opening(
            guidance=guidance,
            instruction=self.task.instruction,
            plan=self.plan,
            action_format=self.model.info.action_format,
            workdir=started.workdir,
            user=started.user,
            network=self.spec.network,
            shell=self.spec.shell,
            limits=self.told_limits,
        )

    def make_environment(self, trial: str, reporter: Reporter | None = None, image: str | None = None) -> Environment:
        """Return the environment of this trial, not yet started, in `image` if that is not the order's own.

        `reporter` shows the progress of a pull or a build.
        """
        from environments.choose import make

        spec = replace(self.spec, labels={**self.spec.labels, "retrace.trial": trial})
        return make(spec if image is None else replace(spec, image=image, build=None), reporter)


def _spec_json(spec: EnvironmentSpec) -> dict[str, Any]:
    """Return the spec as the record holds it: without what only this machine knows."""
    plain = {name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(spec).items()}
    plain["workdir"] = None if spec.workdir is None else str(spec.workdir)
    plain["build"] = (
        None if spec.build is None else {"dockerfile": spec.build.dockerfile, "args": dict(spec.build.args)}
    )
    for private in ("kind", "labels", "keep", "workspace", "member", "services"):
        del plain[private]
    if spec.services:
        plain["services"] = [_service_json(service) for service in spec.services]
    if spec.member.volumes:
        plain["volumes"] = list(spec.member.volumes)
    return plain


def _service_json(service: Service) -> dict[str, Any]:
    """Return a service as the record holds it: without paths of this machine and without the values of variables."""
    return {
        "name": service.name,
        "image": service.image,
        "build": None if service.build is None else {"dockerfile": service.build.dockerfile},
        "command": service.command,
        "env": sorted(service.env),
        "depends_on": dict(service.member.depends_on),
        "mounts": [f"{mount.kind} {mount.target}" for mount in service.member.mounts],
    }


@cache
def _version() -> str:
    """Return the version of Retrace; reading it takes 2 ms."""
    return importlib.metadata.version("retrace-agent")


def _versions() -> dict[str, str]:
    return {
        "retrace": _version(),
        "python": platform.python_version(),
        "system": f"{sys.platform} {platform.release()}",
    }
