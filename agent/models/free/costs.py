"""Costs and completions of the models that cost nothing."""

from __future__ import annotations

import json

from agent.models.call_ids import with_own_ids
from agent.models.protocol import AssistantTurn, Completion, Request
from agent.models.tools import ASK, BASH, COMMAND, QUESTION
from trajectories.record.events import Reply, ToolCall
from trajectories.record.usage import Costs, Usage

FREE = Costs(billed=0.0, computed=0.0, list=0.0)
NO_TOKENS = Usage(input=0, cache_read=0, cache_write_5m=0, cache_write_1h=0, output=0, reasoning=0)


def completion(command: str, request: Request, served: str) -> Completion:
    """Return one command as the completed call of a free model; no call in the history has the same id."""
    return _completion(BASH, {COMMAND: command}, request, served)


def asking(question: str, request: Request, served: str) -> Completion:
    """Return one question to the expert as the completed call of a free model."""
    return _completion(ASK, {QUESTION: question}, request, served)


def _completion(tool: str, arguments: dict[str, str], request: Request, served: str) -> Completion:
    turns = sum(isinstance(entry, AssistantTurn) for entry in request.history)
    call = ToolCall(id=f"call_{turns + 1}", name=tool, arguments=json.dumps(arguments))
    reply = with_own_ids(Reply(tool_calls=(call,)), request)  # the history of a fork has another model's ids
    return Completion(reply, NO_TOKENS, model_served=served, finish_reason="tool_calls")
