"""The journal of a batch, `batch.jsonl`: its only writer, which the coordinator uses, and its reader.

An event must be on disk before the work that it announces begins: call `sync` before a unit is handed out. The writer
is called with the batch's lock.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from pydantic import ValidationError

from trajectories.batches.events import (
    BATCH_EVENT,
    BATCH_SCHEMA_VERSION,
    BatchEvent,
    BatchOpened,
    UnknownBatchEvent,
)
from trajectories.blobs.store import sync_directory
from trajectories.errors import RecordError, RecordFull
from trajectories.interrupts import held
from trajectories.reading.lines import complete_lines
from trajectories.reading.reader import problem_in_words
from trajectories.record.base import BaseEvent
from trajectories.record.layout import BatchFolder
from trajectories.writing.line_file import NO_SPACE, LineFile, stored_line
from trajectories.writing.masking import Masker

E = TypeVar("E", bound=BaseEvent)


class BatchWriter:
    """The writer of a batch's journal, open within `with`. Events that were appended before stay whole.

    Raises: RecordFull if there is no space; RecordError if the journal cannot be opened or continued.
    """

    def __init__(self, directory: Path, *, masker: Masker | None = None) -> None:
        """Begin the journal, or continue it after its last complete line. A torn last line is cut off."""
        self._path = BatchFolder(directory).events
        self._masker = masker or Masker()
        try:
            exists = self._path.exists()
            self._lines = LineFile.continued(self._path) if exists else LineFile.created(self._path)
            sync_directory(directory)
        except OSError as error:
            raise self._failed(error) from None
        try:
            line = self._lines.last_line()
            last = _parsed(line, self._path) if line else None
        except BaseException:
            self._lines.close()
            raise
        self._seq = 0 if last is None else last.seq + 1
        self._began = time.monotonic() - (0.0 if last is None else last.mono_s)

    def append(self, event: E) -> E:
        """Number, stamp and write the event, and return it as it was written."""
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        mono_s = round(time.monotonic() - self._began, 6)
        event = event.model_copy(update={"seq": self._seq, "t": stamp, "mono_s": mono_s})
        event, line = stored_line(event, self._masker)
        with held():
            try:
                self._lines.append(line + b"\n")
            except OSError as error:
                raise self._failed(error) from None
            self._seq += 1
        return event

    def sync(self) -> None:
        """Make everything that was appended so far survive a power failure."""
        try:
            self._lines.sync()
        except OSError as error:
            raise self._failed(error) from None

    def close(self) -> None:
        """Sync and close the journal. A second call does nothing."""
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _failed(self, error: OSError) -> RecordError:
        if error.errno in NO_SPACE:
            return RecordFull(f"{self._path}: no space left for the batch; free some and start the batch again")
        return RecordError(f"{self._path}: cannot be written ({error.strerror})")


def read_batch_events(directory: Path) -> Iterator[BatchEvent]:
    """Yield the events of a batch in order, also while they are being written. A torn last line is skipped.

    An event of an unknown type keeps its place as an `UnknownBatchEvent`.

    Raises: RecordError with file and line if an event does not parse, or a newer major version wrote it.
    """
    path = BatchFolder(directory).events
    try:
        for number, line in complete_lines(path):
            try:
                event = BATCH_EVENT.validate_json(line)
            except ValidationError as error:
                event = _unknown(line, error, f"{path}:{number}")
            if number == 1 or type(event) is BatchOpened:
                _check_opening(event, number, path)
            yield event
    except FileNotFoundError:
        raise RecordError(f"{directory}: not a batch of agent batch (no {path.name})") from None
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror})") from None


def _check_opening(event: BatchEvent, number: int, path: Path) -> None:
    if not isinstance(event, BatchOpened):
        raise RecordError(
            f"{path}:{number}: a batch begins with batch_opened, but this file with {event.type[:40]!r}; if it belongs "
            "to another program, move it out of this folder"
        )
    if _major(event.schema_version) != _major(BATCH_SCHEMA_VERSION):
        raise RecordError(
            f"{path}:{number}: version {event.schema_version} of the files of a batch; this version of Retrace reads "
            f"{_major(BATCH_SCHEMA_VERSION)}.x, use one that reads {event.schema_version}"
        )


def _parsed(line: bytes, path: Path) -> BatchEvent:
    try:
        return BATCH_EVENT.validate_json(line)
    except ValidationError as error:
        return _unknown(line, error, f"{path}: the last line")


def _unknown(line: bytes, error: ValidationError, place: str) -> UnknownBatchEvent:
    """Return an event of a type that this version does not know.

    Raises: RecordError that names `place` if the line is anything else.
    """
    problem = error.errors(include_url=False)[0]
    if problem["type"] == "union_tag_invalid":
        with suppress(ValidationError):
            return UnknownBatchEvent.model_validate_json(line)
    raise RecordError(f"{place}: not a valid event of a batch: {problem_in_words(problem)}") from None


def _major(version: str) -> str:
    return version.partition(".")[0]
