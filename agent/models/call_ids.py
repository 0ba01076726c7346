"""Unique ids for the tool calls of a trial, so that each result belongs to exactly one call.

The provider's id is kept if it is not empty and no earlier call has it.
"""

from __future__ import annotations

import itertools

from agent.models.protocol import AssistantTurn, Request
from trajectories.record.events import Reply


def with_own_ids(reply: Reply, request: Request) -> Reply:
    """Return the reply to this request; missing and repeated ids are replaced by `call_{step}_{n}`, n from 1."""
    turns = (entry for entry in request.history if isinstance(entry, AssistantTurn))
    taken = {call.id for turn in turns for call in turn.reply.tool_calls}
    calls = []
    for number, call in enumerate(reply.tool_calls, start=1):
        if not call.id or call.id in taken:
            own = f"call_{request.step}_{number}"
            candidates = itertools.chain([own], (f"{own}_{suffix}" for suffix in itertools.count(2)))
            call = call.model_copy(update={"id": next(id for id in candidates if id not in taken)})
        taken.add(call.id)
        calls.append(call)
    return reply if tuple(calls) == reply.tool_calls else reply.model_copy(update={"tool_calls": tuple(calls)})
