"""Assigns events to steps.

Step 0 is everything before the first call. Step k is call k with its tries, actions and messages. Events after the exit
belong to no step, unless the trial was resumed after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from trajectories.errors import RecordError
from trajectories.reading.reader import first_event, read_events
from trajectories.record.events import CallStarted, Event, Exited, Resumed


def _with_steps(events: Iterable[Event]) -> Iterator[tuple[int, Event]]:
    """Yield each event with its step."""
    current = 0
    after_exit: list[Event] | None = None
    for event in events:
        if isinstance(event, Exited):
            after_exit = []
        if isinstance(event, CallStarted):
            current = event.step
        if after_exit is None:
            yield current, event
            continue
        after_exit.append(event)
        if isinstance(event, Resumed):
            yield from ((current, waiting) for waiting in after_exit)
            after_exit = None


def read_step(trial: Path, step: int) -> list[Event]:
    """Return the events of one step of a trial.

    Raises: RecordError, also for a step that the trial does not have.
    """
    first_event(trial)
    numbered = list(_with_steps(read_events(trial)))
    last = max(current for current, _ in numbered)
    if not 0 <= step <= last:
        raise RecordError(f"{trial}: there is no step {step}; the last is {last}")
    return [event for current, event in numbered if current == step]


def until_step(events: Iterable[Event], step: int) -> list[Event]:
    """Return the events up to the end of a step, its snapshot and checkpoint included."""
    return [event for current, event in _with_steps(events) if current <= step]


def from_step(trial: Path, events: Sequence[Event], step: int) -> Sequence[Event]:
    """Return the events from the beginning of a step on, to the end of the record.

    Raises: RecordError for a step that the trial does not have.
    """
    last = 0
    for index, event in enumerate(events):
        if isinstance(event, CallStarted):
            last = event.step
        if last >= step:
            return events[index:]
    raise RecordError(f"{trial}: there is no step {step}; the last is {last}")
