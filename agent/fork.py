"""A trial that branches off another one: its messages and its workspace up to a step, then a life of its own.

The child's record is whole by itself: what it inherits is copied into it, and is neither a step of it nor paid for.
Its limits count from the branch point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agent.beginnings import order_of, with_checkpoint
from agent.drive import Driver
from agent.errors import UserError
from agent.loop import Loop, Say
from agent.order import Order, text_or_file
from agent.recorded import Standing, standing
from agent.restore import restore
from agent.resume import moved
from agent.snapshots import Snapshots
from agent.solve import Outcome, drive, new_trial, start
from environments.protocol import Environment
from trajectories.events import BaseEvent, CallFinished, InheritedReply, Message, Parent, TextRef, Warned
from trajectories.identity import sha256_of
from trajectories.reader import first_event, read_events
from trajectories.recorder import Recorder
from trajectories.restore import require_contents
from trajectories.states import state_at
from trajectories.steps import until_step
from trajectories.summary import Summary


@dataclass(frozen=True)
class Branch:
    """A fork, resolved and checked, not yet begun."""

    parent: Path
    at: int
    order: Order
    found: Standing
    """The parent as it stood after step `at`."""
    inject: str | None


def prepare(parent: Path, at: int, *, inject: str | None = None, **changes: Any) -> Branch:
    """What a fork of `parent` after step `at` begins with; `changes` are options (see `agent.options`).

    `inject` is a hint for the model, or a file with one.

    Raises: UserError, RecordError.
    """
    first_event(parent)
    events = list(read_events(parent))
    steps = sum(isinstance(event, CallFinished) for event in events)
    if not 0 <= at <= steps:
        raise UserError(f"--at {at}: {parent.name} has steps 0 to {steps}")
    found = standing(until_step(events, at))
    hint = text_or_file(inject, "--inject")
    if hint is not None and not hint.strip():
        raise UserError(f"--inject {inject!r}: there is nothing in it; give a hint for the model, or leave it out")
    if found.snapshot is None and at:
        raise UserError(
            f"{parent.name}: its record holds no workspaces (it was imported, or made by an older version), so that "
            "nothing can go on from a step of it; agent replay runs its commands again"
        )
    if found.snapshot != at or found.rerun:
        raise UserError(f"--at {at}: step {at} of {parent.name} was not finished and kept; choose an earlier one")
    if found.snapshot is not None:
        require_contents(state_at(parent, at))
    order = order_of(parent, found.start, kept=True, **changes)
    return Branch(parent, at, order, found, hint)


def fork(branch: Branch, observer: Callable[[BaseEvent], None] | None = None) -> tuple[Outcome, Summary]:
    """Run the child in a directory of its own.

    Raises: RecordError.
    """
    inject = branch.inject
    first = branch.order.trial_started().model_copy(
        update={
            "parent": Parent(trial=branch.found.start.trial or branch.parent.name, step=branch.at),
            "injected": None if inject is None else TextRef(name="--inject", sha256=sha256_of(inject)),
        }
    )
    order, lost = with_checkpoint(branch.order, branch.found)
    return new_trial(order, first, partial(_begin, branch, lost), observer)


def _begin(branch: Branch, lost: list[str], order: Order, recorder: Recorder, environment: Environment) -> Driver:
    found = branch.found
    started = start(order, recorder, environment)
    new_path = moved(found, started)
    for line in [*lost, *new_path, *restore(environment, state_at(branch.parent, branch.at))]:
        recorder.append(Warned(kind="not_restored", text=line))
    snapshots = Snapshots(environment, recorder, checkpoint_every=order.options.checkpoint_every)
    snapshots.begin()
    told = any(isinstance(event, Message) and event.why == "task" for event in found.fed)
    other_prompt = not told or order.prompt.sha256 != found.start.prompt.sha256
    opening = order.opening(started)
    plan = [say for say in opening if say.why == "plan"]
    hint = [Say("user", branch.inject, "hint")] if branch.inject else []
    notice = [Say("user", order.texts.moved(started.workdir), "notice")] if new_path else []
    loop = Loop([*notice, *plan, *hint], order.limits, order.model.info.action_format, order.texts)
    driver = drive(order, loop, environment, recorder, snapshots)
    if other_prompt:
        driver.inherit([say for say in opening if say.why in ("system", "task")])
    driver.inherit(
        [
            event
            for event in found.fed
            if isinstance(event, Message | CallFinished | InheritedReply)
            and not (other_prompt and isinstance(event, Message) and event.why in ("system", "task"))
        ]
    )
    return driver
