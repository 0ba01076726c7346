"""What a provider answered, as a `Completion`: from litellm's message for chat, from the raw items for Responses.

What comes out can be recorded and sent back. Pure; knows the two shapes and no client.

Raises: OutOfBounds where that cannot be.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from agent.models.protocol import Completion
from trajectories.formats.provider_usage import billed_usd, known_shape, to_usage
from trajectories.record import bounds
from trajectories.record.events import Json, Reply, ToolCall
from trajectories.record.text import storable, storable_json

REFUSED = "the provider's filter stopped the reply"

_CUT = {"max_output_tokens": "length", "content_filter": "content_filter"}


def chat_answer(
    message: Json,
    *,
    finish_reason: str | None,
    usage_raw: Json | None,
    served: str | None,
    write_ttl: Literal["5m", "1h"] = "5m",
) -> Completion:
    """From a chat completion's message, in litellm's words, so that litellm can send it back."""
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
    return _answer(reply, finish_reason, usage_raw, served, write_ttl)


def responses_answer(
    output: Sequence[Json],
    *,
    incomplete: str | None,
    usage_raw: Json | None,
    served: str | None,
    write_ttl: Literal["5m", "1h"] = "5m",
) -> Completion:
    """From a Responses object's output items, kept as they came."""
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
    return _answer(reply, finish_reason, usage_raw, served, write_ttl)


def _answer(
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
    """An id that is no text is left out; arguments that came as an object are the text of that object."""
    text = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
    return ToolCall(id=id if isinstance(id, str) else "", name=str(name or ""), arguments=text)


def _clean(value: Any, *, finite: bool = True) -> Any:
    """The value as it can be recorded.

    Raises: OutOfBounds.
    """
    bounds.check(value, finite=finite)
    return storable_json(value)


def raw_usage(body: Json, otherwise: Json | None) -> Json | None:
    """The usage as the provider wrote it, where its shape is known; else as litellm made it."""
    usage = body.get("usage")
    if isinstance(usage, dict) and known_shape(usage):
        return dict(usage)
    ours = any(isinstance(body.get(key), list) for key in ("choices", "content", "output"))
    if ours and not usage:
        return None  # litellm fills in zeros: they would hide that the provider did not count
    return otherwise if known_shape(otherwise) else None


def _tidied(message: Json) -> Json:
    """Without what is None, and without what litellm says twice: thinking blocks are long."""
    found: Json = {key: value for key, value in message.items() if value is not None}
    extra = found.pop("provider_specific_fields", None)
    if isinstance(extra, dict):
        rest = {key: value for key, value in extra.items() if value is not None and found.get(key) != value}
        if rest:
            found["provider_specific_fields"] = rest
    return found


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text") or "") for part in parts if isinstance(part, dict))
