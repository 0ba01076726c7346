"""One trial from top to bottom: claim, start, drive, export, evaluate, sum up.

Whatever happens once the trial's directory is made, its record is closed with a reason and its
environment is gone. All choices were made before, in `agent.order`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.drive import Driver
from agent.loop import Loop
from agent.order import Order
from environments.protocol import DiskFull, Environment, EnvironmentFault, Started
from trajectories.conveniences import write_conveniences
from trajectories.errors import RecordFull
from trajectories.events import (
    BaseEvent,
    EnvStarted,
    Evaluated,
    EvaluationStarted,
    Exited,
    Warned,
    WorkspaceExported,
)
from trajectories.exits import Exit
from trajectories.identity import claim_directory, configuration_hash, sha256_of
from trajectories.lock import TrialLock
from trajectories.masking import Masker
from trajectories.recorder import Recorder
from trajectories.summary import Summary
from trajectories.verdict import Verdict

WORKSPACE = "workspace.tar.zst"
EVALUATION = "evaluation"
"""Folder of a trial with what its evaluator left behind: logs, raw results."""


@dataclass(frozen=True)
class Outcome:
    """A closed trial; `interrupted` also where only its evaluation was."""

    directory: Path
    exit: Exit
    interrupted: bool
    verdict: Verdict | None
    summary: Summary

    @property
    def evaluator_failed(self) -> bool:
        """Whether there should be a score and is none."""
        return self.verdict is not None and self.verdict.status == "error"


def solve(order: Order, observer: Callable[[BaseEvent], None] | None = None) -> Outcome:
    """Run one trial, in the directory of the next free attempt.

    Raises: RecordError if the record cannot be made; whatever comes later is the trial's exit.
    """
    start = order.trial_started()
    configuration = configuration_hash(start)
    batch = order.runs / order.batch
    model = order.model.info.ref
    name = model.name if ":" in model.asked else model.asked
    directory, attempt = claim_directory(batch, order.task.id, name, configuration)
    identity = sha256_of([configuration, attempt])
    start = start.model_copy(update={"trial": directory.name, "attempt": attempt, "identity": identity})
    with TrialLock(directory):
        recorder = Recorder(directory, masker=Masker.from_environment(), pool=batch / ".pool", observer=observer)
        try:
            recorder.append(start)
            threading.Thread(target=order.model.warm_up, daemon=True).start()
            exit, exported = _work(order, recorder)
            interrupted = exit.cause == "interrupted"
            verdict = None
            if exported is not None and order.evaluate and exit.reason in ("agent", "limit"):
                verdict = _evaluate(order, recorder, exported)
                interrupted = verdict is None
        finally:
            recorder.close()
            order.model.close()
        return Outcome(directory, exit, interrupted, verdict, write_conveniences(directory))


def _work(order: Order, recorder: Recorder) -> tuple[Exit, WorkspaceExported | None]:
    """Everything that happens in the task's environment, which is gone afterwards."""
    environment = order.make_environment(recorder.directory.name)
    steps = 0

    def finish(exit: Exit) -> Exit:
        recorder.append(Exited(exit=exit, steps=steps))
        recorder.sync()
        return exit

    try:
        try:
            loop = _start(order, recorder, environment)
            driver = Driver(loop, order.model, environment, recorder, prices=order.prices, retries=order.retries)
            try:
                exit = driver.run()
            finally:
                steps = loop.tally.steps
        except KeyboardInterrupt:
            exit = Exit.of("interrupted")
        except (RecordFull, DiskFull) as error:
            exit = Exit.of("disk_full", str(error))
        except EnvironmentFault as error:
            exit = Exit.of("environment_lost", str(error))
        except BaseException as error:
            finish(Exit.of("environment_lost", f"a defect of the harness: {error!r}"))
            raise
        finish(exit)
        return exit, _export(recorder, environment)
    finally:
        environment.stop()


def _start(order: Order, recorder: Recorder, environment: Environment) -> Loop:
    began = time.monotonic()
    started = environment.start()
    recorder.append(_env_started(started, time.monotonic() - began))
    for lowered in started.lowered:
        text = f"{lowered.limit}: {lowered.asked} asked, {lowered.given} given"
        recorder.append(Warned(kind="limit_lowered", text=text))
    for skipped in order.benchmark.prepare(order.task, environment):
        recorder.append(
            Warned(kind="not_copied", text=f"not copied into the workspace: {skipped.path} ({skipped.why})")
        )
    return Loop(order.opening(started), order.limits, order.model.info.action_format, order.texts)


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


def _export(recorder: Recorder, environment: Environment) -> WorkspaceExported | None:
    """The workspace as the trial left it; None, and a warning, if it cannot be had."""
    path = recorder.directory / WORKSPACE
    try:
        export = environment.export(path)
        return recorder.append(
            WorkspaceExported(
                path=WORKSPACE,
                bytes=export.bytes,
                sha256=export.sha256,
                entries=export.entries,
                skipped=export.skipped,
            )
        )
    except (EnvironmentFault, OSError, KeyboardInterrupt) as error:
        path.unlink(missing_ok=True)
        recorder.append(Warned(kind="no_workspace", text=f"the workspace was not exported: {error or 'interrupted'}"))
        return None


def _evaluate(order: Order, recorder: Recorder, exported: WorkspaceExported) -> Verdict | None:
    """Score the exported workspace; None if the user interrupted it."""
    recorder.append(EvaluationStarted(evaluator=order.benchmark.name, workspace_sha256=exported.sha256))
    recorder.sync()
    scratch = recorder.directory / EVALUATION
    scratch.mkdir(exist_ok=True)
    try:
        verdict = order.benchmark.evaluate(order.task, recorder.directory / exported.path, order.spec.kind, scratch)
    except KeyboardInterrupt:
        recorder.append(Evaluated(verdict=None, why_none="interrupted by the user"))
        return None
    recorder.append(Evaluated(verdict=verdict))
    return verdict
