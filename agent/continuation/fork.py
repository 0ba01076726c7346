"""A trial that branches off another one: its messages and its workspace up to a step, then a life of its own.

The child's record is whole by itself: what it inherits is copied into it, and is neither a step of it nor paid for.
Its limits count from the branch point. One that died in its beginning needs its parent once more to go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agent.continuation.recorded_order import kept_text, moved, order_elsewhere, order_of, with_checkpoint
from agent.continuation.restore import rerun_all, restore
from agent.continuation.standing import Standing, standing
from agent.errors import UserError
from agent.loop.drive import Driver
from agent.loop.loop import Loop, Say
from agent.trial.order import Order, text_or_file
from agent.trial.run import Outcome, drive, new_trial, start
from agent.trial.snapshots import Snapshots
from environments.protocol import Environment, Started
from trajectories.reading.family import directory_of_parent
from trajectories.reading.reader import first_event, read_events
from trajectories.reading.steps import until_step
from trajectories.reading.summary import Summary
from trajectories.record.events import (
    ActionStarted,
    BaseEvent,
    CallFinished,
    InheritedReply,
    Message,
    Parent,
    TextRef,
    Warned,
)
from trajectories.record.identity import sha256_of
from trajectories.workspace.states import state_at
from trajectories.workspace.tar_stream import require_contents
from trajectories.writing.recorder import Recorder

Turn = Say | Message | CallFinished | InheritedReply


@dataclass(frozen=True)
class Branch:
    """A fork, resolved and checked, not yet begun."""

    parent: Path
    at: int
    order: Order
    found: Standing
    """The parent as it stood after step `at`."""
    inject: str | None


def prepare(
    parent: Path,
    at: int,
    *,
    inject: str | None = None,
    image: str | None = None,
    workspace: Path | None = None,
    **changes: Any,
) -> Branch:
    """What a fork of `parent` after step `at` begins with; `changes` are options (see `agent.trial.options`).

    `inject` is a hint for the model, or a file with one. `image` and `workspace` are where a parent began whose record
    holds no workspaces: its commands are run again there.

    Raises: UserError, RecordError.
    """
    hint = text_or_file(inject, "--inject")
    if hint is not None and not hint.strip():
        raise UserError(f"--inject {inject!r}: there is nothing in it; give a hint for the model, or leave it out")
    found = _branch_point(parent, at, elsewhere=image is not None or workspace is not None)
    if found.snapshot is None:
        order = order_elsewhere(parent, found, image=image, workspace=workspace, **changes)
        return Branch(parent, at, order, found, hint)
    if image is not None or workspace is not None:
        option = "--image" if image is not None else "--workspace"
        raise UserError(f"{option}: {parent.name} has its own workspaces in its record; leave it out")
    require_contents(state_at(parent, at))
    order = order_of(parent, found.start, kept=True, **changes)
    return Branch(parent, at, order, found, hint)


def _branch_point(parent: Path, at: int, *, elsewhere: bool = False) -> Standing:
    """The parent as it stood after step `at`.

    Raises: UserError, RecordError.
    """
    first_event(parent)
    events = list(read_events(parent))
    steps = sum(isinstance(event, CallFinished) for event in events)
    if not 0 <= at <= steps:
        raise UserError(f"--at {at}: {parent.name} has steps 0 to {steps}")
    found = standing(until_step(events, at))
    if found.snapshot is None and elsewhere:
        return found
    if found.snapshot is None:
        raise UserError(
            f"{parent.name}: its record holds no workspaces (it was imported, or made by an older version); say with "
            "--image or --workspace in what it began, and its commands are run again there"
        )
    if found.snapshot != at or found.rerun:
        raise UserError(f"--at {at}: step {at} of {parent.name} was not finished and kept; choose an earlier one")
    return found


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
    again = branch.found.snapshot is None  # all commands ran: what they installed is there
    order, lost = (branch.order, []) if again else with_checkpoint(branch.order, branch.found)
    return new_trial(order, first, partial(_begin, branch, lost), observer, keep=(inject or "").encode())


def _begin(branch: Branch, lost: list[str], order: Order, recorder: Recorder, environment: Environment) -> Driver:
    found = branch.found
    started = start(order, recorder, environment)
    if found.snapshot is None:
        rerun_all(found, order, environment, recorder)
    else:
        lost = [*lost, *moved(found, started), *restore(environment, state_at(branch.parent, branch.at))]
    for line in lost:
        recorder.append(Warned(kind="not_restored", text=line))
    snapshots = Snapshots(environment, recorder, checkpoint_every=order.options.checkpoint_every)
    snapshots.begin()
    opening = [*_notice(found, order, started), *_own(order, started, branch.inject)]
    loop = Loop(opening, order.limits, order.model.info.action_format, order.texts)
    driver = drive(order, loop, environment, recorder, snapshots)
    driver.inherit(_inheritance(found, order, started))
    return driver


def _notice(found: Standing, order: Order, started: Started) -> list[Say]:
    is_elsewhere = found.snapshot is not None and moved(found, started)
    return [Say("user", order.texts.moved(started.workdir), "notice")] if is_elsewhere else []


def _own(order: Order, started: Started, inject: str | None) -> list[Say]:
    """What a child says first by itself: the plan and the hint that it was given."""
    plan = [say for say in order.opening(started) if say.why == "plan"]
    return plan + ([Say("user", inject, "hint")] if inject else [])


def _inheritance(found: Standing, order: Order, started: Started) -> list[Turn]:
    """The conversation of a parent, under the child's own prompt if that is another one.

    So it is where commands are asked for in another form than the parent was told.
    """
    told = any(isinstance(event, Message) and event.why == "task" for event in found.fed)
    other_format = order.model.info.action_format != _action_format(found)
    asked = found.start.imported is None or order.options.prompt is not None
    other_prompt = not told or other_format or (asked and order.prompt.sha256 != found.start.prompt.sha256)
    turns: list[Turn] = []
    if other_prompt:
        turns += [say for say in order.opening(started) if say.why in ("system", "task")]
    for event in found.fed:
        replaced = other_prompt and isinstance(event, Message) and event.why in ("system", "task")
        if isinstance(event, Message | CallFinished | InheritedReply) and not replaced:
            turns.append(event)
    return turns


def _action_format(found: Standing) -> str:
    """The form of commands that the parent's model was told, as its record shows it."""
    asked = found.start.model.settings.get("action")
    if isinstance(asked, str):
        return asked
    began = next((event for event in found.fed if isinstance(event, ActionStarted)), None)
    return "fenced" if began is not None and began.tool_call_id is None else "tool"


@dataclass(frozen=True)
class Beginning:
    """What a trial that goes on has still to do of its beginning. Of most trials: nothing but to say the opening."""

    found: Standing
    hint: str | None = None
    """Of a fork, where it may not have been said."""
    parent: Path | None = None
    branch_point: Standing | None = None
    """Of a fork that died before it had inherited everything: the parent where it branched off."""

    def restore(self, environment: Environment) -> list[str]:
        """The workspace of a fork that has no snapshot yet; one line for each path that stays otherwise."""
        if self.parent is None or self.found.start.parent is None:
            return []
        return restore(environment, state_at(self.parent, self.found.start.parent.step))

    def opening(self, order: Order, started: Started) -> list[Say]:
        """What is said before the first call, with what was said of it already."""
        if self.found.start.parent is None:
            return order.opening(started)
        if self.found.called:
            return []
        own = _own(order, started, self.hint)
        if self.branch_point is not None:
            return [*_notice(self.branch_point, order, started), *own]
        said = [Say(one.role, one.content, one.why) for one in self.found.said]
        return said + [say for say in own if say.why not in {one.why for one in said}]

    def left_to_inherit(self, order: Order, started: Started) -> list[Turn]:
        """What of the parent's conversation is not yet in the record."""
        if self.branch_point is None:
            return []
        done = sum(isinstance(event, Message | InheritedReply) for event in self.found.fed)
        return _inheritance(self.branch_point, order, started)[done:]


def beginning_of(trial: Path, found: Standing) -> Beginning:
    """What is left of a trial's beginning.

    Raises: UserError if a fork died in it and its parent or its hint is gone; RecordError if that cannot be read.
    """
    parent, injected = found.start.parent, found.start.injected
    if parent is None or found.called:
        return Beginning(found)
    hint = None if injected is None else kept_text(trial, injected)
    if injected is not None and hint is None:
        raise UserError(f"{trial.name} died before its first call, and its record does not hold its hint; fork again")
    text = None if hint is None else hint.decode()
    if found.said and found.snapshot is not None:
        return Beginning(found, text)
    directory = directory_of_parent(trial, parent)
    if directory is None:
        raise UserError(f"{trial.name} died before its first call, and its parent {parent.trial} is not beside it")
    return Beginning(found, text, directory, _branch_point(directory, parent.step))
