"""Conversion of a `Turn` into each protocol: chat completions, Responses, Anthropic messages.

The functions are pure: from a turn, its number and its counted prompt they make the body of a response.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.wire.conformance import seal
from tests.wire.prompt_cache import Counted, tokens
from tests.wire.replies import Fault, Json, Turn


def output_tokens(turn: Turn) -> int:
    """Return the tokens of text, thinking and calls."""
    return tokens(turn.text + turn.refusal + turn.thinking + "".join(arguments for _, arguments in turn.calls))


def _override(usage: Json, turn: Turn) -> Json:
    merged: Json = {**usage, **{key: value for key, value in turn.usage.items() if not isinstance(value, Mapping)}}
    for key, value in turn.usage.items():
        if isinstance(value, Mapping):
            merged[key] = {**(merged.get(key) or {}), **value}
    return {key: value for key, value in merged.items() if value is not None}


def chat(turn: Turn, number: int, model: str, counted: Counted) -> Json:
    """Return a chat completion."""
    message: Json = {"role": "assistant", "content": turn.text or None}
    if turn.refusal:
        message["refusal"] = turn.refusal
    if turn.thinking:
        message["reasoning_content"] = turn.thinking
        message["reasoning_seal"] = seal(turn.thinking)
    if turn.calls:
        message["tool_calls"] = [
            {"id": f"call_{number}_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for index, (name, arguments) in enumerate(turn.calls)
        ]
    out = output_tokens(turn)
    usage = {
        "prompt_tokens": counted.prompt,
        "completion_tokens": out,
        "total_tokens": counted.prompt + out,
        "prompt_tokens_details": {"cached_tokens": counted.read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": tokens(turn.thinking), "audio_tokens": 0},
    }
    finish = "length" if turn.length else "content_filter" if turn.content_filter else None
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_760_000_000 + number,
        "model": turn.served or model,
        "choices": [
            {"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if turn.calls else "stop")}
        ],
        **({} if turn.no_usage else {"usage": _override(usage, turn)}),
    }


def responses(turn: Turn, number: int, model: str, counted: Counted) -> Json:
    """Return a Responses object."""
    output: list[Json] = []
    if turn.thinking:
        output.append(
            {
                "id": f"rs_{number}",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": turn.thinking}],
                "encrypted_content": seal(f"rs_{number}"),
            }
        )
    parts: list[Json] = [{"type": "refusal", "refusal": turn.refusal}] if turn.refusal else []
    if turn.text:
        parts.append({"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []})
    if parts:
        output.append(
            {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed", "content": parts}
        )
    output += [
        {
            "id": f"fc_{number}_{index}",
            "type": "function_call",
            "status": "completed",
            "call_id": f"call_{number}_{index}",
            "name": name,
            "arguments": arguments,
        }
        for index, (name, arguments) in enumerate(turn.calls)
    ]
    out = output_tokens(turn)
    usage = {
        "input_tokens": counted.prompt,
        "input_tokens_details": {"cached_tokens": counted.read},
        "output_tokens": out,
        "output_tokens_details": {"reasoning_tokens": tokens(turn.thinking)},
        "total_tokens": counted.prompt + out,
    }
    cut = "max_output_tokens" if turn.length else "content_filter" if turn.content_filter else None
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_760_000_000 + number,
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": cut} if cut else None,
        "instructions": None,
        "metadata": {},
        "model": turn.served or model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        **({} if turn.no_usage else {"usage": _override(usage, turn)}),
    }


def anthropic(turn: Turn, number: int, model: str, counted: Counted) -> Json:
    """Return a message."""
    content: list[Json] = []
    if turn.thinking:
        content.append({"type": "thinking", "thinking": turn.thinking, "signature": seal(turn.thinking)})
    if turn.text or turn.refusal:
        content.append({"type": "text", "text": turn.text or turn.refusal})
    for index, (name, arguments) in enumerate(turn.calls):
        content.append(
            {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name, "input": json.loads(arguments)}
        )
    usage: dict[str, Any] = {
        "input_tokens": counted.input,
        "cache_read_input_tokens": counted.read,
        "cache_creation_input_tokens": counted.write_5m + counted.write_1h,
        "cache_creation": {
            "ephemeral_5m_input_tokens": counted.write_5m,
            "ephemeral_1h_input_tokens": counted.write_1h,
        },
        "output_tokens": output_tokens(turn),
        "service_tier": "standard",
    }
    stop = "refusal" if turn.refusal else "max_tokens" if turn.length else None
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": turn.served or model,
        "content": content,
        "stop_reason": stop or ("tool_use" if turn.calls else "end_turn"),
        "stop_sequence": None,
        **({"usage": {}} if turn.no_usage else {"usage": _override(usage, turn)}),
    }


def error_body(fault: Fault, protocol: str) -> Json:
    """Return an error object in the provider's form."""
    if protocol == "anthropic":
        kind = "overloaded_error" if fault.status == 529 else "api_error" if fault.status >= 500 else fault.type
        return {"type": "error", "error": {"type": kind, "message": fault.message}, "request_id": "req_1"}
    return {"error": {"message": fault.message, "type": fault.type, "param": None, "code": fault.code}}
