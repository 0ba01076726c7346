"""A conversation as turns: each reply with its tool calls, and each call with its answer.

ATIF and OpenAI's messages need two things that the record does not have: an id for every tool call that is unique in
its turn, and tool calls for the commands of fenced blocks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from trajectories.formats.source import Source
from trajectories.record.events import ActionFinished, CallFinished, InheritedReply, Message, ToolCall
from trajectories.record.texts import bounds


@dataclass
class Call:
    """A tool call of a turn."""

    id: str
    call: ToolCall
    fenced: bool = False
    """True for a command from a fenced block in the text."""
    answer: Message | None = None
    result: ActionFinished | None = None

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The arguments as an object; None if they are not one, or hold a number that JSON cannot express (NaN)."""
        try:
            value = json.loads(self.call.arguments)
            bounds.check(value)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


@dataclass
class Turn:
    """A reply and its tool calls."""

    event: CallFinished | InheritedReply
    calls: list[Call] = field(default_factory=list)

    @property
    def lost(self) -> bool:
        """True for an imported reply that its file did not keep."""
        reply = self.event.reply
        return not (reply.text or reply.tool_calls or reply.refusal or reply.message)

    @property
    def reasoning(self) -> str:
        """The text of `reasoning_content`, Anthropic's thinking blocks or Responses summaries; otherwise empty.

        Signed and encrypted parts are ignored.
        """
        message = self.event.reply.message
        if isinstance(message.get("reasoning_content"), str):
            return str(message["reasoning_content"])
        for key in ("thinking_blocks", "content"):
            texts = [block.get("thinking") for block in _objects(message.get(key)) if block.get("type") == "thinking"]
            if texts:
                return "\n\n".join(text for text in texts if isinstance(text, str))
        summaries = [
            part.get("text")
            for item in _objects(message.get("output"))
            if item.get("type") == "reasoning"
            for part in _objects(item.get("summary"))
        ]
        return "\n\n".join(text for text in summaries if isinstance(text, str))


def turns(source: Source) -> Iterator[Turn | Message]:
    """Yield the turns, and the messages that do not answer a call, in order."""
    turn: Turn | None = None
    waiting: list[Message] = []
    for event in source.conversation:
        if isinstance(event, Message):
            call = None if turn is None else _answered(turn, event)
            if call is None:
                waiting.append(event)
            else:
                call.answer, call.result = event, source.result_of(event)
            continue
        if turn is not None:
            yield turn
        yield from waiting
        waiting = []
        turn = Turn(event, _calls(event, source))
    if turn is not None:
        yield turn
    yield from waiting


def _calls(event: CallFinished | InheritedReply, source: Source) -> list[Call]:
    calls, ids = [], set()
    for n, call in enumerate(event.reply.tool_calls, start=1):
        id = call.id or f"call_{event.step}_{n}"
        while id in ids:
            id += "_"
        ids.add(id)
        calls.append(Call(id, call))
    if not calls and isinstance(event, CallFinished):
        for action in source.actions_of(event.step):
            call = ToolCall(id=action.action, name="bash", arguments=json.dumps({"command": action.script}))
            calls.append(Call(f"call_{action.action.replace('.', '_')}", call, fenced=True))
    return calls


def _answered(turn: Turn, message: Message) -> Call | None:
    for call in turn.calls:
        if call.answer is None:
            if call.fenced and call.call.id == message.action:
                return call
            if not call.fenced and message.tool_call_id is not None and message.tool_call_id == call.call.id:
                return call
    return None


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
