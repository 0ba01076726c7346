"""The environment of a trial: leased, started, and recorded.

A `Lease` is an environment and who releases it. A `Workplace` is an open record with an environment that runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from agent.trial.order import Order
from benchmarks.task.task import TaskError
from environments.promises import Promise
from environments.protocol import Environment, EnvironmentLost, EnvironmentUnavailable, ImageUnusable, Started
from environments.reporting import Reporter
from trajectories.record.events import EnvStarted, Warned
from trajectories.writing.recorder import Recorder

MakeEnvironment = Callable[[str | None], Environment]
"""Makes an environment, not yet started; from this image if one is named."""


@dataclass
class Lease:
    """An environment for one trial, and who releases it."""

    environment: Environment
    started: Started | None = None
    """Facts about the environment, once it runs; None if the session has to start it."""
    released_by_session: bool = True
    """False for an environment whose owner goes on using it."""
    make_another: MakeEnvironment | None = None
    """Makes an environment in place of one that is lost; None if it cannot be replaced."""
    continues: str | None = None
    """Id of the trial that handed over the environment, with its processes."""
    prepared: bool = False
    """True if the trial's start puts the task's files into the environment, in place of `start_environment`."""

    def replace(self, image: str | None) -> None:
        """Stop the environment, and lease another one that is not started yet.

        Raises: EnvironmentLost if it cannot be replaced.
        """
        if self.make_another is None:
            raise EnvironmentLost("the environment of this trial cannot be replaced, because somebody else made it")
        self.release()
        self.environment, self.started, self.continues = self.make_another(image), None, None
        self.prepared = False

    def release(self) -> None:
        """Stop the environment, unless its owner does that."""
        if self.released_by_session:
            self.environment.stop()


def lease_for(order: Order, trial: str, reporter: Reporter | None, image: str | None = None) -> Lease:
    """Return a lease of the environment of an order, which can be replaced; in `image` if that is not the order's own.

    `reporter` shows the progress of a pull or a build.
    """

    def make(newer: str | None) -> Environment:
        return order.make_environment(trial, reporter, newer or image)

    return Lease(make(None), make_another=make)


@dataclass(frozen=True)
class Workplace:
    """An open record and the environment that runs for it."""

    order: Order
    recorder: Recorder
    lease: Lease

    @property
    def environment(self) -> Environment:
        """The environment, which may be replaced while the trial runs."""
        return self.lease.environment

    @property
    def started(self) -> Started:
        """Facts about the environment."""
        assert self.lease.started is not None
        return self.lease.started


def start_environment(order: Order, recorder: Recorder, lease: Lease) -> Workplace:
    """Start the environment and put the task's files into it; both are recorded. One that runs is used as it is.

    Raises: EnvironmentFault, TaskError.
    """
    if lease.started is not None:
        if lease.continues is not None:
            recorder.append(_env_started(lease.started, 0.0).model_copy(update={"continues": lease.continues}))
        return Workplace(order, recorder, lease)
    began = time.monotonic()
    started = lease.environment.start()
    recorder.append(_env_started(started, time.monotonic() - began))
    for lowered in started.lowered:
        text = f"{lowered.limit}: {lowered.asked} asked, {lowered.given} given"
        recorder.append(Warned(kind="limit_lowered", text=text))
    if order.task.result == "system" and order.evaluate and Promise.PAUSE not in started.promises:
        raise EnvironmentUnavailable(
            f"{order.task.id} is judged in its container, which has to be paused before that, and this daemon cannot "
            "pause containers; use another one, or --no-evaluate"
        )
    place = Workplace(order, recorder, lease)
    if not lease.prepared:
        put_task_files(place)
    lease.started = started
    if order.evaluate and (missing := order.benchmark.lacking(order.task, lease.environment)):
        where = started.image or started.kind
        text = (
            f"{order.task.id} could not be evaluated: the image {where} has no {' and no '.join(missing)}; add that to "
            "the image, or use --no-evaluate"
        )
        raise ImageUnusable(text) if started.image else TaskError(text)
    return place


def put_task_files(place: Workplace) -> None:
    """Put the files of the task, or of its stage, into the environment; files that cannot be copied are recorded.

    Raises: EnvironmentFault, TaskError, RecordFull.
    """
    for skipped in place.order.benchmark.prepare(place.order.task, place.environment):
        text = f"not copied into the workspace: {skipped.path} ({skipped.why})"
        place.recorder.append(Warned(kind="not_copied", text=text))


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
