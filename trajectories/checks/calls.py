"""Calls and the conversation: every outcome has its call, and every request holds exactly the messages before it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trajectories.checks.usage_sums import does_not_add_up
from trajectories.record.conversation import Conversation
from trajectories.record.events import CallFailed, CallFinished, CallStarted, Event, InheritedReply, Message, Resumed
from trajectories.record.usage import Costs

_SHOWN = 5


class Calls:
    """Rule `calls`. After `resumed`, a call that was in flight may have been left without an outcome."""

    name = "calls"

    def __init__(self) -> None:
        self._conversation = Conversation()
        self._ids: set[str] = set()
        self._turns = 0
        self._steps = 0
        self._in_flight: CallStarted | None = None
        self._last: CallStarted | None = None
        self._failed: CallFailed | None = None
        self._resumed = False

    def feed(self, event: Event) -> Iterator[str]:
        match event:
            case Message() | InheritedReply():
                yield from self._add(event)
            case CallStarted():
                yield from self._started(event)
            case CallFinished():
                yield from self._outcome(event)
                if event.step != self._steps + 1:
                    yield f"step {event.step} finishes instead of step {self._steps + 1}"
                self._steps = max(self._steps, event.step)
                self._failed = None
                yield from self._add(event)
                yield from does_not_add_up(event.usage, event.usage_raw)
                yield from _bad_costs(event.costs)
            case CallFailed():
                yield from self._outcome(event)
                self._failed = event
                yield from does_not_add_up(event.usage, event.usage_raw)
                yield from _bad_costs(event.costs or Costs())
            case Resumed():
                self._resumed = True

    def end(self) -> Iterator[str]:
        return iter(())

    def _add(self, turn: Message | CallFinished | InheritedReply) -> Iterator[str]:
        if turn.id in self._ids:
            yield f"message id {turn.id!r} is used twice"
        self._ids.add(turn.id)
        self._turns += 1
        self._conversation.add(turn)

    def _started(self, call: CallStarted) -> Iterator[str]:
        if self._in_flight is not None and not self._resumed:
            yield f"a call of step {call.step} begins while that of step {self._in_flight.step} has no outcome"
        if call.step != self._steps + 1:
            yield f"a call of step {call.step} begins instead of one of step {self._steps + 1}"
        yield from self._try(call)
        new = self._conversation.take_new_ids()
        if call.message_ids != new:
            yield f"message_ids are {_ids(call.message_ids)}, but the messages since the call before are {_ids(new)}"
        if call.messages != self._turns:
            yield f"messages is {call.messages}, but there are {self._turns} so far"
        if call.messages_sha256 != self._conversation.sha256:
            yield f"messages_sha256 {call.messages_sha256[:16]!r}... is not the hash of the messages so far"
        self._in_flight = self._last = call
        self._failed, self._resumed = None, False

    def _try(self, call: CallStarted) -> Iterator[str]:
        again = self._last is not None and self._last.step == call.step
        last_try = self._last.try_ if self._last is not None and again else 0
        allowed = {last_try + 1} | ({1, max(1, last_try)} if self._resumed else set())
        if call.try_ not in allowed:
            yield f"try {call.try_} of step {call.step} instead of {last_try + 1}"
        if self._failed is not None and not self._failed.retry and not self._resumed:
            yield f"step {call.step} is tried again after a failure that excludes a retry"

    def _outcome(self, event: CallFinished | CallFailed) -> Iterator[str]:
        call = self._in_flight
        if call is None or (call.step, call.try_) != (event.step, event.try_):
            yield f"{event.type} of step {event.step}, try {event.try_}, has no call_started"
        self._in_flight = None


def _bad_costs(costs: Costs) -> Iterator[str]:
    for name, value in costs:
        if value is not None and not (math.isfinite(value) and value >= 0):
            yield f"costs.{name} is {value}"


def _ids(ids: tuple[str, ...]) -> str:
    return f"{', '.join(repr(id)[:40] for id in ids[:_SHOWN]) or 'none'}{', ...' if len(ids) > _SHOWN else ''}"
