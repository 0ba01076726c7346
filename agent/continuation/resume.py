"""A trial goes on after its harness died, was interrupted, or lost its environment.

The workspace is rebuilt in a fresh environment from the last snapshot; commands that finished after it are run again;
then the same loop takes in the same events and goes on. Nothing is rendered, paid for or counted twice, and the time
in between counts for nothing. What a copy of files cannot bring back is recorded, and the model is told in one line.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from agent.continuation.fork import Beginning, beginning_of
from agent.continuation.recorded_order import as_it_was, moved, order_of, with_checkpoint
from agent.continuation.restore import rerun_all, restore
from agent.continuation.standing import Standing, standing
from agent.loop.drive import Driver
from agent.loop.loop import Loop, Say
from agent.reports.prices import other_prices
from agent.trial.order import Order
from agent.trial.run import Outcome, drive, evaluate, export, start, work
from agent.trial.snapshots import Snapshots
from environments.protocol import Environment, EnvironmentFault
from trajectories.interrupts import held, interruptible
from trajectories.reading.reader import first_event, read_events
from trajectories.reading.summary import Summary, summarize
from trajectories.record.events import BaseEvent, CallFinished, Paused, Resumed, Warned
from trajectories.record.layout import POOL
from trajectories.workspace.states import state_at
from trajectories.workspace.tar_stream import require_contents
from trajectories.writing.derived import write_conveniences
from trajectories.writing.lock import TrialLock
from trajectories.writing.masking import MASK, Masker
from trajectories.writing.recorder import Recorder

Watch = Callable[[Order, list[BaseEvent]], AbstractContextManager[Callable[[BaseEvent], None]]]
"""Gives, for an order and what was recorded of it, an observer of what is recorded further."""


def resume(directory: Path, watch: Watch, **changes: Any) -> tuple[Outcome | None, Summary]:
    """Go on with a trial; the outcome is None if it was finished already. `changes` are options (api_base, keep).

    Raises: UserError, RecordError, TrialInUse.
    """
    with held(), TrialLock(directory):
        first_event(directory)
        events = list(read_events(directory))
        found = standing(events)
        if found.finished and (found.evaluated is not None and found.evaluated.verdict is not None):
            return None, summarize(directory, events)
        if found.snapshot is not None and not found.finished:
            require_contents(state_at(directory, found.snapshot))
        beginning = beginning_of(directory, found)
        kept = found.snapshot is not None or beginning.branch_point is not None
        order = order_of(directory, found.start, kept=kept, **changes)
        order = as_it_was(directory, order, found.start)
        if found.finished and not order.evaluate and found.exported is not None:
            return None, summarize(directory, events)
        with watch(order, list(events)) as observer:
            recorder = Recorder(
                directory,
                masker=Masker.from_environment(),
                pool=directory.parent / POOL,
                observer=observer,
                after=found.last,
            )
            try:
                if found.finished:
                    outcome = _finish(order, recorder, found)
                else:
                    found.fed.append(recorder.append(Paused(why="down")))
                    order, lost = with_checkpoint(order, beginning.branch_point or found)
                    outcome = work(order, recorder, partial(_go_on, found, beginning, lost), found.steps)
            finally:
                recorder.close()
                order.model.close()
        return outcome, write_conveniences(directory)


def _go_on(
    found: Standing,
    beginning: Beginning,
    outside: list[str],
    order: Order,
    recorder: Recorder,
    environment: Environment,
) -> Driver:
    started = start(order, recorder, environment)
    every = order.options.checkpoint_every
    if order.model.info.free is None and (line := other_prices(order.prices, found.start.prices)):
        recorder.append(Warned(kind="other_prices", text=line))
    lost = [*_lost(found), *outside, *moved(found, started)]
    if found.snapshot is None:
        lost += beginning.restore(environment)
        snapshots = Snapshots(environment, recorder, checkpoint_every=every)
        snapshots.begin()
    else:
        lost += restore(environment, state_at(recorder.directory, found.snapshot))
        snapshots = Snapshots(environment, recorder, checkpoint_every=every, after=found.snapshot)
    rerun_all(found, order, environment, recorder)
    rerun = tuple(began.action for began, _ in found.rerun)
    resumed = recorder.append(Resumed(lost=tuple(lost), restored_step=found.snapshot, rerun=rerun))
    loop = Loop(beginning.opening(order, started), order.limits, order.model.info.action_format, order.texts)
    driver = drive(order, loop, environment, recorder, snapshots)
    driver.take_in([*found.fed, resumed])
    driver.inherit(beginning.left_to_inherit(order, started))
    if found.call is not None:
        driver.call_was_lost(found.call)
    if found.steps or (beginning.branch_point is None and moved(found, started)):
        driver.say(Say("user", order.texts.resumed(tuple(lost)), "notice"))
    return driver


def _lost(found: Standing) -> list[str]:
    """Live state that a copy of files cannot bring back."""
    lost = [f"background processes of {action}: {count}" for action, count in found.left_running.items() if found.steps]
    if found.steps and found.start.environment_spec.get("shell") == "persistent":
        lost.append("the shell's directory, variables and functions")
    reply = next((event for event in reversed(found.fed) if isinstance(event, CallFinished)), None)
    if reply is not None and reply.step != found.snapshot and MASK in reply.reply.model_dump_json():
        lost.append(f"the secrets in the commands of step {reply.step} (the record holds them masked)")
    return lost


def _finish(order: Order, recorder: Recorder, found: Standing) -> Outcome:
    """The loop had ended: what is missing of export and evaluation."""
    assert found.exit is not None
    outcome = Outcome(recorder.directory, found.exit.exit)
    exported = found.exported
    if exported is None or not (recorder.directory / exported.path).is_file():
        environment = order.make_environment(recorder.directory.name)
        try:
            with interruptible():
                start(order, recorder, environment)
                if found.snapshot is not None:
                    restore(environment, state_at(recorder.directory, found.snapshot))
            exported = export(recorder, environment, outcome)
        except KeyboardInterrupt:
            outcome.interrupted = True
        except EnvironmentFault as error:
            recorder.append(Warned(kind="no_workspace", text=f"the workspace was not exported: {error}"))
        finally:
            environment.stop()
    if order.evaluate and not outcome.interrupted:
        evaluate(order.benchmark, order.task, order.spec.kind, recorder, exported, outcome)
    return outcome
