"""The calls of a study by its records, beside the bill of the provider.

A call whose result is recorded has the number of its request and the dollars that the provider reported. A call that
was in flight when its process was killed has neither: its cost is unknown. (`agent resume` records the agent's own as
interrupted.) The bill has a line for each request that came, so it tells the cost of those too: a line that no result
names belongs to a lost call with the same messages.

    python calls.py STUDY
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from provider import digest

from trajectories.blobs.store import BlobStore
from trajectories.reading.reader import read_events, read_role_events
from trajectories.reading.totals.tally import MAYBE_BILLED
from trajectories.record.events import (
    CallFailed,
    CallFinished,
    CallStarted,
    Message,
    RoleCallFinished,
    RoleCallStarted,
)
from trajectories.record.layout import PLANS, TrialFolder


@dataclass
class Call:
    """One call of a model, by its record."""

    record: str
    name: str
    messages: str
    """Hash of the messages, as in the bill."""
    finished: bool = False
    request: int | None = None
    """Number of the request in the bill. None if no reply is recorded."""
    usd: float | None = None

    def __str__(self) -> str:
        return f"{self.record}, {self.name}: cost {'unknown' if self.usd is None else f'${self.usd:.6f}'}"


@dataclass
class Reckoning:
    """All calls of a study against the bill."""

    calls: list[Call]
    bill: list[dict[str, Any]]
    troubles: list[str] = field(default_factory=list)
    lost_usd: float = 0.0
    """Dollars of the requests that belong to lost calls, by the bill."""

    @property
    def lost(self) -> list[Call]:
        """The calls in flight at a kill."""
        return [call for call in self.calls if not call.finished]

    @property
    def recorded_usd(self) -> float:
        """Dollars of all calls whose result is recorded."""
        return sum(call.usd or 0.0 for call in self.calls)

    @property
    def billed_usd(self) -> float:
        """Dollars that the provider billed."""
        return float(sum(line["usd"] for line in self.bill))


def reckoning(study: Path) -> Reckoning:
    """Compare the records of a study with the bill."""
    bill = [json.loads(line) for line in (study / "bill.jsonl").read_text(encoding="utf-8").splitlines()]
    result = Reckoning(list(calls_of(study / "runs")), bill)
    billed = {line["request"]: line for line in bill}
    for number, times in Counter(call.request for call in result.calls if call.request is not None).items():
        if times > 1:
            result.troubles.append(f"request {number} is recorded {times} times")
    for (record, _), times in Counter((call.record, call.messages) for call in result.calls if call.finished).items():
        if times > 1:
            result.troubles.append(f"{record}: one call was paid for {times} times")
    for call in result.calls:
        if not call.finished:
            continue
        line = billed.pop(call.request, None) if call.request is not None else None
        if line is None:
            result.troubles.append(f"no bill for {call}")
        elif (line["usd"], line["messages"]) != (call.usd, call.messages):
            result.troubles.append(f"request {call.request} was billed ${line['usd']:.6f}, not as {call}")
    lost = Counter(call.messages for call in result.lost)
    for number, line in billed.items():
        if not lost[line["messages"]]:
            result.troubles.append(f"request {number} of {line['model']} is in no record, finished or lost")
        lost[line["messages"]] -= 1
        result.lost_usd += line["usd"]
    if abs(result.recorded_usd + result.lost_usd - result.billed_usd) > 1e-9:
        result.troubles.append(
            f"recorded ${result.recorded_usd:.6f} and lost ${result.lost_usd:.6f} are not ${result.billed_usd:.6f}"
        )
    return result


def calls_of(runs: Path) -> Iterator[Call]:
    """Yield the calls of all trials and plans below a directory, each record's in order."""
    for path in sorted(runs.glob("*/*/events.jsonl")):
        if b"\n" in path.read_bytes():
            yield from _of_record(path.parent, str(path.parent.relative_to(runs)))


def _of_record(directory: Path, name: str) -> Iterator[Call]:
    blobs = BlobStore(TrialFolder(directory).blobs)
    is_plan = directory.parent.name == PLANS
    messages: list[dict[str, Any]] = []
    calls: list[Call] = []
    open_call: dict[str, Call] = {}
    """The last call without a result, of the agent and of roles."""
    for event in read_role_events(directory) if is_plan else read_events(directory):
        match event:
            case Message():
                messages.append({"role": event.role, "content": event.content})
            case CallStarted():
                open_call["agent"] = Call(name, f"step {event.step}, try {event.try_}", digest(messages))
                calls.append(open_call["agent"])
            case CallFinished():
                _close(open_call.pop("agent"), event.usage_raw, event.costs.billed)
                tools = [{"function": {"name": t.name, "arguments": t.arguments}} for t in event.reply.tool_calls]
                messages.append({"role": "assistant", "content": event.reply.text, "tool_calls": tools})
            case CallFailed():
                lost = open_call.pop("agent")
                if event.error not in MAYBE_BILLED:
                    calls.remove(lost)
            case RoleCallStarted():
                request = json.loads(blobs.get(event.request)) if event.request else []
                open_call[event.role] = Call(name, f"{event.role} {event.call}", digest(request))
                calls.append(open_call[event.role])
            case RoleCallFinished() if event.usage_raw is not None:
                role = next(role for role in open_call if role != "agent")
                _close(open_call.pop(role), event.usage_raw, event.costs.billed if event.costs else None)
    yield from calls


def _close(call: Call, usage: dict[str, Any] | None, usd: float | None) -> None:
    call.finished, call.usd = True, usd
    call.request = (usage or {}).get("request")


def main() -> int:
    """Print the lost calls and the sums; return 1 if they do not agree with the bill."""
    study = Path(sys.argv[1])
    result = reckoning(study)
    print(f"{len(result.calls)} calls, {len(result.lost)} of them in flight when a process was killed")
    for call in result.lost:
        print(f"  {call}")
    print(f"recorded ${result.recorded_usd:.6f}, lost ${result.lost_usd:.6f}, billed ${result.billed_usd:.6f}")
    for trouble in result.troubles:
        print(f"trouble: {trouble}")
    return 1 if result.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
