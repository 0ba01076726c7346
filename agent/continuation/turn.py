"""A turn of a chain after the first: the environment of the turn before, with what links the two (`links`).

The environment is handed over with everything that runs in it. If there is none, or it died while it was paused, the
workspace is rebuilt from the last snapshot in a new one, and record and model are told what is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent.continuation.fork import Fork
from agent.continuation.inheritance import inheritance
from agent.continuation.links import FeedbackLink, Link, StageLink
from agent.errors import MachineError
from agent.loop.instructions import Say
from agent.trial.order import Order
from agent.trial.restoring.checkpoints import checkpoint_image, require_system
from agent.trial.restoring.standing import Standing, standing_of
from agent.trial.start import Opening, Turn
from agent.trial.turns.keeping import Keeping
from agent.trial.workplace import Lease, Workplace, lease_for
from benchmarks.task.feedback import FeedbackError
from environments.protocol import EnvironmentFault, Pausable
from environments.reporting import Reporter
from trajectories.errors import RecordError
from trajectories.reading.reader import read_events
from trajectories.record.events import (
    BaseEvent,
    Chain,
    Evaluated,
    EvaluationStarted,
    Event,
    Feedback,
    FeedbackSource,
    TrialStarted,
    Warned,
)
from trajectories.record.layout import TrialFolder
from trajectories.record.verdict import Verdict
from trajectories.writing.masking import Masker


@dataclass(frozen=True)
class LaterTurn:
    """Implements `Start` for turn 2 and later ones."""

    previous: Path
    """Directory of the turn before."""
    standing: Standing
    """The turn before, finished and evaluated."""
    link: Link
    keeping: Keeping
    branch: Fork
    """The end of the turn before, from which its environment is rebuilt."""

    steps: int = 0
    snapshot: int | None = None
    evaluations: int = 0

    @property
    def runs_all(self) -> bool:
        """See `Fork`; a turn has snapshots."""
        return False

    @property
    def chain(self) -> Chain:
        """The chain of the turn."""
        assert self.standing.start.chain is not None
        return self.standing.start.chain

    @property
    def turn(self) -> int:
        """Number of this turn."""
        return (self.standing.start.turn or 1) + 1

    def first_event(self, order: Order) -> TrialStarted:
        """See `Start`; what belongs to the chain is that of the turn before."""
        before, first = self.standing.start, order.trial_started()
        same = {name: getattr(before, name) for name in ("chain", "tests_revealed", "label")}
        model = first.model.model_copy(update={"asked": before.model.asked})  # a file may be named by another path now
        return first.model_copy(update={**same, "model": model, "turn": self.turn})

    def inputs(self) -> tuple[bytes, ...]:
        """See `Start`; the files of the feedback are kept with their event."""
        return ()

    def environment(self, order: Order, trial: str, reporter: Reporter | None) -> Lease:
        """See `Start`; the environment of the turn before, no longer paused."""
        lease = self.keeping.take()
        if lease is not None and isinstance(lease.environment, Pausable):
            try:
                self.link.put(lease.environment)
                lease.environment.unpause()
                return lease
            except EnvironmentFault as error:
                self.keeping.loss = str(error)
                lease.release()
            except BaseException:
                lease.release()
                raise
        lease = lease_for(order, trial, reporter, self.branch.checkpoint.image)
        lease.prepared = order.task.stage is not None  # by the link, once the state of the stage before is back
        return lease

    def restore(self, place: Workplace) -> tuple[str, ...]:
        """See `Start`; nothing is lost in an environment that was handed over."""
        if self.keeping.loss:
            text = f"the environment of {self.chain.unit} {self.turn - 1} was lost: {self.keeping.loss}"
            place.recorder.append(Warned(kind="environment_lost", text=text))
            self.keeping.loss = ""
        lost: tuple[str, ...] = ()
        if place.lease.continues is not None:
            self.link.begin(place)
        else:
            lost = self.restore_parent(place)
        for line in lost:
            place.recorder.append(Warned(kind="not_restored", text=line))
        self.record_feedback(place, ())
        return lost

    def restore_parent(self, place: Workplace) -> tuple[str, ...]:
        """Bring a new environment to the beginning of this turn; return one line for each thing that is lost.

        Raises: EnvironmentFault, TaskError, RecordError.
        """
        self.link.put(place.environment)
        lost = self.branch.restore_parent(place)
        self.link.begin(place)
        return lost

    def lost_live_state(self) -> list[str]:
        """List the processes that are gone if the turn begins in a new environment."""
        return self.branch.lost_live_state()

    def record_feedback(self, place: Workplace, recorded: Sequence[Feedback]) -> None:
        """Record the feedback on all turns before, except what is recorded already.

        Raises: RecordError, RecordFull.
        """
        self.branch.record_feedback(place, recorded)
        self.link.record(place, recorded)

    def catch_up(self, place: Workplace, lost: tuple[str, ...]) -> tuple[BaseEvent, ...]:
        """See `Start`; there is no history."""
        return ()

    def opening(self, place: Workplace, lost: tuple[str, ...]) -> Opening:
        """See `Start`."""
        return Opening(inherited=self.inherited(place), messages=tuple(self.own_messages(place, lost)))

    def inherited(self, place: Workplace) -> tuple[Turn, ...]:
        """Return the conversation of the turn before, if it goes on."""
        if self.chain.conversation == "fresh":
            return ()
        return inheritance(self.standing, place.order, place.started)

    def own_messages(self, place: Workplace, lost: tuple[str, ...]) -> list[Say]:
        """Return the turn's own messages, see `Link`."""
        return self.link.messages(place.order, place.started, lost)


def later_turn(order: Order, previous: Path, keeping: Keeping) -> LaterTurn:
    """Return the turn after one that is finished and evaluated.

    Raises: RecordError; MachineError if the evaluation holds no feedback any more.
    """
    events = list(read_events(previous))
    standing = standing_of(events)
    number, verdict = standing_evaluation(events)
    if standing.exit is None or standing.start.chain is None or verdict is None:
        raise RecordError(f"{previous}: the turn is not finished and evaluated, so no turn follows it")
    link: Link = StageLink()
    if not standing.start.chain.stages:
        link = _feedback(order, previous, standing.start, number, verdict)
    checkpoint = checkpoint_image(previous, standing, order.spec.kind)
    require_system(previous.name, order.task, standing, checkpoint)
    branch = Fork(previous, standing.steps, standing, None, checkpoint)
    return LaterTurn(previous, standing, link, keeping, branch)


def _feedback(order: Order, previous: Path, start: TrialStarted, evaluation: int, verdict: Verdict) -> FeedbackLink:
    """Return the feedback on a turn.

    Raises: MachineError.
    """
    chain = start.chain
    assert chain is not None
    assert chain.feedback is not None
    try:
        content = order.benchmark.feedback(order.task, verdict, TrialFolder(previous).evaluation, chain.feedback)
    except (FeedbackError, OSError) as error:
        raise MachineError(
            f"{previous}: the feedback {chain.feedback} cannot be made of its evaluation: {error}"
        ) from None
    masker = Masker.from_environment()
    files = {path: masker.data(data)[0] for path, data in content.files.items()}
    content = replace(content, text=masker.text(content.text), files=files)
    source = FeedbackSource(trial=previous.name, evaluation=evaluation)
    return FeedbackLink(chain, start.turn or 1, source, bool(verdict.passed), content)


def standing_evaluation(events: Iterable[Event]) -> tuple[int, Verdict | None]:
    """Return the number and the verdict of the last evaluation that scored a trial; None if there is none."""
    number = 0
    scored: tuple[int, Verdict | None] = (0, None)
    for event in events:
        if isinstance(event, EvaluationStarted):
            number = event.evaluation
        elif isinstance(event, Evaluated) and event.verdict is not None and event.verdict.status == "scored":
            scored = (number, event.verdict)
    return scored
