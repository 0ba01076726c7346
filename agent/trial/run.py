"""One trial from top to bottom: start, work, export, release, evaluate, sum up.

An order (everything was resolved in `order`) and a start (`start`: fresh, fork or resume) become a session (`session`),
in which a worker acts (`worker`; ours is in `agent.loop`). Whatever happens, the record is closed with a reason and the
environment is released, kept for the next turn of a chain (`keeping`), or judged itself (`judging`). Signals are raised
only where work can be cut short: while the environment starts, during a call, the wait for a retry, a command, a
snapshot, the export and the evaluation.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from agent.trial.judging.submitting import Submitted, submit
from agent.trial.judging.verdict import evaluate
from agent.trial.limits import LimitCheck
from agent.trial.order import Order
from agent.trial.outcome import Outcome
from agent.trial.priced import CallPricing
from agent.trial.restoring.recovery import Recovery
from agent.trial.session import LockedRecord, Session, locked_record
from agent.trial.snapshots import Snapshots
from agent.trial.start import Start
from agent.trial.turns.keeping import Keeping
from agent.trial.worker import Worker
from agent.trial.workplace import Lease, start_environment
from benchmarks.task.submission import Live
from benchmarks.task.task import TaskError
from environments.protocol import DiskFull, EnvironmentFault, ImageUnusable
from trajectories.errors import RecordFull
from trajectories.interrupts import interruptible
from trajectories.reading.summary import Summary
from trajectories.record.events import Exited, TrialStarted
from trajectories.record.exits import Exit
from trajectories.record.identity import identity_of
from trajectories.record.interventions import mode_of
from trajectories.writing.claim import claim_directory, stem_of
from trajectories.writing.recorder import Observer, Recorder


def run_new(order: Order, start: Start, worker: Worker, observer: Observer | None = None) -> tuple[Outcome, Summary]:
    """Run a trial in a folder of its own: that of the next free attempt.

    Raises: RecordError if the record cannot be made. Anything later is the trial's exit.
    """
    return run_at(*claimed(order, start), order, start, worker, observer)


def run_at(
    directory: Path,
    first: TrialStarted,
    order: Order,
    start: Start,
    worker: Worker,
    observer: Observer | None = None,
) -> tuple[Outcome, Summary]:
    """Run a trial in a folder that was made for it, whose record begins with event 0 `first`.

    Raises: RecordError if the record cannot be made. Anything later is the trial's exit.
    """
    with locked_record(directory) as record:
        return begin(record, first, order, start, worker, observer)


def claimed(order: Order, start: Start) -> tuple[Path, TrialStarted]:
    """Claim the folder of the next free attempt, and return it with event 0.

    Raises: RecordError if the folder cannot be made.
    """
    first = start.first_event(order)
    directory, attempt = claim_directory(order.runs / order.batch, stem_of(first))
    return directory, named(first, directory.name, attempt)


def named(first: TrialStarted, trial: str, attempt: int) -> TrialStarted:
    """Return event 0 with the trial's name and the number of its attempt, and with what follows from them."""
    mode = mode_of(chain=first.self_corrects, plan=first.plan is not None, guidance=first.guidance is not None)
    first = first.model_copy(update={"trial": trial, "attempt": attempt, "mode": mode})
    if first.chain is not None and first.turn == 1:
        first = first.model_copy(update={"chain": first.chain.model_copy(update={"first": trial})})
    return first.model_copy(update={"identity": identity_of(first)})


def begin(
    record: LockedRecord,
    first: TrialStarted,
    order: Order,
    start: Start,
    worker: Worker,
    observer: Observer | None = None,
    keeping: Keeping | None = None,
) -> tuple[Outcome, Summary]:
    """Begin the record of a new trial with event 0, and run it; `keeping` takes its environment for a turn after it.

    Raises: RecordError if the record cannot be made. Anything later is the trial's exit.
    """
    try:
        with record.recorder(after=None, observer=observer) as recorder:
            for data in (order.prompt_data, (order.plan or "").encode(), *order.guidance_inputs, *start.inputs()):
                recorder.keep(data)  # first: a crash leaves no name without its text
            recorder.append(first)
            outcome = run_trial(order, start, worker, recorder, keeping)
    finally:
        worker.close()
    assert record.summary is not None
    return outcome, record.summary


def run_trial(
    order: Order, start: Start, worker: Worker, recorder: Recorder, keeping: Keeping | None = None
) -> Outcome:
    """Run one trial whose record is open.

    Its environment is released before the evaluation begins, paused if it is kept for the next turn, or handed over to
    the evaluation if the system itself is judged.
    """
    outcome = Outcome(recorder.directory, Exit.of("harness_defect"))
    submitted = Submitted()
    with ExitStack() as releasing:
        lease = work(order, start, worker, recorder, outcome, releasing)
        if lease is not None:
            submitted = submit(order, recorder, lease, outcome, keeping)
        if not isinstance(submitted.left, Live):
            releasing.close()
        if order.evaluate and outcome.came_to_its_end:
            begun = start.evaluations
            evaluate(order.benchmark, order.task, order.spec.kind, recorder, submitted, outcome, begun, order.gate)
            if keeping is not None and order.task.stage is not None and isinstance(submitted.left, Live) and lease:
                keeping.keep(lease, recorder)  # the next stage goes on in the judged system
    return outcome


def work(
    order: Order, start: Start, worker: Worker, recorder: Recorder, outcome: Outcome, releasing: ExitStack
) -> Lease | None:
    """Let the worker act until the trial is over, and record its exit, whatever it is.

    Returns the lease of the environment, which `releasing` releases; None if there was none.
    """
    limits = LimitCheck(order.limits, order.budget_usd)
    lease = None
    try:
        worker.warm_up()
        lease = start.environment(order, recorder.directory.name, recorder)
        releasing.callback(lease.release)
        with interruptible():
            session = open_session(order, start, recorder, lease, limits)
        outcome.exit = worker.work(session)
    except KeyboardInterrupt:
        outcome.exit, outcome.interrupted = Exit.of("interrupted"), True
    except (RecordFull, DiskFull) as error:
        outcome.exit = Exit.of("disk_full", str(error))
    except ImageUnusable as error:
        outcome.exit = Exit.of("image_unusable", str(error))
    except (EnvironmentFault, TaskError) as error:
        outcome.exit = Exit.of("environment_lost", str(error))
    except Exception as error:
        outcome.exit = Exit.of("harness_defect", repr(error))
        raise
    finally:
        # a start that failed has counted nothing yet, and a full disk may end the trial in the middle of a step
        steps = max(start.steps, limits.tally.steps, recorder.steps)
        outcome.steps = steps
        recorder.append(Exited(exit=outcome.exit, steps=steps))
        recorder.sync()
    return lease


def open_session(order: Order, start: Start, recorder: Recorder, lease: Lease, limits: LimitCheck) -> Session:
    """Start the environment, restore the workspace, keep it, and return everything that the worker needs.

    Raises: RecordFull, DiskFull, EnvironmentFault, TaskError.
    """
    place = start_environment(order, recorder, lease)
    lost = start.restore(place)
    every = order.options.checkpoint_every
    snapshots = Snapshots(place.environment, recorder, checkpoint_every=every, after=start.snapshot)
    if start.snapshot is None:
        snapshots.keep_first()
    history = start.catch_up(place, lost)
    return Session(
        order=order,
        recorder=recorder,
        lease=lease,
        limits=limits,
        pricing=CallPricing(order.model.info, order.prices),
        snapshots=snapshots,
        recovery=Recovery(place, limits, snapshots),
        history=history,
        opening=start.opening(place, lost),
    )
