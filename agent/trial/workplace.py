"""The environment of a trial: leased, started, and recorded.

A `Lease` is an environment and who releases it. A `Workplace` is an open record with an environment that runs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from agent.trial.order import Order
from environments.protocol import Environment, Started
from trajectories.record.events import EnvStarted, Warned
from trajectories.writing.recorder import Recorder


@dataclass(frozen=True)
class Lease:
    """An environment for one trial, and who releases it."""

    environment: Environment
    started: Started | None = None
    """Facts about an environment that runs already; None if the session has to start it."""
    released_by_session: bool = True
    """False for an environment whose owner goes on using it."""

    def release(self) -> None:
        """Stop the environment, unless its owner does that."""
        if self.released_by_session:
            self.environment.stop()


@dataclass(frozen=True)
class Workplace:
    """An open record and the environment that runs for it."""

    order: Order
    recorder: Recorder
    environment: Environment
    started: Started


def start_environment(order: Order, recorder: Recorder, lease: Lease) -> Workplace:
    """Start the environment and put the task's files into it; both are recorded. One that runs is used as it is.

    Raises: EnvironmentFault, TaskError.
    """
    if lease.started is not None:
        return Workplace(order, recorder, lease.environment, lease.started)
    began = time.monotonic()
    started = lease.environment.start()
    recorder.append(_env_started(started, time.monotonic() - began))
    for lowered in started.lowered:
        text = f"{lowered.limit}: {lowered.asked} asked, {lowered.given} given"
        recorder.append(Warned(kind="limit_lowered", text=text))
    for skipped in order.benchmark.prepare(order.task, lease.environment):
        text = f"not copied into the workspace: {skipped.path} ({skipped.why})"
        recorder.append(Warned(kind="not_copied", text=text))
    return Workplace(order, recorder, lease.environment, started)


def _env_started(started: Started, seconds: float) -> EnvStarted:
    return EnvStarted(
        kind=started.kind,
        container=started.container,
        image=started.image,
        image_digest=started.image_digest,
        user=started.user,
        workdir=started.workdir,
        promises=tuple(started.promises),
        lost=started.lost,
        lowered=started.lowered,
        versions=dict(started.versions),
        seconds=seconds,
    )
