"""Conversion of an imported file's items to events.

`t` is the time in the file, or empty; `mono_s` counts from the first time in the file and never decreases. A command
starts when its answer is read, or when its turn ends without an answer. Each command has an end, `unknown` if the file
does not hold one.
"""

from __future__ import annotations

from datetime import UTC, datetime

from trajectories.formats.items import (
    UNKNOWN_RESULT,
    AnsweredCall,
    Command,
    CommandResult,
    FailedCall,
    InheritedAnswer,
    Item,
    Observation,
    PlainMessage,
    TypedCommands,
)
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
from trajectories.record.texts.text import storable
from trajectories.writing.recorder import Recorder


class Clock:
    """Keeps the time of the next event."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._mono_s = 0.0
        self._t = ""
        self.went_back = 0

    def at(self, seconds: float | None) -> None:
        """Set the Unix time of the next event; None if the file does not state it."""
        self._t = ""
        if seconds is None:
            return
        self._t = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        self._first = seconds if self._first is None else self._first
        self.went_back += seconds - self._first < self._mono_s
        self._mono_s = max(self._mono_s, seconds - self._first)

    def read(self) -> tuple[str, float]:
        """Return `t` and `mono_s`; `t` is used only once."""
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
        """Commands of the turn without an answer so far, with their addresses."""
        self._actions = 0
        self._try = 1
        self.steps = 0

    def write(self, item: Item) -> None:
        """Append the events of one item."""
        match item:
            case AnsweredCall():
                self._answer(item)
            case FailedCall():
                self._fail(item)
            case InheritedAnswer():
                event = InheritedReply(id=self._next_id(), step=item.step, reply=item.reply, model_served=item.served)
                self._conversation.add(self._recorder.append(event))
            case PlainMessage():
                self._add_message(item)
            case Observation():
                self._observe(item)
            case TypedCommands():
                self.end()
                self._add_message(item.message)
                self._ask_for(item.commands)

    def end(self) -> None:
        """End the turn: commands without an answer started, but their results are unknown."""
        for address, command in self._pending:
            self._start(address, command)
            self._finish(address, command, UNKNOWN_RESULT)
        self._pending = []

    def _answer(self, item: AnsweredCall) -> None:
        self.end()
        self.steps += 1
        self._actions = 0
        self._call_started(self.steps)
        self._clock.at(item.at)
        finished = self._recorder.append(
            CallFinished(
                step=self.steps,
                try_=self._try,
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
        self._try = 1
        self._conversation.add(finished)
        self._ask_for(item.commands)

    def _fail(self, item: FailedCall) -> None:
        self.end()
        step = self.steps + 1
        self._call_started(step)
        self._recorder.append(
            CallFailed(
                step=step, try_=self._try, error=item.error, detail=item.detail, retry=item.retry, latency_s=None
            )
        )
        self._try += 1

    def _call_started(self, step: int) -> None:
        self._recorder.append(
            CallStarted(
                step=step,
                try_=self._try,
                message_ids=self._conversation.take_new_ids(),
                messages=self._messages,
                messages_sha256=self._conversation.sha256,
            )
        )

    def _ask_for(self, commands: tuple[Command, ...]) -> None:
        for command in commands:
            self._actions += 1
            self._pending.append((f"{self.steps}.{self._actions}", command))

    def _observe(self, item: Observation) -> None:
        place = self._answered_command(item.message.tool_call_id)
        if place is None:
            self._add_message(item.message)
            return
        address, command = self._pending.pop(place)
        if item.executed:
            self._start(address, command)
            self._clock.at(item.message.at)
            self._finish(address, command, item.result or UNKNOWN_RESULT)
        self._add_message(item.message, address if item.executed else None)

    def _answered_command(self, tool_call_id: str | None) -> int | None:
        """Return the index of the answered command: the first pending one with the id; without an id, the first."""
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

    def _finish(self, address: str, command: Command, result: CommandResult) -> None:
        self._recorder.append(
            ActionFinished(
                action=address,
                step=self.steps,
                tool_call_id=command.tool_call_id,
                ended=result.ended,
                exit_code=result.exit_code,
                signal=result.signal,
                duration_s=result.duration_s,
                streams="merged" if result.stderr is None else "separate",
                output=output_of(self._recorder, result.output, result.left_out, complete=result.complete),
                stderr=None if result.stderr is None else output_of(self._recorder, result.stderr),
            )
        )

    def _add_message(self, message: PlainMessage, action: str | None = None) -> None:
        self._clock.at(message.at)
        event = self._recorder.append(
            Message(
                id=self._next_id(),
                role=message.role,
                content=storable(message.text),
                why=message.why,
                tool_call_id=message.tool_call_id,
                action=action,
                inherited=message.inherited,
            )
        )
        self._conversation.add(event)

    def _next_id(self) -> str:
        self._messages += 1
        return f"m{self._messages}"


def output_of(recorder: Recorder, text: str, left_out: int = 0, *, complete: bool = True) -> Output:
    """Store an output's text. The characters that the file left out are a lower bound of the bytes left out."""
    data = storable(text).encode()
    return recorder.output(data, len(data) + left_out).model_copy(update={"complete": complete})
