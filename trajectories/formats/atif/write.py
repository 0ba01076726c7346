"""Export as an ATIF 1.8 document (Harbor's RFC 0001). An imported one is written as it was, byte for byte.

One model call with its tool calls is one agent step. Values without a field in the format are in `extra`, and `notes`
lists the lost parts (`LOST`). Totals are sums over the steps; a total with an unknown part is left out.
"""

from __future__ import annotations

from typing import Any

from trajectories.formats.atif.read import ATIF, VERSIONS
from trajectories.formats.document import MOST_BYTES
from trajectories.formats.errors import CannotExport
from trajectories.formats.json_text import json_document
from trajectories.formats.source import Source
from trajectories.formats.turns import Call, Turn, turns
from trajectories.record.events import CallFailed, CallFinished, Imported, InheritedReply, Message, Output
from trajectories.record.usage import Usage

VERSION = VERSIONS[-1]
LOST = "Not in this document: the workspace, snapshots, the bytes of outputs, raw usage, the provider's replies."


def write(source: Source) -> bytes:
    """Return the document as bytes.

    Raises: CannotExport if the trial has no message yet.
    """
    imported = source.start.imported
    if imported is not None and imported.format == ATIF:
        return source.blob(imported.sha256, MOST_BYTES)
    return json_document(document(source), indent=1) + b"\n"


def document(source: Source) -> dict[str, Any]:
    """Build the document as a JSON value."""
    failed = _failed_attempts(source)
    steps: list[dict[str, Any]] = []
    for item in turns(source):
        step = _message(item) if isinstance(item, Message) else _turn(item, source, failed)
        steps.append({"step_id": len(steps) + 1, **step})
    if not steps:
        raise CannotExport(f"{source.directory}: the trial has no message yet")
    start, imported = source.start, source.start.imported
    agent: dict[str, Any] = {
        "name": imported.format if imported else "retrace",
        "version": (imported.version if imported else start.versions.get("retrace")) or "unknown",
        "model_name": start.model.name,
    }
    if any("tool_calls" in step for step in steps):
        agent["tool_definitions"] = source.tools
    verdict = source.summary.verdict
    extra = {
        "task": start.task.id,
        "environment": {"kind": start.environment, **start.environment_spec},
        "model_settings": start.model.settings,
        "limits": start.limits.model_dump(),
        "exit": None if source.exit is None else source.exit.model_dump(),
        "verdict": None if verdict is None else verdict.model_dump(),
        "parent": None if start.parent is None else start.parent.model_dump(),
        "imported": None if imported is None else _imported(imported),
        "failed_attempts": failed.get(None),
    }
    return {
        "schema_version": VERSION,
        "session_id": start.trial or source.directory.name,
        "trajectory_id": start.identity or start.trial or source.directory.name,
        "agent": agent,
        "steps": steps,
        "notes": LOST,
        "final_metrics": _totals(steps, source),
        "extra": _without_none(extra),
    }


def _imported(imported: Imported) -> dict[str, Any]:
    """Return the origin of an imported trial, without the fields of schema 1.2 that it lacks."""
    value = imported.model_dump(exclude={"submission": {"complete"}})
    return {key: item for key, item in value.items() if key != "agent" or item is not None}


def _message(message: Message) -> dict[str, Any]:
    step: dict[str, Any] = {"source": "system" if message.role == "system" else "user", "message": message.content}
    if message.t:
        step["timestamp"] = message.t
    if message.inherited:
        step["is_copied_context"] = True
    return {**step, "extra": {"kind": message.why}}


def _turn(turn: Turn, source: Source, failed: dict[int | None, list[dict[str, Any]]]) -> dict[str, Any]:
    event, reply = turn.event, turn.event.reply
    step: dict[str, Any] = {"source": "agent", "message": reply.text}
    if event.t:
        step["timestamp"] = event.t
    if event.model_served and event.model_served != source.start.model.name:
        step["model_name"] = event.model_served
    if turn.reasoning:
        step["reasoning_content"] = turn.reasoning
    if turn.calls:
        step["tool_calls"] = [_call(call) for call in turn.calls]
        results = [_result(call, source) for call in turn.calls if call.answer is not None]
        if results:
            step["observation"] = {"results": results}
    extra: dict[str, Any] = {"refusal": reply.refusal or None}
    if isinstance(event, InheritedReply):
        return {**step, "is_copied_context": True, "extra": {"parent_step": event.step, **_without_none(extra)}}
    step["llm_call_count"] = 1
    metrics = _metrics(event, failed.get(event.step))
    if metrics:
        step["metrics"] = metrics
    extra |= {"step": event.step, "finish_reason": event.finish_reason, "latency_s": event.latency_s}
    if turn.lost:
        extra["error"] = "the imported file does not hold this reply"
    return {**step, "extra": _without_none(extra)}


def _call(call: Call) -> dict[str, Any]:
    arguments = call.arguments
    extra = {
        "fenced": call.fenced or None,
        "arguments_as_sent": call.call.arguments if arguments is None else None,
        "id_as_sent": call.call.id if not call.fenced and call.id != call.call.id else None,
    }
    tool_call = {"tool_call_id": call.id, "function_name": call.call.name or "unknown", "arguments": arguments or {}}
    return {**tool_call, "extra": _without_none(extra)} if _without_none(extra) else tool_call


def _result(call: Call, source: Source) -> dict[str, Any]:
    assert call.answer is not None
    result = call.result
    extra: dict[str, Any] = {"kind": call.answer.why}
    if result is not None:
        extra |= {
            "action": result.action,
            "ended": result.ended,
            "returncode": result.exit_code,
            "signal": result.signal,
            "duration_s": result.duration_s,
            "output": _output(result.output),
            "stderr": None if result.stderr is None else _output(result.stderr),
        }
    return {"source_call_id": call.id, "content": call.answer.content, "extra": _without_none(extra)}


def _output(output: Output) -> dict[str, Any]:
    return {"bytes": output.bytes, "sha256": output.sha256, "blob": output.blob, "masked": output.masked}


def _metrics(event: CallFinished, attempts: list[dict[str, Any]] | None) -> dict[str, Any]:
    usage, costs = event.usage or Usage(), event.costs
    has_usage = event.usage is not None
    extra = {
        "cache_write_5m_tokens": usage.cache_write_5m,
        "cache_write_1h_tokens": usage.cache_write_1h,
        "reasoning_tokens": usage.reasoning,
        "cost_source": None if costs.best is None else "billed" if costs.billed is not None else "computed",
        "costs_usd": None if costs.best is None else costs.model_dump(),
        "failed_attempts": attempts,
    }
    return _without_none(
        {
            "prompt_tokens": usage.prompt if has_usage else None,
            "completion_tokens": usage.output,
            "cached_tokens": usage.cache_read,
            "cost_usd": costs.best,
            "extra": _without_none(extra) or None,
        }
    )


def _failed_attempts(source: Source) -> dict[int | None, list[dict[str, Any]]]:
    """Return the failed attempts by the step that followed them; None is for attempts without a step."""
    answered = {event.step for event in source.events if isinstance(event, CallFinished)}
    attempts: dict[int | None, list[dict[str, Any]]] = {}
    for event in source.events:
        if isinstance(event, CallFailed):
            attempt = {
                "error": event.error,
                "detail": event.detail,
                "usage": None if event.usage is None else event.usage.model_dump(),
                "cost_usd": None if event.costs is None else event.costs.best,
            }
            attempts.setdefault(event.step if event.step in answered else None, []).append(_without_none(attempt))
    return attempts


def _totals(steps: list[dict[str, Any]], source: Source) -> dict[str, Any]:
    metered = [step.get("metrics", {}) for step in steps if step.get("llm_call_count")]
    totals: dict[str, Any] = {"total_steps": len(steps)}
    for total, name in (
        ("total_prompt_tokens", "prompt_tokens"),
        ("total_completion_tokens", "completion_tokens"),
        ("total_cached_tokens", "cached_tokens"),
        ("total_cost_usd", "cost_usd"),
    ):
        values = [metrics.get(name) for metrics in metered]
        totals[total] = None if any(value is None for value in values) else sum(values)
    summary = source.summary
    totals["extra"] = {"usage": summary.usage.model_dump(), "cost_usd": summary.cost_usd.model_dump()}
    return _without_none(totals)


def _without_none(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}
