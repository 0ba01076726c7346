"""Writes a trial's events: one complete line an event, appended, constant work each.

The only writer of `events.jsonl`. An event is on disk before what it announces may happen: call
`sync` before a request leaves or a command starts.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from trajectories.errors import RecordFull
from trajectories.events import BaseEvent, Output
from trajectories.masking import Masker
from trajectories.store import BlobStore
from trajectories.text import shown

EVENTS = "events.jsonl"
_RESERVE = ".reserve"
_RESERVE_BYTES = 256 << 10
"""Kept free for the last words of a trial whose disk is full."""

E = TypeVar("E", bound=BaseEvent)


class Recorder:
    """Appends events to `<directory>/events.jsonl`.

    Raises: RecordFull when there is no space; what was appended before stays whole.
    """

    def __init__(
        self,
        directory: Path,
        *,
        masker: Masker | None = None,
        pool: Path | None = None,
        observer: Callable[[BaseEvent], None] | None = None,
    ) -> None:
        self.directory = directory
        self._masker = masker or Masker()
        self._blobs = BlobStore(directory / "blobs", pool)
        self._observer = observer
        self._seq = 0
        self._began = time.monotonic()
        self._fd = os.open(directory / EVENTS, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        self._size = 0
        self._make_reserve()

    @property
    def now_s(self) -> float:
        """Seconds since the trial began, monotonic."""
        return time.monotonic() - self._began

    def append(self, event: E) -> E:
        """Number, stamp and write the event; returns it as it was written."""
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        event = event.model_copy(update={"seq": self._seq, "t": stamp, "mono_s": round(self.now_s, 6)})
        self._write(self._masker.line(event.model_dump_json(by_alias=True).encode()) + b"\n")
        self._seq += 1
        if self._observer is not None:
            self._observer(event)
        return event

    def output(self, data: bytes, counted: int) -> Output:
        """Mask and keep what an action printed; `counted` is how much it was before any cap."""
        data, masked = self._masker.data(data)
        text = shown(data)
        digest, blob = None, None
        if text.encode("utf-8", "replace") != data:
            try:
                digest = blob = self._blobs.put(data)
            except OSError as error:
                raise self._full(error) from None
        if digest is None:
            digest = hashlib.sha256(data).hexdigest()
        return Output(bytes=counted, kept=len(data), sha256=digest, blob=blob, text=text, masked=masked)

    def sync(self) -> None:
        """Make everything appended so far survive a power failure."""
        os.fdatasync(self._fd)

    def close(self) -> None:
        """Sync and close; a second call does nothing."""
        if self._fd < 0:
            return
        try:
            os.fdatasync(self._fd)
        finally:
            os.close(self._fd)
            self._fd = -1
            (self.directory / _RESERVE).unlink(missing_ok=True)

    def _write(self, line: bytes) -> None:
        try:
            written = os.write(self._fd, line)
            if written < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            os.ftruncate(self._fd, self._size)
            os.lseek(self._fd, self._size, os.SEEK_SET)
            raise self._full(error) from None
        self._size += len(line)

    def _full(self, error: OSError) -> RecordFull:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise error
        (self.directory / _RESERVE).unlink(missing_ok=True)
        return RecordFull(f"{self.directory}: no space left for the record; free some and start the trial again")

    def _make_reserve(self) -> None:
        reserve = os.open(self.directory / _RESERVE, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(reserve, 0, _RESERVE_BYTES)
        except OSError as error:
            raise self._full(error) from None
        finally:
            os.close(reserve)
