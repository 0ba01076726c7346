"""Conversion of a trial's history into the messages of a request, to the same bytes in every request.

Each entry is converted once, because the history only grows. Replies are sent back as they came, except for parts that
a provider would reject in every later request (arguments that are not a JSON object, an empty reply, a repeated id, a
NUL): these are replaced in the request only, never in the record. Cache breakpoints are put on copies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from agent.models.growing import Entry, Growing
from agent.models.litellm.providers import CacheMarks
from agent.models.protocol import AssistantTurn
from trajectories.record.events import Json, Message, Reply
from trajectories.record.texts import bounds
from trajectories.record.texts.text import cut_middle, sendable, sendable_json

EMPTY_REPLY = "(empty reply)"
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


class WireHistory:
    """A growing history in its converted form; `convert` returns the items of a request for one entry.

    A client may change what it is sent. It is given working copies, which are the same in every request and are made
    again where they have changed: to copy everything for each call takes 11 ms at 1,000 steps, to compare 0.3 ms.
    """

    def __init__(self, convert: Callable[[Entry], list[Json]]) -> None:
        self._convert = convert
        self._growing = Growing()
        self._items: list[Json] = []
        self._working: list[Json] = []
        """Copies of the items, for the client."""
        self._last: list[int] = []
        """Index of the last item of each entry."""

    def items(self, history: Sequence[Entry], mark: Callable[[Json], Json] | None = None) -> list[Json]:
        """Return all items; `mark` decorates those at the breakpoints, in copies of their own."""
        self._catch_up(history)
        if self._working != self._items:
            self._working = [
                copy if copy == item else fresh(item) for copy, item in zip(self._working, self._items, strict=True)
            ]
        request = self._working.copy()
        for index in breakpoints(history) if mark else ():
            at = self._last[index]
            if mark and at >= 0:
                request[at] = mark(fresh(self._items[at]))
        return request

    def renew(self) -> None:
        """Give the next request copies that no earlier one has."""
        self._working = [fresh(item) for item in self._items]

    def _catch_up(self, history: Sequence[Entry]) -> None:
        entries = self._growing.new(history)
        if entries is None:
            self._items, self._working, self._last, entries = [], [], [], history
        for entry in entries:
            items = self._convert(entry)
            self._items += items
            self._working += map(fresh, items)
            self._last.append(len(self._items) - 1 if items else -1)


def breakpoints(history: Sequence[Entry]) -> set[int]:
    """Return the indexes of entries after which a cache may end.

    These are the system prompt, the end of this request, and the end of the request before it. The provider wrote its
    cache up to the last of these, so the cache is read however long the step is.
    """
    indexes = range(len(history) - 1, -1, -1)
    turn = next((index for index in indexes if isinstance(history[index], AssistantTurn)), None)
    system = [index for index, entry in enumerate(history[:2]) if isinstance(entry, Message) and entry.role == "system"]
    ends = {*system[-1:], len(history) - 1, *(() if turn is None else (turn - 1,))}
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
    message: Json = {"role": entry.role, "content": sendable(entry.content)}
    if entry.role == "tool":
        message["tool_call_id"] = entry.tool_call_id
    return [message]


def responses_items(entry: Entry) -> list[Json]:
    """Convert an entry to input items of the Responses API."""
    if isinstance(entry, AssistantTurn):
        return _responses_reply(entry.reply)
    if entry.role == "tool":
        return [{"type": "function_call_output", "call_id": entry.tool_call_id, "output": sendable(entry.content)}]
    return [{"role": entry.role, "content": sendable(entry.content)}]


def _chat_reply(reply: Reply) -> Json:
    if reply.message.get("role") == "assistant":
        message: Json = sendable_json(reply.message)
        for sent, call in zip(message.get("tool_calls") or [], reply.tool_calls, strict=False):
            sent["id"] = call.id
            sent["function"]["arguments"] = _sendable_arguments(call.arguments)
            sent["function"]["name"] = _sendable_name(call.name)
    else:  # a script's reply, or a reply over the other protocol
        message = {"role": "assistant", "content": sendable(reply.text)}
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
        items: list[Json] = [{"role": "assistant", "content": sendable(reply.text)}] if reply.text else []
        for call in reply.tool_calls:
            name, arguments = _sendable_name(call.name), _sendable_arguments(call.arguments)
            items.append({"type": "function_call", "call_id": call.id, "name": name, "arguments": arguments})
    else:
        items = [sendable_json(item) for item in output]
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
            clean = sendable_json(arguments)
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
