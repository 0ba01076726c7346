"""The state that a recorded trial is in: what its loop has taken in, what was under way, what is still due. No I/O.

An action or a call that was under way when the harness died, or that was cut off with its environment, counts as not
done, and is done again. Actions that finished after the last snapshot are run again to rebuild the workspace.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trajectories.errors import RecordError
from trajectories.record.events import (
    CUT_OFF,
    ActionFinished,
    ActionStarted,
    BaseEvent,
    CallFailed,
    CallFinished,
    CallStarted,
    Checkpoint,
    EnvStarted,
    Evaluated,
    EvaluationStarted,
    Exited,
    Feedback,
    InheritedReply,
    Message,
    PanelStarted,
    Snapshot,
    TrialStarted,
    Voted,
    WorkspaceExported,
)


@dataclass
class Standing:
    """A trial as its events leave it."""

    start: TrialStarted
    last: BaseEvent
    taken_in: list[BaseEvent] = field(default_factory=list)
    """Events that the loop and the conversation have taken in, in order; calls and actions only if they are done."""
    call: CallStarted | None = None
    """A request that left and has no outcome."""
    env: EnvStarted | None = None
    """The last environment."""
    snapshot: int | None = None
    """Step of the last snapshot."""
    rerun: list[tuple[ActionStarted, ActionFinished]] = field(default_factory=list)
    """Actions that finished after the last snapshot."""
    checkpoint: Checkpoint | None = None
    left_running: dict[str, int] = field(default_factory=dict)
    """Number of processes that each action left in the background, unless the model was told that they ended."""
    announced_workdir: str | None = None
    """Workspace path that the model was given; empty if it was that of another trial."""
    exit: Exited | None = None
    """The end of the loop, if the agent or a limit ended it."""
    exported: WorkspaceExported | None = None
    evaluated: Evaluated | None = None
    evaluations: int = 0
    """Number of evaluations that began."""
    feedback: list[Feedback] = field(default_factory=list)
    """Results of earlier turns that were put into the environment."""
    continues: str | None = None
    """Trial that handed over its environment with all processes, unless the model was told that they ended."""
    steps: int = 0

    @property
    def called(self) -> bool:
        """Report if a request has left. Everything of the opening is said before the first one."""
        return self.call is not None or any(isinstance(event, CallStarted) for event in self.taken_in)

    @property
    def knows_plan(self) -> bool:
        """Report if the model was given the trial's plan, which is said before the first call."""
        return self.called or any(message.why == "plan" for message in self.own_messages)

    @property
    def own_messages(self) -> list[Message]:
        """Messages that are not inherited from a parent."""
        return [event for event in self.taken_in if isinstance(event, Message) and not event.inherited]

    @property
    def finished(self) -> bool:
        """Report if the loop has come to its own end."""
        return self.exit is not None


def standing_of(events: Iterable[BaseEvent]) -> Standing:
    """Return the state that a trial's events leave it in.

    Raises: RecordError if the first event is not `trial_started`, or an action finishes that was not started.
    """
    stream = iter(events)
    start = next(stream, None)
    if not isinstance(start, TrialStarted):
        raise RecordError("the record does not begin with trial_started, so there is nothing to continue from")
    standing = Standing(start, start)
    if start.imported is not None and isinstance(workdir := start.environment_spec.get("workdir"), str):
        standing.announced_workdir = workdir or None
    running: ActionStarted | None = None
    for event in stream:
        standing.last = event
        match event:
            case ActionStarted():
                running = event
            case ActionFinished():
                if event.ended not in CUT_OFF:
                    if running is None or running.action != event.action:
                        raise RecordError(
                            f"event {event.seq}: action {event.action[:40]!r} finished but was not started; a damaged "
                            "record cannot be continued (agent show --check names the first inconsistency)"
                        )
                    standing.taken_in += [running, event]
                    if not event.ended_environment:  # what it did is lost, and the model was told
                        standing.rerun.append((running, event))
                    if event.left_running:
                        standing.left_running[event.action] = event.left_running
                running = None
            case CallStarted():
                if standing.call is not None:
                    standing.taken_in.append(standing.call)
                standing.call = event
            case CallFinished() | CallFailed():
                if standing.call is not None:
                    standing.taken_in.append(standing.call)
                standing.call = None
                standing.taken_in.append(event)
                standing.steps += isinstance(event, CallFinished)
            case Message() | InheritedReply():
                standing.taken_in.append(event)
                _note_what_the_model_knows(standing, event)
            case Snapshot():
                standing.snapshot, standing.rerun = event.step, []
            case Checkpoint():
                standing.checkpoint = event
            case Feedback():
                standing.feedback.append(event)
            case EnvStarted():
                standing.env = event
                standing.continues = event.continues or standing.continues
            case Exited():
                standing.exit = event if event.exit.reason in ("agent", "limit") else None
                if standing.exit is None:
                    _retry_the_last_call(standing)
                    standing.taken_in.append(event)  # its clock stopped here
            case WorkspaceExported():
                standing.exported = event
            case PanelStarted() | Voted():
                pass  # judges speak after the trial's end, and are not part of it
            case EvaluationStarted():
                standing.evaluations += 1
            case Evaluated():
                standing.evaluated = event
            case _:
                standing.taken_in.append(event)
    return standing


def _note_what_the_model_knows(standing: Standing, event: Message | InheritedReply) -> None:
    if not isinstance(event, Message) or event.why not in ("task", "notice") or standing.env is None:
        return
    same_place = not event.inherited or standing.env.kind != "local"
    standing.announced_workdir = standing.env.workdir if same_place else ""
    if event.why == "notice":
        standing.left_running, standing.continues = {}, None


def _retry_the_last_call(standing: Standing) -> None:
    """Let a failed call that ended the trial be tried again when the trial is resumed."""
    if standing.taken_in and isinstance(standing.taken_in[-1], CallFailed):
        standing.taken_in[-1] = standing.taken_in[-1].model_copy(update={"retry": True})
