"""Conversion of a provider's reply into a `Completion`, from litellm's chat message or from the raw Responses items.

The result can be recorded and sent back; a reply for which that is impossible raises OutOfBounds. The module is pure:
it knows the two forms of a reply and no client.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from agent.models.protocol import Completion
from trajectories.formats.provider_usage import billed_usd, known_shape, to_usage
from trajectories.record.events import Json, Reply, ToolCall
from trajectories.record.texts import bounds
from trajectories.record.texts.text import storable, storable_json

REFUSED = "the provider's filter stopped the reply"

_CUT = {"max_output_tokens": "length", "content_filter": "content_filter"}


def chat_completion(
    message: Json,
    *,
    finish_reason: str | None,
    usage_raw: Json | None,
    served: str | None,
    write_ttl: Literal["5m", "1h"] = "5m",
) -> Completion:
    """Convert the message of a chat completion; it keeps litellm's form, so that litellm can send it back."""
    message = _clean(_tidied(message))
    text = _text(message.get("content"))
    refusal = str((message.get("provider_specific_fields") or {}).get("refusal") or message.get("refusal") or "")
    if not refusal and finish_reason == "content_filter":
        refusal = text or REFUSED
    calls = tuple(
        _tool_call(call.get("id"), call["function"].get("name"), call["function"].get("arguments"))
        for call in message.get("tool_calls") or []
    )
    reply = Reply(text=text, tool_calls=calls, refusal=refusal, message=message)
    return _completion(reply, finish_reason, usage_raw, served, write_ttl)


def responses_completion(
    output: Sequence[Json],
    *,
    incomplete: str | None,
    usage_raw: Json | None,
    served: str | None,
    write_ttl: Literal["5m", "1h"] = "5m",
) -> Completion:
    """Convert the output items of a Responses object, which are kept as they came."""
    output = _clean(list(output))
    parts = [
        part
        for item in output
        if item.get("type") == "message"
        for part in item.get("content") or []
        if isinstance(part, dict)
    ]
    text = "".join(str(part.get("text") or "") for part in parts if part.get("type") == "output_text")
    refusal = "".join(str(part.get("refusal") or "") for part in parts if part.get("type") == "refusal")
    calls = tuple(
        _tool_call(item.get("call_id"), item.get("name"), item.get("arguments"))
        for item in output
        if item.get("type") == "function_call"
    )
    finish_reason = _CUT.get(incomplete, incomplete) if incomplete else "tool_calls" if calls else "stop"
    if not refusal and finish_reason == "content_filter":
        refusal = text or REFUSED
    reply = Reply(text=text, tool_calls=calls, refusal=refusal, message={"output": output})
    return _completion(reply, finish_reason, usage_raw, served, write_ttl)


def _completion(
    reply: Reply, finish_reason: str | None, usage_raw: Json | None, served: str | None, write_ttl: Literal["5m", "1h"]
) -> Completion:
    return Completion(
        reply=reply,
        usage=to_usage(usage_raw, write_ttl=write_ttl),
        usage_raw=_clean(usage_raw, finite=False),
        billed_usd=billed_usd(usage_raw),
        model_served=served and storable(served),
        finish_reason=finish_reason and storable(finish_reason),
    )


def _tool_call(id: object, name: object, arguments: object) -> ToolCall:
    """Convert a tool call; an id that is not a string is dropped, and arguments that are an object become its text."""
    text = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
    return ToolCall(id=id if isinstance(id, str) else "", name=str(name or ""), arguments=text)


def _clean(value: Any, *, finite: bool = True) -> Any:
    """Return the value in a form that can be recorded.

    Raises: OutOfBounds.
    """
    bounds.check(value, finite=finite)
    return storable_json(value)


def raw_usage(body: Json, converted: Json | None) -> Json | None:
    """Return the usage as the provider wrote it if its form is known, otherwise as litellm converted it."""
    usage = body.get("usage")
    if isinstance(usage, dict) and known_shape(usage):
        return dict(usage)
    ours = any(isinstance(body.get(key), list) for key in ("choices", "content", "output"))
    if ours and not usage:
        return None  # litellm adds zeros, which would hide that the provider reported nothing
    return converted if known_shape(converted) else None


def _tidied(message: Json) -> Json:
    """Drop values that are None, and values that litellm repeats: thinking blocks are long."""
    tidied: Json = {key: value for key, value in message.items() if value is not None}
    extra = tidied.pop("provider_specific_fields", None)
    if isinstance(extra, dict):
        rest = {key: value for key, value in extra.items() if value is not None and tidied.get(key) != value}
        if rest:
            tidied["provider_specific_fields"] = rest
    return tidied


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text") or "") for part in parts if isinstance(part, dict))
