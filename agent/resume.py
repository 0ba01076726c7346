"""A trial goes on after its harness died, was interrupted, or lost its environment.

The workspace is rebuilt in a fresh environment from the last snapshot; commands that finished after it are run again;
then the same loop takes in the same events and goes on. Nothing is rendered, paid for or counted twice, and the time
in between counts for nothing. What a copy of files cannot bring back is recorded, and the model is told in one line.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agent.drive import Driver
from agent.errors import UserError
from agent.loop import Loop, Say
from agent.options import Options
from agent.order import Order, resolve
from agent.recorded import Standing, standing
from agent.restore import restore
from agent.snapshots import Snapshots
from agent.solve import POOL, Outcome, drive, evaluate, export, start, work
from benchmarks.adhoc import NAME as ADHOC
from environments.protocol import Environment, EnvironmentFault
from prompts import Prompt, parse
from trajectories.conveniences import write_conveniences
from trajectories.errors import RecordError
from trajectories.events import (
    ActionFinished,
    ActionStarted,
    BaseEvent,
    Paused,
    Resumed,
    TextRef,
    TrialStarted,
    Warned,
)
from trajectories.interrupts import held, interruptible
from trajectories.lock import TrialLock
from trajectories.masking import Masker
from trajectories.reader import read_events
from trajectories.recorder import Recorder
from trajectories.states import state_at
from trajectories.store import BlobStore
from trajectories.summary import Summary, summarize

Watch = Callable[[Order, list[BaseEvent]], AbstractContextManager[Callable[[BaseEvent], None]]]
"""Gives, for an order and what was recorded of it, an observer of what is recorded further."""


def resume(directory: Path, watch: Watch, **changes: Any) -> tuple[Outcome | None, Summary]:
    """Go on with a trial; the outcome is None if it was finished already. `changes` are options (api_base, keep).

    Raises: UserError, RecordError, TrialInUse.
    """
    with held(), TrialLock(directory):
        events = list(read_events(directory))
        found = standing(events)
        if found.finished and (found.evaluated is not None and found.evaluated.verdict is not None):
            return None, summarize(directory, events)
        order = _same_model(directory, order_of(directory, found.start, **changes), found.start)
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
                    recorder.append(Paused(why="down"))
                    outcome = work(order, recorder, partial(_go_on, found))
            finally:
                recorder.close()
                order.model.close()
        return outcome, write_conveniences(directory)


def order_of(directory: Path, first: TrialStarted, *, same_task: bool = True, **changes: Any) -> Order:
    """The order that a recorded trial came from; `changes` are options that are asked for anew.

    `same_task`: whether a task whose content has changed since is refused.

    Raises: UserError where it cannot be had again (a task that changed, a script that is gone).
    """
    if first.imported is not None and "model" not in first.options:
        raise UserError(f"{directory.name} was imported: its file does not say what a trial needs to go on")
    options = first.options or {"task": first.task.id, "model": first.model.asked}
    if not options.get("instruction") and first.task.benchmark == ADHOC:
        raise UserError(f"{directory.name}: its record does not say in what it ran: give --image or --workspace")
    given = {"env": first.environment, "runs": directory.parent.parent, "batch": directory.parent.name, **changes}
    blobs = BlobStore(directory / "blobs")
    order = resolve(Options.of(options, **given), None if given.get("prompt") else _prompt(first.prompt, blobs))
    if same_task and order.task.digest != first.task.digest:
        raise UserError(
            f"the task {first.task.id} is not what it was (its content was {first.task.digest[:12]}, now it is "
            f"{order.task.digest[:12]}); put back what it was, or start anew with agent solve"
        )
    return order


def _prompt(ref: TextRef, blobs: BlobStore) -> Prompt | None:
    """The very prompt that a trial began with, where it was kept."""
    try:
        return parse(ref.name, blobs.get(ref.sha256))
    except RecordError:
        return None


def _same_model(directory: Path, order: Order, first: TrialStarted) -> Order:
    if (order.model.info.ref.name, order.model.info.ref.settings) != (first.model.name, first.model.settings):
        raise UserError(
            f"{directory.name}: the model {first.model.asked} is not what it was (its settings or its file changed); "
            "put it back, or branch off with agent fork"
        )
    return replace(order, plan_ref=first.plan, limits=first.limits)


def _go_on(found: Standing, order: Order, recorder: Recorder, environment: Environment) -> Driver:
    started = start(order, recorder, environment)
    every = order.options.checkpoint_every
    lost = _lost(found)
    if found.snapshot is None:
        snapshots = Snapshots(environment, recorder, checkpoint_every=every)
        snapshots.begin()
    else:
        lost += restore(environment, state_at(recorder.directory, found.snapshot))
        snapshots = Snapshots(environment, recorder, checkpoint_every=every, after=found.snapshot)
    for began, finished in found.rerun:
        _rerun(order, recorder, environment, began, finished)
    rerun = tuple(began.action for began, _ in found.rerun)
    recorder.append(Resumed(lost=tuple(lost), restored_step=found.snapshot, rerun=rerun))
    loop = Loop(order.opening(started), order.limits, order.model.info.action_format, order.texts)
    driver = drive(order, loop, environment, recorder, snapshots)
    driver.take_in(found.fed)
    if found.call is not None:
        driver.call_was_lost(found.call)
    if found.steps:
        driver.say(Say("user", order.texts.resumed(tuple(lost)), "notice"))
    return driver


def _rerun(
    order: Order, recorder: Recorder, environment: Environment, began: ActionStarted, finished: ActionFinished
) -> None:
    """A finished command once more, for what it did to the workspace; what the model saw stays as it was."""
    done = environment.execute(began.script, deadline_s=began.deadline_s or order.limits.command_s)
    now, then = (done.ended, done.exit_code, done.signal), (finished.ended, finished.exit_code, finished.signal)
    if now != then:
        text = f"{began.action} was run again to rebuild the workspace and ended otherwise: {now}, then {then}"
        recorder.append(Warned(kind="rerun_differs", text=text))


def _lost(found: Standing) -> list[str]:
    """What a copy of the workspace cannot bring back."""
    lost = [f"background processes of {action}: {count}" for action, count in found.left_running.items() if found.steps]
    if found.steps and found.checkpoint is None:
        lost.append("files outside of the workspace")
    if found.steps and found.start.environment_spec.get("shell") == "persistent":
        lost.append("the shell's directory, variables and functions")
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
        evaluate(order, recorder, exported, outcome)
    return outcome
