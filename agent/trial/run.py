"""One trial from top to bottom: claim, start, drive, export, evaluate, sum up.

Whatever happens once the trial's directory is made, its record is closed with a reason and its
environment is gone. All choices were made before, in `agent.trial.order`. Signals are let through only
where work can be cut short: in the start, a call, a command, the export, the evaluation.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.loop.drive import Driver
from agent.loop.loop import Loop
from agent.trial.order import Order
from agent.trial.snapshots import Snapshots
from benchmarks.task.task import Benchmark, Task, TaskError
from environments.protocol import DiskFull, Environment, EnvironmentFault, Kind, Started
from trajectories.errors import RecordFull
from trajectories.interrupts import held, interruptible
from trajectories.reading.summary import Summary
from trajectories.record.events import (
    BaseEvent,
    EnvStarted,
    Evaluated,
    EvaluationStarted,
    Exited,
    TrialStarted,
    Warned,
    WorkspaceExported,
)
from trajectories.record.exits import Exit
from trajectories.record.identity import configuration_hash, sha256_of
from trajectories.record.layout import EVALUATION, POOL, WORKSPACE
from trajectories.record.verdict import Verdict
from trajectories.writing.claim import claim_directory
from trajectories.writing.derived import write_conveniences
from trajectories.writing.lock import TrialLock
from trajectories.writing.masking import Masker
from trajectories.writing.recorder import Recorder

INTERRUPTED = "interrupted by the user"


@dataclass
class Outcome:
    """What became of a trial; `interrupted` also where only its export or evaluation was."""

    directory: Path
    exit: Exit
    interrupted: bool = False
    evaluator_failed: bool = False
    """There should be a score and is none."""
    verdict: Verdict | None = None


Begin = Callable[[Order, Recorder, Environment], Driver]
"""Starts a trial's environment and makes its driver."""


def solve(order: Order, observer: Callable[[BaseEvent], None] | None = None) -> tuple[Outcome, Summary]:
    """Run one trial, in the directory of the next free attempt.

    Raises: RecordError if the record cannot be made; whatever comes later is the trial's exit.
    """
    return new_trial(order, order.trial_started(), _begin, observer)


def new_trial(
    order: Order,
    first: TrialStarted,
    begin: Begin,
    observer: Callable[[BaseEvent], None] | None = None,
    *,
    keep: bytes = b"",
) -> tuple[Outcome, Summary]:
    """The same for a first event and a beginning of one's own; `keep` is an input to be kept beside prompt and plan.

    Raises: RecordError.
    """
    configuration = configuration_hash(first)
    batch = order.runs / order.batch
    model = first.model.name if ":" in first.model.asked else first.model.asked
    directory, attempt = claim_directory(batch, order.task.id, model, configuration)
    identity = sha256_of([configuration, attempt])
    first = first.model_copy(update={"trial": directory.name, "attempt": attempt, "identity": identity})
    with held(), TrialLock(directory):
        recorder = Recorder(directory, masker=Masker.from_environment(), pool=batch / POOL, observer=observer)
        try:
            recorder.keep(order.prompt_data)  # first: a crash leaves no name without its text
            recorder.keep((order.plan or "").encode())
            recorder.keep(keep)
            recorder.append(first)
            outcome = work(order, recorder, begin)
        finally:
            recorder.close()
            order.model.close()
        return outcome, write_conveniences(directory)


def work(order: Order, recorder: Recorder, begin: Begin, steps: int = 0) -> Outcome:
    """The trial in its environment, which is gone before the evaluation begins; `begin` starts it after `steps`."""
    warm_up = threading.Thread(target=order.model.warm_up, daemon=True)
    warm_up.start()
    environment = order.make_environment(recorder.directory.name)
    outcome = Outcome(recorder.directory, Exit.of("harness_defect"))
    exported: WorkspaceExported | None = None
    try:
        driver: Driver | None = None
        try:
            with interruptible():
                driver = begin(order, recorder, environment)
                warm_up.join()  # what it takes longer than the start is not the trial's time
            outcome.exit = driver.run()
        except KeyboardInterrupt:
            outcome.exit, outcome.interrupted = Exit.of("interrupted"), True
        except (RecordFull, DiskFull) as error:
            outcome.exit = Exit.of("disk_full", str(error))
        except (EnvironmentFault, TaskError) as error:
            outcome.exit = Exit.of("environment_lost", str(error))
        except Exception as error:
            outcome.exit = Exit.of("harness_defect", repr(error))
            raise
        finally:
            recorder.append(Exited(exit=outcome.exit, steps=driver.steps if driver else steps))
            recorder.sync()
        exported = export(recorder, environment, outcome)
    finally:
        environment.stop()
    if order.evaluate and outcome.exit.reason in ("agent", "limit") and not outcome.interrupted:
        evaluate(order.benchmark, order.task, order.spec.kind, recorder, exported, outcome)
    return outcome


def _begin(order: Order, recorder: Recorder, environment: Environment) -> Driver:
    started = start(order, recorder, environment)
    snapshots = Snapshots(environment, recorder, checkpoint_every=order.options.checkpoint_every)
    snapshots.begin()
    loop = Loop(order.opening(started), order.limits, order.model.info.action_format, order.texts)
    return drive(order, loop, environment, recorder, snapshots)


def drive(order: Order, loop: Loop, environment: Environment, recorder: Recorder, snapshots: Snapshots) -> Driver:
    """The driver of an order's trial."""
    return Driver(
        loop, order.model, environment, recorder, prices=order.prices, retries=order.retries, snapshots=snapshots
    )


def start(order: Order, recorder: Recorder, environment: Environment) -> Started:
    """Start the environment and put the task's files into it; both are recorded.

    Raises: EnvironmentFault, TaskError.
    """
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
    return started


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


def export(recorder: Recorder, environment: Environment, outcome: Outcome) -> WorkspaceExported | None:
    """The workspace as the trial left it; None, and a warning, if it cannot be had."""
    path = recorder.directory / WORKSPACE
    try:
        with interruptible():
            export = environment.export(path)
    except KeyboardInterrupt:
        outcome.interrupted = True
        why = INTERRUPTED
    except (EnvironmentFault, OSError) as error:
        why = str(error)
    else:
        return recorder.append(
            WorkspaceExported(
                path=WORKSPACE,
                bytes=export.bytes,
                sha256=export.sha256,
                entries=export.entries,
                skipped=export.skipped,
            )
        )
    path.unlink(missing_ok=True)
    if outcome.exit.cause != "environment_lost":  # else the exit says why
        recorder.append(Warned(kind="no_workspace", text=f"the workspace was not exported: {why}"))
    return None


def evaluate(
    benchmark: Benchmark,
    task: Task,
    kind: Kind,
    recorder: Recorder,
    exported: WorkspaceExported | None,
    outcome: Outcome,
) -> Evaluated:
    """Score the exported workspace. Never raises: that there is no verdict, and why, is recorded.

    What an earlier evaluation left behind stays where it is: the evaluator may go on from there.
    """
    why_none = "there is no workspace to evaluate"
    if exported is not None:
        recorder.append(EvaluationStarted(evaluator=benchmark.name, workspace_sha256=exported.sha256))
        recorder.sync()
        archive = recorder.directory / exported.path
        outcome.verdict, why_none = verdict_on(benchmark, task, kind, archive, recorder.directory / EVALUATION)
        outcome.interrupted = outcome.interrupted or why_none == INTERRUPTED
    outcome.evaluator_failed = not outcome.interrupted and (
        outcome.verdict is None or outcome.verdict.status == "error"
    )
    return recorder.append(Evaluated(verdict=outcome.verdict, why_none=why_none))


def verdict_on(
    benchmark: Benchmark, task: Task, kind: Kind, archive: Path, scratch: Path
) -> tuple[Verdict | None, str]:
    """The evaluator's verdict on a workspace (tar.zst), or why there is none. Never raises."""
    try:
        scratch.mkdir(exist_ok=True)
        with interruptible():
            return benchmark.evaluate(task, archive, kind, scratch), ""
    except KeyboardInterrupt:
        return None, INTERRUPTED
    except Exception as error:
        return None, f"the evaluator failed: {error!r}"
