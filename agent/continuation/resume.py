"""Continues a trial after its harness died, was interrupted, or lost its environment.

The workspace is rebuilt in a new environment from the last snapshot, and commands that finished after it are run again.
Then the same loop takes in the same events and continues. Nothing is rendered, paid for or counted twice, and the time
in between does not count. What a copy of files cannot bring back is recorded, and the model is told in one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

from agent.continuation.finish import finish
from agent.continuation.fork import Fork, branch_point
from agent.continuation.inheritance import own_opening
from agent.continuation.recorded_order import kept_text, order_of, unchanged
from agent.continuation.turn import LaterTurn, later_turn
from agent.errors import UserError
from agent.loop.instructions import Say
from agent.loop.worker import LoopWorker
from agent.reports.prices import other_prices
from agent.trial.gate import OPEN_GATE, Gate
from agent.trial.options import OptionChanges
from agent.trial.order import Order
from agent.trial.outcome import Outcome
from agent.trial.restoring.checkpoints import CheckpointImage, checkpoint_image, require_system
from agent.trial.restoring.feedback import put_feedback
from agent.trial.restoring.losses import losses_of_earlier_turns, lost_live_state, moved
from agent.trial.restoring.restore import rerun, restore
from agent.trial.restoring.standing import Standing, standing_of
from agent.trial.run import run_trial
from agent.trial.session import LockedRecord, locked_record
from agent.trial.sources import USER_FILES, Sources
from agent.trial.start import Opening, Turn
from agent.trial.turns.keeping import Keeping
from agent.trial.workplace import Lease, Workplace, lease_for
from environments.leftovers.cleaning import clean_trials
from environments.reporting import Reporter
from trajectories.interrupts import interruptible
from trajectories.reading.family import directory_of_parent
from trajectories.reading.reader import first_event
from trajectories.reading.summary import Summary, summarize
from trajectories.record.events import BaseEvent, Event, InheritedReply, Message, Paused, Resumed, TrialStarted, Warned
from trajectories.record.layout import name_of_turn
from trajectories.workspace.states import state_at
from trajectories.workspace.tar_stream import require_contents
from trajectories.writing.recorder import Observer


@dataclass(frozen=True)
class Resume:
    """Implements `Start` for a trial that continues its own record."""

    directory: Path
    standing: Standing
    checkpoint: CheckpointImage
    hint: str | None = None
    """Hint of a fork that died before its first call, and may not have said it."""
    unfinished: Fork | LaterTurn | None = None
    """The fork or the turn itself if it died before it had inherited everything: what it follows is needed again."""
    earlier_losses: tuple[str, ...] = ()
    """Processes of earlier turns that ended with the environment that the trial was given."""
    history: tuple[BaseEvent, ...] = ()
    """Everything that the trial has taken in, the pause included."""

    @property
    def steps(self) -> int:
        """See `Start`."""
        return self.standing.steps

    @property
    def snapshot(self) -> int | None:
        """See `Start`."""
        return self.standing.snapshot

    @property
    def evaluations(self) -> int:
        """See `Start`."""
        return self.standing.evaluations

    def first_event(self, order: Order) -> TrialStarted:
        """See `Start`; the record has it already."""
        return self.standing.start

    def inputs(self) -> tuple[bytes, ...]:
        """See `Start`; they are kept already."""
        return ()

    def environment(self, order: Order, trial: str, reporter: Reporter | None) -> Lease:
        """See `Start`; the image of the last checkpoint, if there is one."""
        lease = lease_for(order, trial, reporter, self.checkpoint.image)
        lease.prepared = self.checkpoint.has_set_up
        if isinstance(self.unfinished, LaterTurn):  # which puts the files of its stage itself when it begins again
            lease.prepared = self.snapshot is None and order.task.stage is not None
        return lease

    def restore(self, place: Workplace) -> tuple[str, ...]:
        """See `Start`; the last snapshot's state, or that of the parent for a fork that has no snapshot yet."""
        order, environment = place.order, place.environment
        if order.model.info.free is None and (line := other_prices(order.prices, self.standing.start.prices)):
            place.recorder.append(Warned(kind="other_prices", text=line))
        if self.unfinished is not None and self.snapshot is None:
            lost = self.unfinished.restore_parent(place)
            self.unfinished.record_feedback(place, self.standing.feedback)
            return lost
        lines = [*lost_live_state(self.standing), *self.checkpoint.lost, *moved(self.standing, place.started)]
        lines += self.earlier_losses if self.unfinished is None else self.unfinished.lost_live_state()
        lines += put_feedback(environment, self.directory, self.standing.feedback)
        if self.snapshot is not None:
            lines += restore(environment, state_at(self.directory, self.snapshot))
        return tuple(lines)

    def catch_up(self, place: Workplace, lost: tuple[str, ...]) -> tuple[BaseEvent, ...]:
        """See `Start`; commands that finished after the last snapshot are run again."""
        rerun(self.standing, place)
        actions = tuple(started.action for started, _ in self.standing.rerun)
        resumed = place.recorder.append(Resumed(lost=lost, restored_step=self.snapshot, rerun=actions))
        return (*self.history, resumed)

    def opening(self, place: Workplace, lost: tuple[str, ...]) -> Opening:
        """See `Start`; the part of the first opening that was not said, and a notice of the losses."""
        is_elsewhere = self.unfinished is None and bool(moved(self.standing, place.started))
        turn_lost_something = self.unfinished is None and bool(self.earlier_losses)
        notice = Say("user", place.order.texts.resumed(lost), "notice")
        return Opening(
            inherited=self._still_to_inherit(place),
            messages=tuple(self._first_messages(place, lost)),
            lost_call=self.standing.call,
            notice=notice if self.steps or is_elsewhere or turn_lost_something else None,
        )

    def _first_messages(self, place: Workplace, lost: tuple[str, ...]) -> list[Say]:
        """Return the messages before the first call, also those that the history holds."""
        order, started = place.order, place.started
        if self.unfinished is not None:
            return self.unfinished.own_messages(place, lost)
        if self.standing.start.parent is None and not self.standing.feedback:
            return order.opening(started)
        if self.standing.called or self.standing.start.parent is None:
            return []
        own = own_opening(order, started, self.hint, self.standing.taken_in)
        recorded = [Say(message.role, message.content, message.why) for message in self.standing.own_messages]
        return recorded + [say for say in own if say.why not in {message.why for message in recorded}]

    def _still_to_inherit(self, place: Workplace) -> tuple[Turn, ...]:
        """Return the turns of the parent that are not in the record yet."""
        if self.unfinished is None:
            return ()
        inherited = sum(isinstance(event, Message | InheritedReply) for event in self.standing.taken_in)
        return self.unfinished.inherited(place)[inherited:]


@dataclass(frozen=True)
class Resumption:
    """A locked trial that is about to be continued."""

    record: LockedRecord
    events: Sequence[Event]
    start: Resume
    order: Order | None
    """None if nothing is left to do."""

    @property
    def summary(self) -> Summary:
        """Summary of the trial, as it is now."""
        return self.record.summary or summarize(self.record.folder.path, self.events)

    def run(self, observer: Observer | None = None, keeping: Keeping | None = None) -> Outcome | None:
        """Continue the trial to its end; return None if nothing was left to do.

        `keeping` takes its environment for a turn after it.

        Raises: RecordError.
        """
        if self.order is None:
            return None
        standing, worker = self.start.standing, LoopWorker(self.order)
        try:
            with self.record.recorder(after=standing.last, observer=observer) as recorder:
                if standing.finished:
                    return finish(self.order, recorder, standing)
                paused = recorder.append(Paused(why="down"))
                start = replace(self.start, history=(*standing.taken_in, paused))
                return run_trial(self.order, start, worker, recorder, keeping)
        finally:
            worker.close()


@contextmanager
def resuming(
    directory: Path, *, sources: Sources = USER_FILES, gate: Gate = OPEN_GATE, **changes: Unpack[OptionChanges]
) -> Iterator[Resumption]:
    """Lock a trial and resolve everything that it needs to continue; `changes` are options, such as `api_base`.

    Raises: UserError, RecordError, TrialInUse.
    """
    with locked_record(directory) as record:
        with interruptible():
            resumption = resolve_resumption(record, sources=sources, gate=gate, **changes)
        yield resumption


def resolve_resumption(
    record: LockedRecord, *, sources: Sources = USER_FILES, gate: Gate = OPEN_GATE, **changes: Unpack[OptionChanges]
) -> Resumption:
    """Resolve everything that a locked trial needs to continue.

    Raises: UserError, RecordError.
    """
    directory = record.folder.path
    first_event(directory)
    events = record.read()
    standing = standing_of(events)
    nothing_to_do = Resumption(record, events, Resume(directory, standing, CheckpointImage()), None)
    if standing.finished and standing.evaluated is not None and standing.evaluated.verdict is not None:
        failed = standing.evaluated.verdict.status == "error"
        if not (failed and standing.start.chain is not None):  # a chain needs a score to go on
            return nothing_to_do
    if standing.snapshot is not None and not standing.finished:
        require_contents(state_at(directory, standing.snapshot))
    unfinished: Fork | LaterTurn | None
    hint, unfinished = _unfinished_fork(directory, standing)
    later = (standing.start.turn or 1) > 1
    kept = standing.snapshot is not None or later or (unfinished is not None and not unfinished.runs_all)
    order = order_of(directory, standing.start, kept=kept, sources=sources, **changes)
    order = replace(unchanged(directory, order, standing.start), gate=gate)
    if order.expert is not None and not standing.finished:
        order.expert.check()
    if standing.finished and not order.evaluate and standing.exported is not None:
        return nothing_to_do
    if standing.start.plan is not None and order.plan is None and not standing.knows_plan:
        again = "agent solve --plan" if standing.start.parent is None else "agent fork --plan"
        raise UserError(
            f"{directory.name} died before its model was given the plan {standing.start.plan.name}, and its record "
            f"lacks the plan (a plan that holds a secret is not kept); begin again with {again}"
        )
    if later and not standing.finished and not _opened(standing):
        assert standing.start.chain is not None
        name = name_of_turn(standing.start.chain.first, (standing.start.turn or 1) - 1)
        unfinished = later_turn(order, directory.parent / name, Keeping())
    checkpoint = CheckpointImage()
    if not standing.finished and not (unfinished is not None and unfinished.runs_all and standing.snapshot is None):
        origin = unfinished.branch if isinstance(unfinished, LaterTurn) else unfinished
        place, before = (origin.parent, origin.standing) if origin else (directory, standing)
        checkpoint = checkpoint_image(place, before, order.spec.kind)
        require_system(directory.name, order.task, before, checkpoint)
    if order.task.result == "system":
        clean_trials([directory.name])  # a killed process may have left it paused
    if isinstance(unfinished, Fork):
        unfinished = replace(unfinished, checkpoint=checkpoint)
    losses = losses_of_earlier_turns(directory, standing)
    return Resumption(record, events, Resume(directory, standing, checkpoint, hint, unfinished, losses), order)


def _opened(standing: Standing) -> bool:
    """Report if a turn holds its opening and its first snapshot; feedback is the opening's last message."""
    chain = standing.start.chain
    last = "feedback" if chain is None or chain.feedback is not None else "task"
    told = any(message.why == last for message in standing.own_messages)
    return standing.called or (told and standing.snapshot is not None)


def _unfinished_fork(directory: Path, standing: Standing) -> tuple[str | None, Fork | None]:
    """Return the hint of a fork that died before its first call, and the fork if it had not inherited everything.

    Raises: UserError if its parent or its hint is gone; RecordError if the parent cannot be read.
    """
    parent, injected = standing.start.parent, standing.start.injected
    if parent is None or standing.called:
        return None, None
    data = None if injected is None else kept_text(directory, injected)
    if injected is not None and data is None:
        raise UserError(f"{directory.name} died before its first call, and its record lacks its hint; fork again")
    hint = None if data is None else data.decode()
    if standing.own_messages and standing.snapshot is not None:
        return hint, None
    beside = directory_of_parent(directory, parent)
    if beside is None:
        raise UserError(f"{directory.name} died before its first call, and its parent {parent.trial} is not beside it")
    point = branch_point(beside, parent.step, elsewhere=True)
    return hint, Fork(beside, parent.step, point, hint, CheckpointImage())
