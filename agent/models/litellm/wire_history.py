"""Conversion of a trial's history into the messages of a request, to the same bytes in every request.

Each entry is converted once, because the history only grows. Replies are sent back as they came, except for parts that
a provider would reject in every later request (arguments that are not a JSON object, an empty reply, a repeated id):
these are replaced in the request only, never in the record. Cache breakpoints are put on copies.
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
    """A growing history in its converted form; `convert` returns the items of a request for one entry."""

    def __init__(self, convert: Callable[[Entry], list[Json]]) -> None:
        self._convert = convert
        self._entries: list[Entry] = []
        self._items: list[list[Json]] = []

    def items(self, history: Sequence[Entry], mark: Callable[[Json], Json] | None = None) -> list[Json]:
        """Return copies of all items, which a client may change; `mark` decorates those at the breakpoints."""
        self._catch_up(history)
        marked = breakpoints(history) if mark else set()
        request = []
        for index, items in enumerate(self._items):
            copies = [fresh(item) for item in items]
            if mark and index in marked and copies:
                copies[-1] = mark(copies[-1])
            request += copies
        return request

    def _catch_up(self, history: Sequence[Entry]) -> None:
        converted = min(len(self._entries), len(history))
        if not all(map(operator.is_, self._entries, history)):
            same = map(operator.eq, self._entries, history)
            converted = next((index for index, equal in enumerate(same) if not equal), converted)
        del self._entries[converted:], self._items[converted:]
        for entry in history[converted:]:
            self._entries.append(entry)
            self._items.append(self._convert(entry))


def breakpoints(history: Sequence[Entry]) -> set[int]:
    """Return the indexes of entries after which a cache may end.

    These are the system prompt, the end of this request, and the end of the request before it. The provider wrote its
    cache up to the last of these, so the cache is read however long the step is.
    """
    turns = [index for index, entry in enumerate(history) if isinstance(entry, AssistantTurn)]
    system = [index for index, entry in enumerate(history[:2]) if isinstance(entry, Message) and entry.role == "system"]
    ends = {*system[-1:], len(history) - 1, *((turns[-1] - 1,) if turns else ())}
    return {index for index in ends if index >= 0 and isinstance(history[index], Message)}


def marker(place: CacheMarks, ttl: str) -> Callable[[Json], Json]:
    """Return a function that puts a cache breakpoint on a message: beside its content, or on its text part."""
    control = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}

    def beside(message: Json) -> Json:
        return {**message, "cache_control": dict(control)}

    def on_part(message: Json) -> Json:
        return {**message, "content": [{"type": "text", "text": message["content"], "cache_control": dict(control)}]}

    return beside if place == "message" else on_part


def chat_items(entry: Entry) -> list[Json]:
    """Convert an entry to a message of chat completions."""
    if isinstance(entry, AssistantTurn):
        return [_chat_reply(entry.reply)]
    message: Json = {"role": entry.role, "content": entry.content}
    if entry.role == "tool":
        message["tool_call_id"] = entry.tool_call_id
    return [message]


def responses_items(entry: Entry) -> list[Json]:
    """Convert an entry to input items of the Responses API."""
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
    else:  # a script's reply, or a reply over the other protocol
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
            items.pop()  # the API rejects reasoning that is cut off before its result
        sent = (item for item in items if item.get("type") == "function_call")
        for item, call in zip(sent, reply.tool_calls, strict=False):
            item["call_id"] = call.id
            item["arguments"] = _sendable_arguments(call.arguments)
            item["name"] = _sendable_name(call.name)
    return items or [{"role": "assistant", "content": EMPTY_REPLY}]


def _sendable_arguments(text: str) -> str:
    """Return the arguments as they came if they can be sent as a JSON object, otherwise an object with their text."""
    try:
        arguments = json.loads(text)
        if isinstance(arguments, dict):
            bounds.check(arguments)
            clean = storable_json(arguments)
            return text if clean == arguments else json.dumps(clean)
    except (ValueError, RecursionError):
        pass
    return json.dumps({"not_a_json_object": cut_middle(text)})


def _sendable_name(name: str) -> str:
    """Return a tool's name with the characters that providers accept."""
    return _NOT_IN_A_NAME.sub("_", name or "unnamed")[:64]


def fresh(value: Any) -> Any:
    """Return a copy that shares no dict or list with the original."""
    if isinstance(value, dict):
        copied = value.copy()
        for key, item in value.items():
            if isinstance(item, dict | list):
                copied[key] = fresh(item)
        return copied
    if isinstance(value, list):
        return [fresh(item) if isinstance(item, dict | list) else item for item in value]
    return value
