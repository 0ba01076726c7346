"""A trial that branches off another one: the parent's messages and workspace up to a step, then its own way.

The child's record is whole by itself: what it inherits is copied into it, and is neither a step of it nor paid for.
Its limits count from the branch point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

from agent.continuation.inheritance import gave_plan, inheritance, notice_of_branch, own_opening
from agent.continuation.recorded_order import kept_text, order_elsewhere, order_of, recorded_settings
from agent.errors import UserError
from agent.loop.instructions import Say
from agent.trial.options import OptionChanges
from agent.trial.order import Order
from agent.trial.resolve import text_or_file
from agent.trial.restoring.checkpoints import CheckpointImage, checkpoint_image, require_system
from agent.trial.restoring.feedback import copy_feedback, put_feedback
from agent.trial.restoring.losses import losses_of_earlier_turns, lost_live_state, moved
from agent.trial.restoring.restore import rerun, restore
from agent.trial.restoring.standing import Standing, standing_of
from agent.trial.sources import USER_FILES, Sources
from agent.trial.start import Opening, Turn
from agent.trial.workplace import Lease, Workplace, lease_for
from environments.reporting import Reporter
from trajectories.reading.reader import first_event, read_events
from trajectories.reading.steps.events import until_step
from trajectories.record.events import BaseEvent, CallFinished, Feedback, Parent, TextRef, TrialStarted, Warned
from trajectories.record.identity import sha256_of
from trajectories.workspace.states import state_at
from trajectories.workspace.tar_stream import require_contents


@dataclass(frozen=True)
class Fork:
    """Implements `Start` for a trial that begins after a step of another one."""

    parent: Path
    step: int
    standing: Standing
    """The parent as it stood after the step."""
    hint: str | None
    checkpoint: CheckpointImage
    not_kept: tuple[str, ...] = ()
    """Settings of an import's model that cannot be given to a model here."""

    steps: int = 0
    snapshot: int | None = None
    evaluations: int = 0

    @property
    def runs_all(self) -> bool:
        """True if the parent's record holds no workspaces, so that all its commands run again."""
        return self.standing.snapshot is None

    def first_event(self, order: Order) -> TrialStarted:
        """See `Start`; names the parent, the step and the hint.

        Hidden tests that the parent was shown are in the conversation, and so the child was shown them, too. Turn 1 of
        a chain was shown none.
        """
        parent = Parent(trial=self.standing.start.trial or self.parent.name, step=self.step)
        hint = None if self.hint is None else TextRef(name="--inject", sha256=sha256_of(self.hint))
        first = order.trial_started()
        plan = first.plan
        if plan is not None and order.options.plan is not None:  # otherwise it is the parent's plan, with its step
            plan = plan.model_copy(update={"step": self.step})
        before = self.standing.start
        revealed = before.tests_revealed and before.turn != 1
        return first.model_copy(update={"parent": parent, "injected": hint, "plan": plan, "tests_revealed": revealed})

    def inputs(self) -> tuple[bytes, ...]:
        """See `Start`."""
        return ((self.hint or "").encode(),)

    def environment(self, order: Order, trial: str, reporter: Reporter | None) -> Lease:
        """See `Start`; the image of the parent's last checkpoint, if there is one."""
        lease = lease_for(order, trial, reporter, self.checkpoint.image)
        lease.prepared = self.checkpoint.has_set_up
        return lease

    def restore(self, place: Workplace) -> tuple[str, ...]:
        """See `Start`; a parent without workspaces is repeated command by command, which brings back everything."""
        for name in self.not_kept:
            text = f"the model's setting {name} is not kept: Retrace does not support it"
            place.recorder.append(Warned(kind="setting_not_kept", text=text))
        lost = self.restore_parent(place)
        for line in lost:
            place.recorder.append(Warned(kind="not_restored", text=line))
        self.record_feedback(place, ())
        return lost

    def restore_parent(self, place: Workplace) -> tuple[str, ...]:
        """Bring the workspace and feedback to the parent's state after the step; return a line for each thing lost.

        Raises: EnvironmentFault, RecordError.
        """
        elsewhere = put_feedback(place.environment, self.parent, self.standing.feedback)
        elsewhere += moved(self.standing, place.started)
        if self.runs_all:
            rerun(self.standing, place)
            return tuple(elsewhere)
        restored = restore(place.environment, state_at(self.parent, self.step))
        return (*self.lost_live_state(), *self.checkpoint.lost, *elsewhere, *restored)

    def lost_live_state(self) -> list[str]:
        """List the processes and the shell's state of the parent that a fork does not have."""
        return [*lost_live_state(self.standing), *losses_of_earlier_turns(self.parent, self.standing)]

    def record_feedback(self, place: Workplace, recorded: Sequence[Feedback]) -> None:
        """Copy the parent's feedback, except what the record holds already.

        Raises: RecordError, RecordFull.
        """
        turns = {event.turn for event in recorded}
        copy_feedback(place.recorder, self.parent, [each for each in self.standing.feedback if each.turn not in turns])

    def catch_up(self, place: Workplace, lost: tuple[str, ...]) -> tuple[BaseEvent, ...]:
        """See `Start`; the child has no history of its own."""
        return ()

    def opening(self, place: Workplace, lost: tuple[str, ...]) -> Opening:
        """See `Start`; the parent's conversation, then the child's own messages."""
        return Opening(inherited=self.inherited(place), messages=tuple(self.own_messages(place, lost)))

    def inherited(self, place: Workplace) -> tuple[Turn, ...]:
        """Return the parent's conversation."""
        return inheritance(self.standing, place.order, place.started)

    def own_messages(self, place: Workplace, lost: tuple[str, ...]) -> list[Say]:
        """Return the child's own messages: the notice of what is otherwise, the plan and the hint."""
        order, started = place.order, place.started
        notice = notice_of_branch(self.standing, order, started, lost)
        return [*notice, *own_opening(order, started, self.hint, self.standing.taken_in)]


def fork(
    parent: Path,
    step: int,
    *,
    hint: str | None = None,
    sources: Sources = USER_FILES,
    **changes: Unpack[OptionChanges],
) -> tuple[Order, Fork]:
    """Resolve and check a fork of `parent` after a step; `changes` are options that differ from the parent's.

    `hint` is a message for the model, or a file with one. The options `task`, `image` and `workspace` name the
    place where a parent began whose record holds no workspaces: its commands are run again there.

    Raises: UserError, RecordError.
    """
    text = text_or_file(hint, "--inject")
    if text is not None and not text.strip():
        raise UserError(f"--inject {hint!r}: the hint is empty; write one, or leave the option out")
    place = next((option for option in ("task", "image", "workspace") if changes.get(option) is not None), None)
    standing = branch_point(parent, step, elsewhere=place is not None)
    if standing.snapshot is None:
        order = order_elsewhere(parent, standing, **changes)
        not_kept = () if "model" in changes else recorded_settings(standing.start)[1]
        return order, Fork(parent, step, standing, text, CheckpointImage(), not_kept)
    if place is not None:
        raise UserError(f"--{place}: the record of {parent.name} holds its own workspaces; leave the option out")
    require_contents(state_at(parent, step))
    order = order_of(parent, standing.start, kept=True, sources=sources, **changes)
    if order.expert is not None:
        order.expert.check()
    order = _with_plan(parent, order, standing)
    checkpoint = checkpoint_image(parent, standing, order.spec.kind)
    require_system(f"--at {step}: {parent.name}", order.task, standing, checkpoint)
    return order, Fork(parent, step, standing, text, checkpoint)


def _with_plan(parent: Path, order: Order, standing: Standing) -> Order:
    """Return the order of a fork with the parent's plan, which its conversation holds, unless it is given another.

    Raises: UserError for the same plan once more.
    """
    if order.plan is not None:
        if gave_plan(order.plan, standing.taken_in):
            raise UserError(
                f"--plan {order.options.plan}: the model of {parent.name} was given this plan, and the fork takes over "
                "the conversation; leave the option out"
            )
        return order
    plan = standing.start.plan
    text = None if plan is None else kept_text(parent, plan)
    return replace(order, plan=None if text is None else text.decode(), plan_ref=plan)


def at_step(start: Fork, step: int, order: Order) -> Fork:
    """Return the fork at another step of the same parent, checked; orders of its steps differ in nothing.

    Raises: UserError, RecordError.
    """
    standing = branch_point(start.parent, step, elsewhere=start.runs_all)
    if standing.snapshot is None:
        return replace(start, step=step, standing=standing)
    require_contents(state_at(start.parent, step))
    checkpoint = checkpoint_image(start.parent, standing, order.spec.kind)
    require_system(f"--at {step}: {start.parent.name}", order.task, standing, checkpoint)
    return replace(start, step=step, standing=standing, checkpoint=checkpoint)


def branch_point(parent: Path, step: int, *, elsewhere: bool = False) -> Standing:
    """Return the parent as it stood after a step; `elsewhere` allows one whose record holds no workspaces.

    Raises: UserError, RecordError.
    """
    first_event(parent)
    events = list(read_events(parent))
    steps = sum(isinstance(event, CallFinished) for event in events)
    if not 0 <= step <= steps:
        raise UserError(f"--at {step}: {parent.name} has steps 0 to {steps}")
    standing = standing_of(until_step(events, step))
    if standing.snapshot is None and elsewhere:
        return standing
    if standing.snapshot is None:
        raise UserError(
            f"{parent.name}: the record holds no workspaces (it was imported, or made by an older version); name its "
            "task with --task, or the place where it began with --image or --workspace, and its commands are run again "
            "there"
        )
    if standing.snapshot != step or standing.rerun:
        raise UserError(f"--at {step}: {parent.name} has no whole snapshot of step {step}; choose an earlier step")
    return standing
