"""The calls of a batch by its records, beside the bill of the provider of studies (`tests.wire.study`).

A call whose result is recorded has its costs, and the number of its request in the bill. A call that was in flight when
its process ended, or whose reply was cut, has neither: the record lists it, and its cost is unknown. Each line of the
bill must belong to exactly one call: to the finished one that names it, or to a listed one with the same messages.
Superseded records count as all others.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.wire.study.bill import Line
from tests.wire.study.script import digest
from trajectories.blobs.store import BlobStore
from trajectories.reading.reader import read_events
from trajectories.reading.totals.tally import MAYBE_BILLED
from trajectories.record.events import (
    CallFailed,
    CallFinished,
    CallStarted,
    FailureClass,
    Message,
    RoleCallFinished,
    RoleCallStarted,
)
from trajectories.record.layout import TrialFolder
from trajectories.record.usage import Costs


@dataclass
class Call:
    """One call of a model, by its record."""

    trial: str
    name: str
    messages: str
    """Hash of the messages, as in the bill."""
    usd: float | None = None
    """Known cost. None if it is unknown."""
    request: int | None = None
    """Number of the request in the bill. None if no reply is recorded."""
    refused: bool = False
    """True if the provider refused the call, which then cost nothing."""

    @property
    def listed(self) -> bool:
        """Return True for a call that was in flight or cut."""
        return self.request is None and not self.refused


@dataclass
class Reckoning:
    """All calls of a batch against the bill."""

    calls: list[Call]
    bill: Sequence[Line]
    troubles: list[str] = field(default_factory=list)
    lost_usd: float = 0.0
    """Dollars of the requests that belong to listed calls, by the bill."""

    @property
    def listed(self) -> list[Call]:
        """The calls in flight or cut."""
        return [call for call in self.calls if call.listed]

    @property
    def known_usd(self) -> float:
        """Known dollars of all calls."""
        return sum(call.usd or 0.0 for call in self.calls)

    @property
    def billed_usd(self) -> float:
        """Dollars of the bill."""
        return sum(line.usd for line in self.bill)

    def __str__(self) -> str:
        finished = sum(call.request is not None for call in self.calls)
        refused = sum(call.refused for call in self.calls)
        return (
            f"{len(self.calls)} calls: {finished} finished, {refused} refused, {len(self.listed)} in flight or cut; "
            f"known ${self.known_usd:.6f}, in flight or cut ${self.lost_usd:.6f}, billed ${self.billed_usd:.6f}"
        )


def reckon(batches: Iterable[Path], bill: Sequence[Line]) -> Reckoning:
    """Compare all records in the folders of batches with the bill."""
    result = Reckoning([call for batch in batches for call in calls_of(batch)], bill)
    billed = {line.request: line for line in bill if line.billed}
    numbers = Counter(call.request for call in result.calls if call.request is not None)
    result.troubles += [f"request {number} is recorded {times} times" for number, times in numbers.items() if times > 1]
    for call in result.calls:
        if call.request is None:
            continue
        line = billed.pop(call.request, None)
        if line is None:
            result.troubles.append(f"{call.trial}, {call.name}: request {call.request} is not in the bill any more")
        elif call.usd is None or abs(line.usd - call.usd) > 1e-9 or line.messages != call.messages:
            result.troubles.append(f"{call.trial}, {call.name}: cost {call.usd}, and the bill has {line}")
    listed = Counter(call.messages for call in result.listed)
    for line in billed.values():
        if not listed[line.messages]:
            result.troubles.append(f"request {line.request} of {line.model} is in no record, finished or listed")
        listed[line.messages] -= 1
        result.lost_usd += line.usd
    if abs(result.known_usd + result.lost_usd - result.billed_usd) > 1e-6:
        result.troubles.append(str(result))
    return result


def calls_of(batch: Path) -> Iterator[Call]:
    """Yield the calls of all trials in the folder of a batch, each record's in order."""
    for path in sorted(batch.glob("*/events.jsonl")):
        if b"\n" in path.read_bytes():
            yield from _of_trial(path.parent)


def _of_trial(directory: Path) -> Iterator[Call]:
    blobs = BlobStore(TrialFolder(directory).blobs)
    name = directory.name
    messages: list[dict[str, Any]] = []
    calls: list[Call] = []
    of_roles: dict[int, Call] = {}
    for event in read_events(directory):
        match event:
            case Message():
                messages.append({"role": event.role, "content": event.content})
            case CallStarted():
                calls.append(Call(name, f"step {event.step}, try {event.try_}", digest(messages)))
            case CallFinished():
                _close(calls[-1], event.usage_raw, event.costs)
                tools = [{"function": {"name": t.name, "arguments": t.arguments}} for t in event.reply.tool_calls]
                messages.append({"role": "assistant", "content": event.reply.text, "tool_calls": tools})
            case CallFailed():
                _fail(calls[-1], event.error)
            case RoleCallStarted():
                request = json.loads(blobs.get(event.request)) if event.request else []
                of_roles[event.call] = Call(name, f"{event.role} {event.call}", digest(request))
            case RoleCallFinished() if event.status == "failed" and event.error is not None:
                _fail(of_roles[event.call], event.error)
            case RoleCallFinished():
                _close(of_roles[event.call], event.usage_raw, event.costs)
    yield from calls
    yield from of_roles.values()


def _close(call: Call, usage: dict[str, Any] | None, costs: Costs | None) -> None:
    call.request = (usage or {}).get("request")
    call.usd = None if costs is None else costs.best


def _fail(call: Call, error: FailureClass) -> None:
    call.refused = error not in MAYBE_BILLED
