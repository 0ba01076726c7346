"""Where a recorded trial stands: what its loop has taken in, what was under way, what is still due. No I/O.

An action or a call that was under way when the harness died, or that was cut off with its environment, counts as not
done: it is done again. Actions that finished after the last snapshot are run again to bring the workspace where it was.
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
    Exited,
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
    fed: list[BaseEvent] = field(default_factory=list)
    """What the loop and the conversation have taken in, in order; of steps, calls and actions only what is done."""
    call: CallStarted | None = None
    """A request that left and has no outcome."""
    env: EnvStarted | None = None
    """The last environment."""
    snapshot: int | None = None
    """The step of the last snapshot."""
    rerun: list[tuple[ActionStarted, ActionFinished]] = field(default_factory=list)
    """Actions that finished after it."""
    checkpoint: Checkpoint | None = None
    left_running: dict[str, int] = field(default_factory=dict)
    """How many processes of which action were left in the background, as far as the model was not told of their end."""
    told_workdir: str | None = None
    """Where the model was told that the workspace is; empty if it was told of another trial's."""
    exit: Exited | None = None
    """The end of the loop, where it was the agent's or a limit's."""
    exported: WorkspaceExported | None = None
    evaluated: Evaluated | None = None
    steps: int = 0

    @property
    def called(self) -> bool:
        """Whether a request has left, before which everything of the beginning was said."""
        return self.call is not None or any(isinstance(event, CallStarted) for event in self.fed)

    @property
    def said(self) -> list[Message]:
        """The messages of its own, none of them inherited."""
        return [event for event in self.fed if isinstance(event, Message) and not event.inherited]

    @property
    def finished(self) -> bool:
        """Whether the loop has come to its own end."""
        return self.exit is not None


def standing(events: Iterable[BaseEvent]) -> Standing:
    """Take in a trial's events.

    Raises: RecordError if they do not begin with `trial_started`, or end what was not begun.
    """
    stream = iter(events)
    start = next(stream, None)
    if not isinstance(start, TrialStarted):
        raise RecordError("the record does not begin with trial_started, so there is nothing to go on from")
    found = Standing(start, start)
    running: ActionStarted | None = None
    for event in stream:
        found.last = event
        match event:
            case ActionStarted():
                running = event
            case ActionFinished():
                if event.ended not in CUT_OFF:
                    if running is None or running.action != event.action:
                        raise RecordError(
                            f"event {event.seq}: action {event.action[:40]!r} finished and was not started; nothing "
                            "goes on from a damaged record (agent show --check names the first thing that is wrong)"
                        )
                    found.fed += [running, event]
                    found.rerun.append((running, event))
                    if event.left_running:
                        found.left_running[event.action] = event.left_running
                running = None
            case CallStarted():
                if found.call is not None:
                    found.fed.append(found.call)
                found.call = event
            case CallFinished() | CallFailed():
                if found.call is not None:
                    found.fed.append(found.call)
                found.call = None
                found.fed.append(event)
                found.steps += isinstance(event, CallFinished)
            case Message() | InheritedReply():
                found.fed.append(event)
                _told(found, event)
            case Snapshot():
                found.snapshot, found.rerun = event.step, []
            case Checkpoint():
                found.checkpoint = event
            case EnvStarted():
                found.env = event
            case Exited():
                found.exit = event if event.exit.reason in ("agent", "limit") else None
                if found.exit is None:
                    _go_on_after_failure(found)
                    found.fed.append(event)  # its clock stopped here
            case WorkspaceExported():
                found.exported = event
            case PanelStarted() | Voted():
                pass  # said about the trial after its end, no part of it
            case Evaluated():
                found.evaluated = event
            case _:
                found.fed.append(event)
    return found


def _told(found: Standing, event: Message | InheritedReply) -> None:
    if not isinstance(event, Message) or event.why not in ("task", "notice") or found.env is None:
        return
    known = not event.inherited or found.env.kind != "local"
    found.told_workdir = found.env.workdir if known else ""
    if event.why == "notice":
        found.left_running = {}


def _go_on_after_failure(found: Standing) -> None:
    """The failed call that ended the trial is tried again when it goes on."""
    if found.fed and isinstance(found.fed[-1], CallFailed):
        found.fed[-1] = found.fed[-1].model_copy(update={"retry": True})
