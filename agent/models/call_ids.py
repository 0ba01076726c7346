"""Every tool call of a trial has an id of its own, so that each result belongs to exactly one call.

The provider's id is kept where it is a text that no earlier call has.
"""

from __future__ import annotations

import itertools

from agent.models.protocol import AssistantTurn, Request
from trajectories.record.events import Reply


def with_own_ids(reply: Reply, request: Request) -> Reply:
    """The reply to this request with missing and repeated ids replaced by `call_{step}_{n}`, n from 1."""
    turns = (entry for entry in request.history if isinstance(entry, AssistantTurn))
    taken = {call.id for turn in turns for call in turn.reply.tool_calls}
    calls = []
    for number, call in enumerate(reply.tool_calls, start=1):
        if not call.id or call.id in taken:
            own = f"call_{request.step}_{number}"
            names = itertools.chain([own], (f"{own}_{again}" for again in itertools.count(2)))
            call = call.model_copy(update={"id": next(name for name in names if name not in taken)})
        taken.add(call.id)
        calls.append(call)
    return reply if tuple(calls) == reply.tool_calls else reply.model_copy(update={"tool_calls": tuple(calls)})
