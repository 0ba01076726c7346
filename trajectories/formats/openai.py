"""Export as OpenAI-style messages for fine-tuning: one line of JSON with `messages` and `tools`.

The messages are the conversation as the model saw it. Reasoning is only included on request (`reasoning_content`).
Replies that an imported file did not keep are left out, and so are tool calls in mid-conversation without an answer,
since the format rejects them. Replies that a fork inherited have weight 0, since they belong to another trial.
"""

from __future__ import annotations

from typing import Any

from trajectories.formats.errors import CannotExport
from trajectories.formats.json_text import json_lines
from trajectories.formats.source import Source
from trajectories.formats.turns import Turn, turns
from trajectories.record.events import InheritedReply, Message


def write(source: Source, *, reasoning: bool = False) -> bytes:
    """Return the one line.

    Raises: CannotExport if there is no conversation.
    """
    messages: list[dict[str, Any]] = []
    conversation = list(turns(source))
    last = max((n for n, item in enumerate(conversation) if isinstance(item, Turn)), default=-1)
    for n, item in enumerate(conversation):
        if isinstance(item, Message):
            messages.append({"role": "user" if item.role == "tool" else item.role, "content": item.content})
        elif not item.lost:
            messages += _turn(item, last=n == last, reasoning=reasoning)
    if not any(message["role"] == "assistant" for message in messages):
        raise CannotExport(f"{source.directory}: the trial has no reply of a model, so there is nothing to train on")
    line: dict[str, Any] = {"messages": messages}
    if any("tool_calls" in message for message in messages):
        line["tools"] = source.tools
    return json_lines([line])


def _turn(turn: Turn, *, last: bool, reasoning: bool) -> list[dict[str, Any]]:
    calls = [call for call in turn.calls if not call.fenced and (call.answer is not None or last)]
    reply: dict[str, Any] = {"role": "assistant", "content": turn.event.reply.text or None}
    if reasoning and turn.reasoning:
        reply["reasoning_content"] = turn.reasoning
    if turn.event.reply.refusal:
        reply["refusal"] = turn.event.reply.refusal
    if isinstance(turn.event, InheritedReply):
        reply["weight"] = 0
    if calls:
        reply["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.call.name, "arguments": call.call.arguments},
            }
            for call in calls
        ]
    elif reply["content"] is None:
        reply["content"] = ""
    answers = [
        {"role": "tool", "tool_call_id": call.id, "content": call.answer.content}
        for call in calls
        if call.answer is not None
    ]
    shown = (call.answer for call in turn.calls if call.fenced and call.answer is not None)
    return [reply, *answers, *({"role": "user", "content": answer.content} for answer in shown)]
