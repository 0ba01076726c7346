"""Requests that a real provider rejects with 400: calls without ids or results, changed reasoning, bad arguments.

Each function takes the body of a request and returns the complaint, or None.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

Body = dict[str, Any]


def seal(text: str) -> str:
    """Return the signature or encrypted content of a reasoning text; changed text fails the check."""
    return "sealed-" + hashlib.sha256(text.encode()).hexdigest()


def chat_complaint(body: Body) -> str | None:
    """Check for chat completions that the results of calls follow right after the assistant message."""
    open_calls: list[str] = []
    ids: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in open_calls:
                return f"tool message for unknown call {message.get('tool_call_id')!r}"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return f"tool calls without results: {open_calls}"
        for call in message.get("tool_calls") or []:
            if not _is_object(call["function"]["arguments"]):
                return f"arguments of call {call.get('id')!r} are not a JSON object"
            if not _is_new(call.get("id"), ids):
                return f"a tool call needs an id of its own: {call.get('id')!r}"
            open_calls.append(call["id"])
        if message["role"] == "assistant" and not message.get("content") and not message.get("tool_calls"):
            return "an assistant message needs content or tool_calls"
        if "reasoning_content" in message and message.get("reasoning_seal") != seal(message["reasoning_content"]):
            return "reasoning_content was changed"
    return f"tool calls without results: {open_calls}" if open_calls else None


def responses_complaint(body: Body) -> str | None:
    """Check for Responses that they are stateless, reasoning is sealed, and each function call has its output."""
    if body.get("store") is not False:
        return "store must be false"
    open_calls: set[str] = set()
    ids: set[str] = set()
    for item, following in zip(body["input"], [*body["input"][1:], {}], strict=True):
        if item.get("type") == "reasoning" and following.get("type") not in ("reasoning", "message", "function_call"):
            return f"reasoning item {item['id']!r} without the item it led to"
        if item.get("type") == "reasoning" and item.get("encrypted_content") != seal(item["id"]):
            return f"reasoning item {item['id']!r} was changed"
        if item.get("status", "completed") is None:
            return "status must not be null"
        if item.get("type") == "function_call":
            if not _is_object(item["arguments"]):
                return f"arguments of call {item.get('call_id')!r} are not a JSON object"
            if not _is_new(item.get("call_id"), ids):
                return f"a function call needs an id of its own: {item.get('call_id')!r}"
            open_calls.add(item["call_id"])
        if item.get("type") == "function_call_output":
            if item["call_id"] not in open_calls:
                return f"output for unknown call {item['call_id']!r}"
            open_calls.remove(item["call_id"])
    return f"function calls without output: {sorted(open_calls)}" if open_calls else None


def anthropic_complaint(body: Body) -> str | None:
    """Check for messages that thinking is signed, results follow their calls, and at most four cache marks are set."""
    if sum("cache_control" in part for part in _parts(body)) > 4:
        return "A maximum of 4 blocks with cache_control may be provided."
    open_calls: list[str] = []
    ids: set[str] = set()
    for message in body["messages"]:
        parts = [] if isinstance(message["content"], str) else message["content"]
        if not message["content"]:
            return "messages must have non-empty content"
        if message["role"] == "user":
            results = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
            if sorted(results) != sorted(open_calls):
                return f"tool_use ids {open_calls} were answered by {results}"
            open_calls = []
        for part in parts:
            if part["type"] == "thinking" and part.get("signature") != seal(part["thinking"]):
                return "Invalid `signature` in `thinking` block"
            if part["type"] == "text" and not part["text"].strip():
                return "text content blocks must contain non-whitespace text"
            if part["type"] == "tool_use":
                if not isinstance(part["input"], dict):
                    return "tool_use input is not an object"
                if not _is_new(part.get("id"), ids):
                    return f"`tool_use` ids must be unique: {part.get('id')!r}"
                open_calls.append(part["id"])
    return f"tool_use ids without results: {open_calls}" if open_calls else None


def _is_new(id: object, ids: set[str]) -> bool:
    new = isinstance(id, str) and id != "" and id not in ids
    ids.add(str(id))
    return new


def _parts(body: Body) -> list[dict[str, Any]]:
    contents = [body.get("system", []), *(message["content"] for message in body["messages"])]
    return [part for content in contents if isinstance(content, list) for part in content]


def _is_object(text: object) -> bool:
    try:
        return isinstance(json.loads(str(text)), dict)
    except ValueError:
        return False
