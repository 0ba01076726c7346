"""The history of a trial as the messages of a request, the same bytes in every request.

Each entry is converted once, since history only grows. Replies go back as they came, except for what
a provider would refuse in every later request (arguments that are no JSON object, an empty reply, a
repeated id): that is replaced in the request only, never in the record. Cache breakpoints are put on copies.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

from agent.models.litellm.providers import CacheMarks
from agent.models.protocol import AssistantTurn
from trajectories.record import bounds
from trajectories.record.events import Json, Message, Reply
from trajectories.record.text import cut_middle, storable_json

Entry = Message | AssistantTurn

EMPTY_REPLY = "(empty reply)"
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


class WireHistory:
    """Converts a growing history; `convert` gives the request's items for one entry."""

    def __init__(self, convert: Callable[[Entry], list[Json]]) -> None:
        self._convert = convert
        self._entries: list[Entry] = []
        self._items: list[list[Json]] = []

    def items(self, history: Sequence[Entry], mark: Callable[[Json], Json] | None = None) -> list[Json]:
        """All items, copied so that a client may change them; `mark` decorates those at the breakpoints."""
        self._catch_up(history)
        marked = breakpoints(history) if mark else set()
        found = []
        for index, items in enumerate(self._items):
            copies = [fresh(item) for item in items]
            if mark and index in marked and copies:
                copies[-1] = mark(copies[-1])
            found += copies
        return found

    def _catch_up(self, history: Sequence[Entry]) -> None:
        known = min(len(self._entries), len(history))
        if not all(map(operator.is_, self._entries, history)):
            same = map(operator.eq, self._entries, history)
            known = next((index for index, equal in enumerate(same) if not equal), known)
        del self._entries[known:], self._items[known:]
        for entry in history[known:]:
            self._entries.append(entry)
            self._items.append(self._convert(entry))


def breakpoints(history: Sequence[Entry]) -> set[int]:
    """Where a cache may end: the system prompt, the end of this request, and the end of the one before it.

    The last is what the provider wrote at the last call, so it is read whatever the step's length.
    """
    turns = [index for index, entry in enumerate(history) if isinstance(entry, AssistantTurn)]
    system = [index for index, entry in enumerate(history[:2]) if isinstance(entry, Message) and entry.role == "system"]
    ends = {*system[-1:], len(history) - 1, *((turns[-1] - 1,) if turns else ())}
    return {index for index in ends if index >= 0 and isinstance(history[index], Message)}


def marker(where: CacheMarks, ttl: str) -> Callable[[Json], Json]:
    """Puts a cache breakpoint on a message: beside its content, or on its text part."""
    control = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}

    def beside(message: Json) -> Json:
        return {**message, "cache_control": dict(control)}

    def on_part(message: Json) -> Json:
        return {**message, "content": [{"type": "text", "text": message["content"], "cache_control": dict(control)}]}

    return beside if where == "message" else on_part


def chat_items(entry: Entry) -> list[Json]:
    """One message of chat completions."""
    if isinstance(entry, AssistantTurn):
        return [_chat_reply(entry.reply)]
    message: Json = {"role": entry.role, "content": entry.content}
    if entry.role == "tool":
        message["tool_call_id"] = entry.tool_call_id
    return [message]


def responses_items(entry: Entry) -> list[Json]:
    """Input items of the Responses API."""
    if isinstance(entry, AssistantTurn):
        return _responses_reply(entry.reply)
    if entry.role == "tool":
        return [{"type": "function_call_output", "call_id": entry.tool_call_id, "output": entry.content}]
    return [{"role": entry.role, "content": entry.content}]


def _chat_reply(reply: Reply) -> Json:
    if reply.message.get("role") == "assistant":
        message: Json = fresh(reply.message)
        for sent, call in zip(message.get("tool_calls") or [], reply.tool_calls, strict=False):
            sent["id"] = call.id
            sent["function"]["arguments"] = _sendable_arguments(call.arguments)
            sent["function"]["name"] = _sendable_name(call.name)
    else:  # a script's reply, or one that another protocol brought
        message = {"role": "assistant", "content": reply.text}
        if reply.tool_calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": _sendable_name(call.name), "arguments": _sendable_arguments(call.arguments)},
                }
                for call in reply.tool_calls
            ]
    if not message.get("tool_calls") and not message.get("content"):
        message["content"] = EMPTY_REPLY
    return message


def _responses_reply(reply: Reply) -> list[Json]:
    output = reply.message.get("output")
    if not isinstance(output, list):
        items: list[Json] = [{"role": "assistant", "content": reply.text}] if reply.text else []
        for call in reply.tool_calls:
            name, arguments = _sendable_name(call.name), _sendable_arguments(call.arguments)
            items.append({"type": "function_call", "call_id": call.id, "name": name, "arguments": arguments})
    else:
        items = [fresh(item) for item in output]
        while items and items[-1].get("type") == "reasoning":
            items.pop()  # cut off before what it led to; the API refuses it without
        sent = (item for item in items if item.get("type") == "function_call")
        for item, call in zip(sent, reply.tool_calls, strict=False):
            item["call_id"] = call.id
            item["arguments"] = _sendable_arguments(call.arguments)
            item["name"] = _sendable_name(call.name)
    return items or [{"role": "assistant", "content": EMPTY_REPLY}]


def _sendable_arguments(text: str) -> str:
    """The arguments as they came if they are a JSON object that can be sent, else one that shows them."""
    try:
        found = json.loads(text)
        if isinstance(found, dict):
            bounds.check(found)
            clean = storable_json(found)
            return text if clean == found else json.dumps(clean)
    except (ValueError, RecursionError):
        pass
    return json.dumps({"not_a_json_object": cut_middle(text)})


def _sendable_name(name: str) -> str:
    """A tool's name within the letters that providers accept."""
    return _NOT_IN_A_NAME.sub("_", name or "unnamed")[:64]


def fresh(value: Any) -> Any:
    """A copy that shares no dict or list with the original."""
    if isinstance(value, dict):
        found = value.copy()
        for key, item in value.items():
            if isinstance(item, dict | list):
                found[key] = fresh(item)
        return found
    if isinstance(value, list):
        return [fresh(item) if isinstance(item, dict | list) else item for item in value]
    return value
