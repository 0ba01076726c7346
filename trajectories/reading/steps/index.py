"""The index of a trial's steps: one row for each step, with its figures and the place of its events.

The index is derived from the events and is kept beside them in `steps.jsonl`: a line that names its version, then a
line for each row. The writer of a record appends a row when a step is over; of two rows for one place the later holds.

The events are the truth. A row holds the sha256 of all events up to its end, so rows that were made of other events,
or of a version that is unknown here, are not used; the rows that are missing are made from the events, and stored if
no process is writing the record and the folder can be written. Nobody who can write in the folder is kept from writing
a false index with a fitting sha256. Use it to show and to find steps, and never to score a trial.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from itertools import chain, islice, zip_longest
from pathlib import Path

from pydantic import ValidationError

from trajectories.errors import RecordError
from trajectories.plain_files import open_plain
from trajectories.reading.lines import complete_lines
from trajectories.reading.live import is_live
from trajectories.reading.packed import open_record, record_state
from trajectories.reading.reader import EventParser, events_file
from trajectories.reading.steps.rows import DIGITS, Digest, StepRow, StepRows
from trajectories.record.events import CallStarted, Event
from trajectories.record.layout import TrialFolder

VERSION = 1
"""Version of the rows. An index of another version is made again."""
_LEAST_BYTES = 1 << 20
"""An index that is larger than this and than the events is not read."""
_PIECE = 1 << 20


class IndexMisfit(RecordError):
    """The index names a place in the events at which its step does not stand."""


@dataclass(frozen=True)
class StepIndex:
    """The rows of a trial's steps, in the order of the record.

    A step has one row, unless the record is damaged and returns to an earlier step. Events after the exit of a trial
    belong to no step.
    """

    trial: Path
    """Directory of the trial, or its file of events."""
    rows: Sequence[StepRow]
    """The rows; the last step may not be over."""

    @property
    def last(self) -> int:
        """Number of the last step, also of one without a reply."""
        return max(row.step for row in self.rows)

    @property
    def steps(self) -> int:
        """Number of steps: of calls with a reply."""
        return sum(row.replied for row in self.rows)

    def of_step(self, step: int) -> Sequence[StepRow]:
        """Return the rows of a step.

        Raises: RecordError for a step that the trial does not have.
        """
        rows = [row for row in self.rows if row.step == step]
        if not rows:
            raise RecordError(f"{self.trial}: there is no step {step}; the last is {self.last}")
        return rows

    def since(self, step: int) -> StepRow:
        """Return the row of the first step from this number on.

        Raises: RecordError if the trial has no such step.
        """
        row = next((row for row in self.rows if row.step >= step), None)
        return self.of_step(step)[0] if row is None else row

    def events(self, row: StepRow) -> list[Event]:
        """Return the events of a row. Only they are parsed.

        Raises: IndexMisfit if they are not the events of its step.
        """
        events: list[Event] = []
        for at, _, parsed in self._from(row):
            if at >= row.end:
                break
            events += parsed
        steps = {event.step for event in events if isinstance(event, CallStarted)}
        if not events or not _begins(row, events[0]) or steps > {row.step}:
            raise IndexMisfit(f"{self.trial}: the index of steps does not fit to the events of step {row.step}")
        return events

    def events_from(self, row: StepRow) -> Iterator[Event]:
        """Return the events from the beginning of a row to the end of the record.

        Raises: IndexMisfit if its step does not begin there.
        """
        events = (event for _, _, parsed in self._from(row) for event in parsed)
        first = next(events, None)
        if first is None or not _begins(row, first):
            raise IndexMisfit(f"{self.trial}: the index of steps does not fit to the events of step {row.step}")
        return chain((first,), events)

    def _from(self, row: StepRow) -> Iterator[tuple[int, bytes, Sequence[Event]]]:
        try:
            yield from _lines_from(events_file(self.trial), row.start)
        except RecordError as error:
            raise IndexMisfit(str(error)) from None


def read_index(trial: Path, *, rebuild: bool = False) -> StepIndex:
    """Return the index of a trial's steps, given its directory or the file of events; also while it is written.

    The stored index saves parsing the events, but not reading them. It is stored again if rows were missing. With
    `rebuild` the stored index is not read.

    Raises: RecordError if the events cannot be read.
    """
    stored, rows = _rows(events_file(trial), rebuild=rebuild)
    if not rows.end:
        raise RecordError(f"{trial}: the record is empty")
    if (rebuild or rows.rows[-1:] != stored[-1:]) and not is_live(events_file(trial).parent):
        store_rows(events_file(trial).parent, rows.rows)
    return StepIndex(trial, rows.all())


def first_false_step(trial: Path) -> int | None:
    """Return the first step whose stored row is believed and differs from the events. None if there is none.

    Raises: RecordError if the events cannot be read.
    """
    path = events_file(trial)
    stored, rows = _rows(path, rebuild=False)
    pairs = zip_longest(rows.rows, rows_of(trial).rows) if stored else ()
    return next((row.step for row, true in pairs if row != true and row is not None), None)


def rows_so_far(trial: Path) -> StepRows:
    """Return the rows of a trial so that the events that come next can be fed to them.

    Raises: RecordError if the events cannot be read.
    """
    return _rows(events_file(trial), rebuild=False)[1]


def _rows(path: Path, *, rebuild: bool) -> tuple[list[StepRow], StepRows]:
    """Return the stored rows that hold, and all rows."""
    stored = [] if rebuild else _stored(path)
    rows = _continued(path, stored) if stored else None
    return ([], _scanned(path, StepRows())) if rows is None else (stored, rows)


def rows_of(trial: Path) -> StepRows:
    """Return the rows of a trial, made from its events alone.

    Raises: RecordError.
    """
    return _scanned(events_file(trial), StepRows())


def head_line() -> bytes:
    """Return the first line of a stored index."""
    return json.dumps({"version": VERSION}).encode() + b"\n"


def row_line(row: StepRow) -> bytes:
    """Return the line of a row in a stored index."""
    return row.model_dump_json(exclude_defaults=True).encode() + b"\n"


def store_rows(directory: Path, rows: Iterable[StepRow]) -> None:
    """Replace the stored index of a trial. If it cannot be written, the events hold everything."""
    path = TrialFolder(directory).steps
    temporary = path.with_suffix(".new")
    with suppress(OSError):
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:
            file.write(head_line())
            file.writelines(map(row_line, rows))
        os.replace(temporary, path)


def _stored(path: Path) -> list[StepRow]:
    """Return the rows of the stored index that can be rows of these events; none if there is no such index."""
    rows: list[StepRow] = []
    try:
        with open_plain(TrialFolder(path.parent).steps) as file:
            if (
                os.fstat(file.fileno()).st_size > max(_LEAST_BYTES, record_state(path).size)
                or file.readline() != head_line()
            ):
                return []
            for line in file:
                row = StepRow.model_validate_json(line) if line.endswith(b"\n") else None
                if row is None:
                    break
                if rows and rows[-1].start == row.start:
                    rows.pop()
                if row.start != (rows[-1].end if rows else 0) or row.end <= row.start:
                    break
                rows.append(row)
    except (OSError, RecordError, ValidationError):
        pass  # the rows before a torn line hold
    return rows


def _continued(path: Path, stored: Sequence[StepRow]) -> StepRows | None:
    """Return the stored rows and those of the events after them. None if the rows were made of other events.

    The last row is made again, because its step may not have been over.
    """
    digest = hashlib.sha256()
    try:
        with open_record(path) as file:
            _take_in(digest, file, stored[-1].start)
            before = digest.copy()
            _take_in(digest, file, stored[-1].end - stored[-1].start)
        if digest.hexdigest()[:DIGITS] != stored[-1].sha256:
            return None
        return _scanned(path, StepRows(stored[:-1], before))
    except RecordError:  # a false index, or events that cannot be read, as a reading without the index will show
        return None


def _take_in(digest: Digest, file: BufferedReader, count: int) -> None:
    while count > 0 and (piece := file.read(min(_PIECE, count))):
        digest.update(piece)
        count -= len(piece)


def _scanned(path: Path, rows: StepRows) -> StepRows:
    for _, line, events in _lines_from(path, rows.end):
        rows.feed(events, line)
    return rows


def _lines_from(path: Path, start: int) -> Iterator[tuple[int, bytes, Sequence[Event]]]:
    """Yield each line from an offset on, with its offset and its events.

    Raises: RecordError if an event does not parse.
    """
    parser = EventParser()
    if start:
        for _, first in islice(complete_lines(path), 1):
            parser.events(first, f"{path}:1")
    at = start
    for number, line in complete_lines(path, start):
        yield at, line, parser.events(line, f"{path}: byte {at}" if start else f"{path}:{number}")
        at += len(line)


def _begins(row: StepRow, event: Event) -> bool:
    if row.start == 0:
        return row.step == 0
    return isinstance(event, CallStarted) and event.step == row.step
