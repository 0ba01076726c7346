"""Calls and the conversation: every outcome has its call, and every request holds exactly the messages before it.

Each thread has a conversation and calls of its own; steps are counted over all threads.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from trajectories.checks.usage_sums import does_not_add_up
from trajectories.record.conversation import Conversation
from trajectories.record.events import (
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    InheritedReply,
    Message,
    Paused,
    Resumed,
)
from trajectories.record.usage import Costs
from trajectories.record.words import WAITS

_SHOWN = 5


class _Thread:
    """One thread of the agent: its conversation, and its call in flight."""

    def __init__(self) -> None:
        self.conversation = Conversation()
        self.turns = 0
        self.in_flight: CallStarted | None = None
        self.last: CallStarted | None = None
        self.failed: CallFailed | None = None
        self.resumed = False


class Calls:
    """Rule `calls`. After `resumed`, a call that was in flight may have been left without an outcome."""

    name = "calls"

    def __init__(self) -> None:
        self._threads: defaultdict[str | None, _Thread] = defaultdict(_Thread)
        self._ids: set[str] = set()
        self._steps = 0
        self._waits = False
        """True if the last pause was a wait before a call."""

    def feed(self, event: Event) -> Iterator[str]:
        match event:
            case Message():
                yield from self._add(event, self._threads[event.thread])
            case InheritedReply():
                yield from self._add(event, self._threads[None])
            case CallStarted():
                yield from self._started(event, self._threads[event.thread])
            case CallFinished():
                thread = self._threads[event.thread]
                yield from _outcome(event, thread)
                if event.step != self._steps + 1:
                    yield f"step {event.step} finishes instead of step {self._steps + 1}"
                self._steps = max(self._steps, event.step)
                thread.failed = None
                yield from self._add(event, thread)
                yield from does_not_add_up(event.usage, event.usage_raw)
                yield from _bad_costs(event.costs)
            case CallFailed():
                thread = self._threads[event.thread]
                yield from _outcome(event, thread)
                thread.failed = event
                yield from does_not_add_up(event.usage, event.usage_raw)
                yield from _bad_costs(event.costs or Costs())
            case Paused():
                self._waits = event.why in WAITS
            case Resumed() if not self._waits:
                for thread in self._threads.values():
                    thread.resumed = True

    def end(self) -> Iterator[str]:
        return iter(())

    def _add(self, turn: Message | CallFinished | InheritedReply, thread: _Thread) -> Iterator[str]:
        if turn.id in self._ids:
            yield f"message id {turn.id!r} is used twice"
        self._ids.add(turn.id)
        thread.turns += 1
        thread.conversation.add(turn)

    def _started(self, call: CallStarted, thread: _Thread) -> Iterator[str]:
        if thread.in_flight is not None and not thread.resumed:
            yield f"a call of step {call.step} begins while that of step {thread.in_flight.step} has no outcome"
        if call.step != self._steps + 1:
            yield f"a call of step {call.step} begins instead of one of step {self._steps + 1}"
        yield from _try(call, thread)
        new = thread.conversation.take_new_ids()
        if call.message_ids is not None and call.message_ids != new:
            yield f"message_ids are {_ids(call.message_ids)}, but the messages since the call before are {_ids(new)}"
        if call.messages is not None and call.messages != thread.turns:
            yield f"messages is {call.messages}, but there are {thread.turns} so far"
        if call.messages_sha256 is not None and call.messages_sha256 != thread.conversation.sha256:
            yield f"messages_sha256 {call.messages_sha256[:16]!r}... is not the hash of the messages so far"
        thread.in_flight = thread.last = call
        thread.failed, thread.resumed = None, False


def _try(call: CallStarted, thread: _Thread) -> Iterator[str]:
    again = thread.last is not None and thread.last.step == call.step
    last_try = thread.last.try_ if thread.last is not None and again else 0
    allowed = {last_try + 1} | ({1, max(1, last_try)} if thread.resumed else set())
    if call.try_ not in allowed:
        yield f"try {call.try_} of step {call.step} instead of {last_try + 1}"
    if thread.failed is not None and not thread.failed.retry and not thread.resumed:
        yield f"step {call.step} is tried again after a failure that excludes a retry"


def _outcome(event: CallFinished | CallFailed, thread: _Thread) -> Iterator[str]:
    call = thread.in_flight
    if call is None or (call.step, call.try_) != (event.step, event.try_):
        yield f"{event.type} of step {event.step}, try {event.try_}, has no call_started"
    thread.in_flight = None


def _bad_costs(costs: Costs) -> Iterator[str]:
    for name, value in costs:
        if value is not None and not (math.isfinite(value) and value >= 0):
            yield f"costs.{name} is {value}"


def _ids(ids: tuple[str, ...]) -> str:
    return f"{', '.join(repr(id)[:40] for id in ids[:_SHOWN]) or 'none'}{', ...' if len(ids) > _SHOWN else ''}"
