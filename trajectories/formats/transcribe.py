"""What a foreign file says, item by item, as events of our own.

Times: `t` is what the file says, else empty; `mono_s` counts from the first time in the file and never goes back.
A command starts when its answer is read, or when its turn is over without one.
"""

from __future__ import annotations

from datetime import UTC, datetime

from trajectories.formats.items import Called, Command, Failed, Inherited, Item, Observed, Outcome, Said, Typed
from trajectories.record.conversation import Conversation
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    CallFailed,
    CallFinished,
    CallStarted,
    InheritedReply,
    Message,
    Output,
)
from trajectories.record.text import storable
from trajectories.writing.recorder import Recorder


class Clock:
    """The time of the next event."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._mono_s = 0.0
        self._t = ""
        self.went_back = 0

    def at(self, seconds: float | None) -> None:
        """The next event is of this Unix time; None: the file does not say."""
        self._t = ""
        if seconds is None:
            return
        self._t = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        self._first = seconds if self._first is None else self._first
        self.went_back += seconds - self._first < self._mono_s
        self._mono_s = max(self._mono_s, seconds - self._first)

    def read(self) -> tuple[str, float]:
        """`t` and `mono_s`; a time is used once."""
        stamp, self._t = self._t, ""
        return stamp, self._mono_s


class Transcriber:
    """Appends the events of items to a record."""

    def __init__(self, recorder: Recorder, clock: Clock, model: str) -> None:
        self._recorder = recorder
        self._clock = clock
        self._model = model
        self._conversation = Conversation()
        self._messages = 0
        self._pending: list[tuple[str, Command]] = []
        """Commands of the turn that were not yet answered, by address."""
        self._actions = 0
        self.steps = 0

    def write(self, item: Item) -> None:
        """The events of one item."""
        match item:
            case Called():
                self._called(item)
            case Failed():
                self.end()
                self._call_started(self.steps + 1)
                self._recorder.append(
                    CallFailed(step=self.steps + 1, error=item.error, detail=item.detail, retry=False, latency_s=None)
                )
            case Inherited():
                event = InheritedReply(id=self._next_id(), step=item.step, reply=item.reply, model_served=item.served)
                self._recorder.append(event)
            case Said():
                self._say(item)
            case Observed():
                self._observed(item)
            case Typed():
                self.end()
                self._say(item.said)
                self._ask_for(item.commands)

    def end(self) -> None:
        """The turn is over: what was not answered did start, and nobody says what came of it."""
        for address, command in self._pending:
            self._start(address, command)
        self._pending = []

    def _called(self, item: Called) -> None:
        self.end()
        self.steps += 1
        self._actions = 0
        self._call_started(self.steps)
        self._clock.at(item.at)
        finished = self._recorder.append(
            CallFinished(
                step=self.steps,
                id=self._next_id(),
                reply=item.reply,
                finish_reason=item.finish_reason,
                usage_raw=item.usage_raw,
                usage=item.usage,
                costs=item.costs,
                model_requested=self._model,
                model_served=item.served,
                latency_s=item.latency_s,
            )
        )
        self._conversation.add(finished)
        self._ask_for(item.commands)

    def _call_started(self, step: int) -> None:
        self._recorder.append(
            CallStarted(
                step=step,
                message_ids=self._conversation.take_new_ids(),
                messages=self._messages,
                messages_sha256=self._conversation.sha256,
            )
        )

    def _ask_for(self, commands: tuple[Command, ...]) -> None:
        for command in commands:
            self._actions += 1
            self._pending.append((f"{self.steps}.{self._actions}", command))

    def _observed(self, item: Observed) -> None:
        place = self._answered(item.said.tool_call_id)
        if place is None:
            self._say(item.said)
            return
        address, command = self._pending.pop(place)
        if item.executed:
            self._start(address, command)
        if item.outcome is not None:
            self._clock.at(item.said.at)
            self._finish(address, command, item.outcome)
        self._say(item.said, address if item.executed else None)

    def _answered(self, tool_call_id: str | None) -> int | None:
        """Which pending command this answers: the first with the id, or the first of all where there is none."""
        for place, (_, command) in enumerate(self._pending):
            if tool_call_id is None or command.tool_call_id == tool_call_id:
                return place
        return None

    def _start(self, address: str, command: Command) -> None:
        self._recorder.append(
            ActionStarted(
                action=address,
                step=self.steps,
                script=command.script,
                tool_call_id=command.tool_call_id,
                deadline_s=command.deadline_s,
            )
        )

    def _finish(self, address: str, command: Command, outcome: Outcome) -> None:
        self._recorder.append(
            ActionFinished(
                action=address,
                step=self.steps,
                tool_call_id=command.tool_call_id,
                ended=outcome.ended,
                exit_code=outcome.exit_code,
                signal=outcome.signal,
                duration_s=outcome.duration_s,
                streams="merged" if outcome.stderr is None else "separate",
                output=output_of(self._recorder, outcome.output, outcome.left_out),
                stderr=None if outcome.stderr is None else output_of(self._recorder, outcome.stderr),
            )
        )

    def _say(self, said: Said, action: str | None = None) -> None:
        self._clock.at(said.at)
        message = self._recorder.append(
            Message(
                id=self._next_id(),
                role=said.role,
                content=storable(said.text),
                why=said.why,
                tool_call_id=said.tool_call_id,
                action=action,
                inherited=said.inherited,
            )
        )
        self._conversation.add(message)

    def _next_id(self) -> str:
        self._messages += 1
        return f"m{self._messages}"


def output_of(recorder: Recorder, text: str, left_out: int = 0) -> Output:
    """An output from its text; of what the file left out only the characters are known: a lower bound in bytes."""
    data = storable(text).encode()
    return recorder.output(data, len(data) + left_out)
