"""Which events belong to which step.

Step 0 is everything before the first call; step k is call k with its tries, actions and messages.
"""

from __future__ import annotations

from collections.abc import Iterable

from trajectories.events import CallStarted, Event, Exited


def events_of_step(events: Iterable[Event], step: int) -> list[Event]:
    """The events of one step, in order; what follows the exit belongs to none."""
    found: list[Event] = []
    current = 0
    for event in events:
        if isinstance(event, Exited):
            break
        if isinstance(event, CallStarted):
            current = event.step
        if current == step:
            found.append(event)
    return found


def until_step(events: Iterable[Event], step: int) -> list[Event]:
    """The events up to the end of a step, its snapshot and checkpoint included."""
    found: list[Event] = []
    current = 0
    for event in events:
        if isinstance(event, CallStarted):
            current = event.step
        if current > step or isinstance(event, Exited):
            break
        found.append(event)
    return found
