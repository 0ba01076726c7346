"""The index of steps while a record is written: a row is appended to `steps.jsonl` when a step is over.

The index is derived from the events, so it is never synced. If it cannot be written, it ends there, and readers make
the rest from the events.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from trajectories.errors import RecordError
from trajectories.reading.steps.index import row_line, rows_so_far, store_rows
from trajectories.reading.steps.rows import StepRows
from trajectories.record.base import BaseEvent
from trajectories.record.layout import TrialFolder


class RowWriter:
    """The writer of the rows of one record."""

    def __init__(self, directory: Path, *, continued: bool) -> None:
        """Begin the index of a new record, or continue that of one with events."""
        self._fd = -1
        with suppress(OSError, RecordError):
            self._rows = rows_so_far(directory) if continued else StepRows()
            store_rows(directory, self._rows.rows)
            self._fd = os.open(TrialFolder(directory).steps, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)

    def feed(self, event: BaseEvent, line: bytes) -> None:
        """Take in an event that was written as this line. Nothing that fails here ends the trial."""
        if self._fd < 0:
            return
        try:
            row = self._rows.feed((event,), line)
            del self._rows.rows[:-1]  # a long trial would hold all of them
            if row is not None:
                os.write(self._fd, row_line(row))
        except Exception:  # a full disk, above all; whatever it is, the events are written
            self.close()

    def close(self) -> None:
        """End the writing of rows. A second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
