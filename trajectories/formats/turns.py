"""A conversation as turns: a reply with its tool calls, each with the answer that it got.

What ATIF and OpenAI's messages need and the record does not have: every tool call with an id that is its own
within the turn, and commands of fenced blocks as tool calls too where the format knows no other kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from trajectories.formats.source import Source
from trajectories.record.events import ActionFinished, CallFinished, InheritedReply, Message, ToolCall


@dataclass
class Call:
    """A tool call of a turn."""

    id: str
    call: ToolCall
    fenced: bool = False
    """It stood as a fenced block in the text."""
    answer: Message | None = None
    result: ActionFinished | None = None

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The arguments as an object; None if they are none."""
        try:
            found = json.loads(self.call.arguments)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


@dataclass
class Turn:
    """A reply and its calls."""

    event: CallFinished | InheritedReply
    calls: list[Call] = field(default_factory=list)

    @property
    def lost(self) -> bool:
        """An imported reply that its file did not keep."""
        reply = self.event.reply
        return not (reply.text or reply.tool_calls or reply.refusal or reply.message)


def turns(source: Source) -> Iterator[Turn | Message]:
    """Turns, and the messages that answer no call, in order."""
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
    found, ids = [], set()
    for n, call in enumerate(event.reply.tool_calls, start=1):
        id = call.id or f"call_{event.step}_{n}"
        while id in ids:
            id += "_"
        ids.add(id)
        found.append(Call(id, call))
    if not found and isinstance(event, CallFinished):
        for action in source.actions_of(event.step):
            call = ToolCall(id=action.action, name="bash", arguments=json.dumps({"command": action.script}))
            found.append(Call(f"call_{action.action.replace('.', '_')}", call, fenced=True))
    return found


def _answered(turn: Turn, message: Message) -> Call | None:
    for call in turn.calls:
        if call.answer is None:
            if call.fenced and call.call.id == message.action:
                return call
            if not call.fenced and message.tool_call_id is not None and message.tool_call_id == call.call.id:
                return call
    return None
