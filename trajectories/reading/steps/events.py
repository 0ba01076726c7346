"""Assigns events to steps.

Step 0 is everything before the first call. Step k is call k with its tries, actions and messages. Events after the exit
belong to no step, unless the trial was resumed after it. Only the commit that a finished trial ends with belongs to its
last step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from trajectories.reading.steps.index import IndexMisfit, StepIndex, read_index
from trajectories.record.events import CallStarted, Checkpoint, Event, Exited, Resumed

T = TypeVar("T")


def _with_steps(events: Iterable[Event]) -> Iterator[tuple[int, Event]]:
    """Yield each event with its step."""
    current = 0
    after_exit: list[Event] | None = None
    for event in events:
        if isinstance(event, Exited):
            after_exit = []
        if isinstance(event, CallStarted):
            current = event.step
        if after_exit is None or isinstance(event, Checkpoint):
            yield current, event
            continue
        after_exit.append(event)
        if isinstance(event, Resumed):
            yield from ((current, waiting) for waiting in after_exit)
            after_exit = None


def read_step(trial: Path, step: int) -> list[Event]:
    """Return the events of one step of a trial, without the commit that it ends with. Only they are parsed.

    Raises: RecordError, also for a step that the trial does not have.
    """
    return _by_index(trial, lambda index: [event for row in index.of_step(step) for event in index.events(row)])


def events_from_step(trial: Path, step: int) -> Iterator[Event]:
    """Return the events from the beginning of a step on, to the end of the record. Only they are parsed.

    Raises: RecordError for a step that the trial does not have.
    """
    return _by_index(trial, lambda index: index.events_from(index.since(step)))


def events_of_last(trial: Path, count: int) -> Iterator[Event]:
    """Return the events of the last `count` steps and all that follow. Only they are parsed.

    Raises: RecordError if the events cannot be read.
    """
    return _by_index(trial, lambda index: index.events_from(index.since(max(0, index.steps - count + 1))))


def _by_index(trial: Path, read: Callable[[StepIndex], T]) -> T:
    """Read with the index of steps, which is made again if it does not fit."""
    try:
        return read(read_index(trial))
    except IndexMisfit:
        return read(read_index(trial, rebuild=True))


def until_step(events: Iterable[Event], step: int) -> list[Event]:
    """Return the events up to the end of a step, its snapshot and checkpoint included."""
    return [event for current, event in _with_steps(events) if current <= step]
