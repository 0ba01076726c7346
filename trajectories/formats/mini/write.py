"""Export as a `mini-swe-agent-1.1` document in the chat layout.

An imported trajectory of mini-swe-agent is written as it was, byte for byte. The format has no place for some values of
our own trials (usage buckets, endings of commands, deadlines, ...). These are below `retrace` keys, which
mini-swe-agent's programs ignore and `read` reads back.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from trajectories.formats.detect import MINI
from trajectories.formats.document import MOST_BYTES
from trajectories.formats.json_text import json_document
from trajectories.formats.mini.exits import WORDS
from trajectories.formats.mini.observations import NOT_EXECUTED
from trajectories.formats.provider_usage import to_usage
from trajectories.formats.source import Source, unix_s
from trajectories.record.events import ActionFinished, CallFailed, CallFinished, InheritedReply, Message
from trajectories.record.exits import Exit
from trajectories.record.usage import Usage

_LIMITS_THAT_COUNT_THE_CALL = frozenset({"model_unavailable", "context"})


def write(source: Source) -> bytes:
    """Return the document as bytes.

    Raises: RecordError if the trial's blobs are damaged.
    """
    imported = source.start.imported
    if imported is not None and imported.format == MINI and source.start.parent is None:
        return source.blob(imported.sha256, MOST_BYTES)
    document = {"info": _info(source), "messages": _messages(source)}
    document |= {"trajectory_format": "mini-swe-agent-1.1", "instance_id": source.start.task.id}
    return json_document(document, indent=2)


def _info(source: Source) -> dict[str, Any]:
    start, summary = source.start, source.summary
    spec = start.environment_spec
    last_failed = next((isinstance(e, CallFailed) for e in reversed(source.events) if _is_call(e)), False)
    aborted = last_failed and source.exit is not None and source.exit.cause in _LIMITS_THAT_COUNT_THE_CALL
    return {
        "model_stats": {"instance_cost": summary.cost_usd.best, "api_calls": summary.steps + aborted},
        "config": {
            "agent": {
                "step_limit": start.limits.steps or 0,
                "cost_limit": start.limits.cost_usd or 0.0,
                "wall_time_limit_seconds": start.limits.time_s or 0,
            },
            "agent_type": "retrace",
            "model": {"model_name": start.model.name, "model_kwargs": start.model.settings},
            "model_type": "retrace",
            "environment": {
                "image": spec.get("image"),
                "cwd": spec.get("workdir"),
                "env": spec.get("env") or {},
                "timeout": start.limits.command_s,
                "interpreter": ["bash", "-l"],
            },
            "environment_type": f"retrace.environments.{start.environment}",
        },
        "mini_version": None,
        "exit_status": _status(source.exit),
        "submission": "",
        "retrace": {
            "version": start.versions.get("retrace"),
            "trial": start.trial,
            "exit": None if source.exit is None else source.exit.model_dump(),
            "failed_calls": summary.failed_calls,
            "usage": summary.usage.model_dump(),
            "cost_usd": summary.cost_usd.model_dump(),
            "versions": start.versions,
            "verdict": None if summary.verdict is None else summary.verdict.model_dump(),
        },
    }


def _is_call(event: object) -> bool:
    return isinstance(event, CallFinished | CallFailed)


def _status(exit: Exit | None) -> str | None:
    return None if exit is None else WORDS.get(exit.cause, exit.cause)


def _messages(source: Source) -> list[dict[str, Any]]:
    unexecuted = _unexecuted(source)
    messages = [
        _message(source, event) if isinstance(event, Message) else _reply(source, event, unexecuted)
        for event in source.conversation
    ]
    if source.exit is not None:
        status = _status(source.exit)
        extra = {"exit_status": status, "submission": ""}
        if source.exit.reason == "infrastructure":
            extra["exception_str"] = source.exit.detail
        messages.append({"role": "exit", "content": source.exit.detail, "extra": extra})
    return messages


def _message(source: Source, event: Message) -> dict[str, Any]:
    message: dict[str, Any] = {"role": event.role, "content": event.content}
    if event.tool_call_id is not None:
        message["tool_call_id"] = event.tool_call_id
    result = source.result_of(event)
    extra: dict[str, Any] = {"timestamp": unix_s(event)}
    ours = {"why": event.why, "inherited": True} if event.inherited else {"why": event.why}
    if result is not None:
        extra |= _result(source, result)
    elif event.why == "not_executed":
        extra |= {"raw_output": "", "returncode": -1, "exception_info": NOT_EXECUTED, "retrace": ours}
    else:
        extra["retrace"] = ours
    message["extra"] = extra
    return message


def _result(source: Source, result: ActionFinished) -> dict[str, Any]:
    raw = source.text(result.output)
    if result.stderr is not None:
        raw += source.text(result.stderr)
    ours: dict[str, Any] = {
        "ended": result.ended,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "duration_s": result.duration_s,
    }
    if result.stderr is not None:
        ours |= {"stdout": source.text(result.output), "stderr": source.text(result.stderr)}
    extra: dict[str, Any] = {"raw_output": raw, "retrace": ours}
    if result.ended == "exited":
        code = result.exit_code if result.signal is None else -result.signal
        return extra | {"returncode": code, "exception_info": ""}
    started = source.started[result.action]
    if result.ended == "deadline":
        after = "" if started.deadline_s is None else f" after {started.deadline_s:g} seconds"
        exception = f"An error occurred while executing the command: timed out{after}"
        return extra | {"returncode": -1, "exception_info": exception, "exception_type": "TimeoutExpired"}
    return extra | {"returncode": -1, "exception_info": f"the command ended as: {result.ended}"}


def _reply(source: Source, event: CallFinished | InheritedReply, unexecuted: dict[int, set[str]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": event.reply.text}
    for key in ("reasoning_content", "thinking_blocks"):
        if event.reply.message.get(key):
            message[key] = event.reply.message[key]
    if event.reply.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in event.reply.tool_calls
        ]
    response: dict[str, Any] = {"model": event.model_served, "object": "chat.completion"}
    if isinstance(event, InheritedReply):
        message["extra"] = {"actions": [], "response": response, "retrace": {"inherited_step": event.step}}
        return message
    response["choices"] = [{"index": 0, "finish_reason": event.finish_reason, "message": dict(message)}]
    if event.usage is not None:
        same = to_usage(event.usage_raw) == event.usage
        response["usage"] = event.usage_raw if same else _chat_usage(event.usage)
    message["extra"] = {
        "actions": [
            {"command": action.command, "tool_call_id": action.tool_call_id, "deadline_s": action.deadline_s}
            for action in source.actions_of(event.step)
        ]
        + [
            {"command": _command(call.arguments), "tool_call_id": call.id}
            for call in event.reply.tool_calls
            if call.id in unexecuted[event.step]
        ],
        "response": response,
        "cost": event.costs.best,
        "timestamp": unix_s(event),
        "retrace": {
            "usage": None if event.usage is None else event.usage.model_dump(),
            "usage_raw": event.usage_raw,
            "costs": event.costs.model_dump(),
            "latency_s": event.latency_s,
            "refusal": event.reply.refusal,
        },
    }
    return message


def _unexecuted(source: Source) -> dict[int, set[str]]:
    """Return the tool calls of each step that were answered "not executed": the submission and later calls."""
    call_ids: dict[int, set[str]] = defaultdict(set)
    step = 0
    for event in source.conversation:
        if isinstance(event, CallFinished):
            step = event.step
        elif isinstance(event, Message) and event.why == "not_executed" and event.tool_call_id is not None:
            call_ids[step].add(event.tool_call_id)
    return call_ids


def _command(arguments: str) -> str:
    try:
        command = json.loads(arguments)["command"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return arguments
    return command if isinstance(command, str) else arguments


def _chat_usage(usage: Usage) -> dict[str, Any]:
    """Convert buckets to litellm's chat usage; an unknown bucket is left out."""
    writes = (usage.cache_write_5m or 0) + (usage.cache_write_1h or 0)
    raw: dict[str, Any] = {"prompt_tokens": usage.prompt, "completion_tokens": usage.output}
    if usage.output is not None:
        raw["total_tokens"] = usage.total
    details: dict[str, Any] = {}
    if usage.cache_read is not None:
        details["cached_tokens"] = raw["cache_read_input_tokens"] = usage.cache_read
    if usage.cache_write_5m is not None or usage.cache_write_1h is not None:
        raw["cache_creation_input_tokens"] = writes
        details["cache_creation_token_details"] = {
            "ephemeral_5m_input_tokens": usage.cache_write_5m or 0,
            "ephemeral_1h_input_tokens": usage.cache_write_1h or 0,
        }
    if details:
        raw["prompt_tokens_details"] = details
    if usage.reasoning is not None:
        raw["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return raw
