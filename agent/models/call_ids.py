"""Unique ids for the tool calls of a trial, so that each result belongs to exactly one call.

The provider's id is kept if it is not empty and no earlier call has it.
"""

from __future__ import annotations

import itertools

from agent.models.growing import Replies
from agent.models.protocol import Request
from trajectories.record.events import Reply


def with_own_ids(reply: Reply, request: Request, replies: Replies | None = None) -> Reply:
    """Return the reply to this request; missing and repeated ids are replaced by `call_{step}_{n}`, n from 1.

    `replies` are those of the request's history, for a model that has them at hand.
    """
    if replies is None:
        replies = Replies()
        replies.take_in(request.history)
    taken: set[str] = set()
    calls = []
    for number, call in enumerate(reply.tool_calls, start=1):
        if not call.id or call.id in taken or call.id in replies.call_ids:
            own = f"call_{request.step}_{number}"
            candidates = itertools.chain([own], (f"{own}_{suffix}" for suffix in itertools.count(2)))
            free = (id for id in candidates if id not in taken and id not in replies.call_ids)
            call = call.model_copy(update={"id": next(free)})
        taken.add(call.id)
        calls.append(call)
    return reply if tuple(calls) == reply.tool_calls else reply.model_copy(update={"tool_calls": tuple(calls)})
