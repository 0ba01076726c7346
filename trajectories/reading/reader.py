"""Reads the events of a trial, also while they are being written.

A torn last line, which a crash leaves, is skipped. Any other line that does not parse is an error that names it.
Unknown fields are ignored, and an unknown major version is rejected with its number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from trajectories.errors import RecordError
from trajectories.reading.lines import complete_lines
from trajectories.record.events import EVENT, SCHEMA_VERSION, Event, TrialStarted, Unknown
from trajectories.record.layout import EVENTS

_MAJOR = SCHEMA_VERSION.partition(".")[0]


def events_file(trial: Path) -> Path:
    """Return the path of a trial's events, given its directory or the file itself.

    Raises: RecordError if there is no such file.
    """
    path = trial if trial.is_file() else trial / EVENTS
    if not path.is_file():
        raise RecordError(f"{trial}: not a trial (no {EVENTS})")
    return path


def read_events(trial: Path) -> Iterator[Event]:
    """Yield the events of a trial in order.

    Raises: RecordError with file and line if an event does not parse.
    """
    path = events_file(trial)
    for number, line in complete_lines(path):
        yield parse_event(line, f"{path}:{number}", first=number == 1)


def first_event(trial: Path) -> TrialStarted:
    """Return the first event of a trial.

    Raises: RecordError.
    """
    return after_first(trial, read_events(trial))[0]


def after_first(trial: Path, events: Iterable[Event]) -> tuple[TrialStarted, Iterator[Event]]:
    """Split a trial's events into the first one and those after it.

    Raises: RecordError if there are none, or if the first is not a `trial_started`.
    """
    stream = iter(events)
    start = next(stream, None)
    if not isinstance(start, TrialStarted):
        raise RecordError(f"{trial}: the record is empty")
    return start, stream


def parse_event(line: bytes, place: str, *, first: bool = False) -> Event:
    """Parse one line as an event. Errors name `place`, and with `first` the event must be a `trial_started`.

    Raises: RecordError.
    """
    try:
        event = EVENT.validate_json(line)
    except ValidationError as error:
        if first:
            _check_version(line, place)
        problem = error.errors(include_url=False)[0]
        if problem["type"] == "union_tag_invalid" and not first:
            with suppress(ValidationError):
                return Unknown.model_validate_json(line)
        field = ".".join(str(part) for part in problem["loc"])
        raise RecordError(f"{place}: not a valid event: {problem['msg']}{f' ({field})' if field else ''}") from None
    if first:
        if not isinstance(event, TrialStarted):
            raise RecordError(f"{place}: a record begins with trial_started, but this one with {event.type}")
        _check_version(line, place)
    return event


def _check_version(line: bytes, place: str) -> None:
    try:
        version = str(json.loads(line).get("schema_version", SCHEMA_VERSION))
    except (ValueError, AttributeError, RecursionError):
        return
    if version.partition(".")[0] != _MAJOR:
        raise RecordError(
            f"{place}: schema version {version}; this version of Retrace reads {_MAJOR}.x, use one that reads {version}"
        )
