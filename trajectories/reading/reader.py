"""Reads the events of a trial, also while they are being written.

A torn last line, which a crash leaves, is skipped. Any other line that does not parse is an error that names it.
Unknown fields are ignored. A record of an older major version is migrated, and a newer one is rejected with its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from trajectories.errors import RecordError
from trajectories.reading.lines import complete_lines
from trajectories.reading.migration import Migration, version_of
from trajectories.record.events import EVENT, Event, RoleRecordStarted, TrialStarted, Unknown
from trajectories.record.layout import EVENTS, TrialFolder


def events_file(trial: Path) -> Path:
    """Return the path of a trial's events, packed or not, given its directory or the file itself.

    Raises: RecordError if there is no such file.
    """
    path = next((path for path in (trial, *TrialFolder(trial).records) if path.is_file()), None)
    if path is None:
        raise RecordError(f"{trial}: not a trial (no {EVENTS})")
    return path


def has_begun(directory: Path) -> bool:
    """Report if the record of a trial holds an event. A crash may have left an empty one, or a torn first line.

    Raises: RecordError, OSError if it cannot be read.
    """
    folder = TrialFolder(directory)
    return folder.is_trial() and next(iter(complete_lines(folder.record)), None) is not None


def read_events(trial: Path) -> Iterator[Event]:
    """Yield the events of a trial in order.

    Raises: RecordError with file and line if an event does not parse.
    """
    path = events_file(trial)
    parser = EventParser()
    for number, line in complete_lines(path):
        yield from parser.events(line, f"{path}:{number}")


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


def read_role_events(directory: Path) -> Iterator[Event]:
    """Yield the events of a record without a trial, in order.

    Raises: RecordError with file and line if an event does not parse.
    """
    path = events_file(directory)
    parser = EventParser(of_role=True)
    for number, line in complete_lines(path):
        yield from parser.events(line, f"{path}:{number}")


class EventParser:
    """Parses the lines of one record of any version that can be read.

    The first line that it is given must be the first of the record, which names the version. Of the others, lines may
    be left out. The first event is a `trial_started`, or a `role_record_started` if `of_role`.
    """

    def __init__(self, *, of_role: bool = False) -> None:
        self._migration: Migration | None = None
        self._first = RoleRecordStarted if of_role else TrialStarted

    def events(self, line: bytes, place: str) -> list[Event]:
        """Return the events that a line holds: one, or several for some lines of an older version.

        Raises: RecordError that names `place`, also if the first event is of another kind.
        """
        first = self._migration is None
        try:
            if self._migration is None:
                self._migration = Migration(version_of(line))
            lines = list(self._migration.lines(line))
        except RecordError as error:
            raise RecordError(f"{place}: {error}") from None
        events = [parse_event(migrated, place) for migrated in lines]
        if first and not isinstance(events[0], self._first):
            if isinstance(events[0], RoleRecordStarted):
                raise RecordError(f"{place}: the record of a {events[0].role}, not of a trial; agent show prints it")
            expected = self._first.model_fields["type"].default
            raise RecordError(f"{place}: a record begins with {expected}, but this one with {events[0].type}")
        return events


def parse_event(line: bytes, place: str) -> Event:
    """Parse one line of this schema's major version as an event. Errors name `place`.

    Raises: RecordError.
    """
    try:
        return EVENT.validate_json(line)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        if problem["type"] == "union_tag_invalid":
            with suppress(ValidationError):
                return Unknown.model_validate_json(line)
        raise RecordError(f"{place}: not a valid event: {problem_in_words(problem)}") from None


def problem_in_words(problem: ErrorDetails) -> str:
    """Return what is wrong with a line, and the field that it is about."""
    field = ".".join(str(part) for part in problem["loc"])
    return f"{problem['msg']}{f' ({field})' if field else ''}"
