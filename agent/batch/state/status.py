"""The state of a batch from its folder alone: the journal, the records, and the lock of the coordinator.

Nothing is written. Records win over the journal: a unit whose work is over is done, whatever the journal tells. Calls
and tokens a minute are counted in the records that were written lately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from agent.batch.state.view import WINDOW_S, BatchState, Phase, RunningUnit, time_left
from trajectories.batches.events import BatchOpened, Ended, Started
from trajectories.batches.journal import read_batch_events
from trajectories.batches.lock import coordinator_of
from trajectories.batches.reader import Batch, read_batch
from trajectories.batches.results import UNREADABLE, UnitResult, results_of
from trajectories.errors import RecordError
from trajectories.reading.packed import last_write_s
from trajectories.reading.reader import read_events
from trajectories.record.events import CallFinished, RoleCallFinished
from trajectories.record.usage import Usage

_IN_FLIGHT = "in_flight"


def state_of_folder(directory: Path) -> BatchState:
    """Return the state of a batch.

    Raises: RecordError if the folder is not a batch, or a file of the batch is damaged.
    """
    holder = coordinator_of(directory)  # before the journal: what ends in between is then seen as ended
    batch = read_batch(directory)
    times = _times(directory)
    sorted_ = _Sorted(is_owned=holder is not None, times=times)
    for result in results_of(batch.units):
        sorted_.add(result)
    now = datetime.now(UTC)
    running = [(result, times.began.get(result.unit.identity)) for result in sorted_.running]
    seconds = [None if start is None else max(0.0, (now - _moment(start)).total_seconds()) for _, start in running]
    known = [each for each in seconds if each is not None]
    usage = Usage.sum(result.spending.usage for result in sorted_.every)
    calls, tokens = _per_minute(directory, sorted_.every, now) if running else (None, None)
    opened = batch.opened
    return BatchState(
        name=directory.resolve().name,
        units=len(batch.units),
        done=sorted_.done,
        waiting=sorted_.waiting,
        held=sorted_.held,
        failed=sorted_.failed,
        running=[
            RunningUnit(
                result.trial,
                result.unit.arm,
                result.steps,
                seconds=elapsed,
                node=times.nodes.get(result.unit.identity),
            )
            for (result, _), elapsed in zip(running, seconds, strict=True)
        ],
        passed=sorted_.passed,
        judged=sorted_.judged,
        unevaluated=sorted_.unevaluated,
        reruns=sum(unit.counted for unit in batch.units),
        spent_usd=sum(result.spending.usd for result in sorted_.every),
        reserved_usd=sum((result.kept_usd for result in sorted_.every), 0.0),
        budget_usd=opened.budget_usd,
        unpriced_calls=sum(_unpriced(result) for result in sorted_.every),
        tokens=usage.total,
        reserved_tokens=sum(result.kept_tokens for result in sorted_.every),
        budget_tokens=opened.budget_tokens,
        calls=sum(result.spending.calls for result in sorted_.every),
        calls_per_minute=calls,
        tokens_per_minute=tokens,
        cache_hit_rate=(usage.cache_read or 0) / usage.prompt if usage.prompt else None,
        elapsed_s=_elapsed_s(batch, now, is_owned=holder is not None),
        left_s=time_left(times.durations, known, sorted_.waiting - sum(sorted_.held.values()), opened.workers)
        if running
        else None,
        phase=_phase(batch, is_owned=holder is not None),
        coordinator=opened.coordinator if holder is None or not holder.host else holder,
    )


@dataclass
class _Times:
    """Times of the work on units, from the journal."""

    began: dict[str, str] = field(default_factory=dict)
    """By unit, the time of a start that has no end."""
    nodes: dict[str, str] = field(default_factory=dict)
    """By unit, the host of its worker if it is another one than the coordinator's."""
    durations: list[float] = field(default_factory=list)
    """Seconds from the start to the end of finished units."""


def _times(directory: Path) -> _Times:
    times = _Times()
    host = ""
    for event in read_batch_events(directory):
        match event:
            case BatchOpened():
                host = event.coordinator.host
            case Started():
                times.began[event.unit] = event.t
                if event.node is not None and event.node != host:
                    times.nodes[event.unit] = event.node
            case Ended():
                start = times.began.pop(event.unit, None)
                if start is not None and event.status == "finished":
                    times.durations.append((_moment(event.t) - _moment(start)).total_seconds())
    return times


@dataclass
class _Sorted:
    """The units by what became of them. Each is counted once."""

    is_owned: bool
    """True while a coordinator owns the batch."""
    times: _Times
    every: list[UnitResult] = field(default_factory=list)
    running: list[UnitResult] = field(default_factory=list)
    held: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    done: int = 0
    waiting: int = 0
    passed: int = 0
    judged: int = 0
    unevaluated: int = 0

    def add(self, result: UnitResult) -> None:
        """Count a unit. A failure counts as one for good only if the coordinator has decided that it is."""
        self.every.append(result)
        last = result.unit.last
        if result.state == "running" or (self.is_owned and result.unit.identity in self.times.began):
            self.running.append(result)
        elif result.work_is_over:
            self.done += 1
            self.judged += result.passed is not None
            self.passed += bool(result.passed)
            self.unevaluated += result.passed is None
        elif result.cause == UNREADABLE or (last is not None and last.status == "failed"):
            self.failed[result.cause or ("" if last is None else last.cause)] += 1
        else:
            self.waiting += 1
            if last is not None and last.status == "waiting":
                self.held[last.cause] += 1


def _unpriced(result: UnitResult) -> int:
    """Return the number of calls of unknown cost, without those that are in flight now."""
    is_running = result.state == "running"
    return result.spending.unpriced + sum(not is_running or call.why != _IN_FLIGHT for _, call in result.open_calls)


def _phase(batch: Batch, *, is_owned: bool) -> Phase:
    if is_owned:
        return "running"
    return "lost" if batch.closed is None else batch.closed.why


def _elapsed_s(batch: Batch, now: datetime, *, is_owned: bool) -> float | None:
    end = now if is_owned else None if batch.closed is None else _moment(batch.closed.t)
    return None if end is None else max(0.0, (end - _moment(batch.opened.t)).total_seconds())


def _per_minute(directory: Path, results: Sequence[UnitResult], now: datetime) -> tuple[float, float]:
    """Return the calls and the tokens a minute in the last window."""
    since = now.timestamp() - WINDOW_S
    calls = tokens = 0
    for result in results:
        for name in result.unit.folders:
            for usage in _calls_since(directory / name, since):
                calls += 1
                tokens += usage.total
    return 60 * calls / WINDOW_S, 60 * tokens / WINDOW_S


def _calls_since(trial: Path, since: float) -> Iterator[Usage]:
    """Yield the usage of each call that a record got a reply to since then."""
    try:
        if last_write_s(trial) < since:
            return
        for event in read_events(trial):
            if isinstance(event, CallFinished | RoleCallFinished) and _moment(event.t).timestamp() >= since:
                yield event.usage or Usage()
    except (RecordError, OSError):  # not begun, or damaged: `results` tells
        return


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
