"""Writes a trial's events: one complete line an event, appended, constant work each.

The only writer of `events.jsonl`. An event is on disk before what it announces may happen: call
`sync` before a request leaves or a command starts.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic_core import PydanticSerializationError

from trajectories.blobs.spooled import Spooled
from trajectories.blobs.store import BlobStore, sync_directory
from trajectories.errors import RecordFull
from trajectories.interrupts import held
from trajectories.record.events import BaseEvent, Output
from trajectories.record.layout import TrialFolder
from trajectories.record.text import ShownPieces, shown, storable_json
from trajectories.writing.masking import Masker

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
        after: BaseEvent | None = None,
        clock: Callable[[], tuple[str, float]] | None = None,
    ) -> None:
        """A new record, or with `after`, its last event, the continuation of one: a torn last line is cut off.

        `clock` gives `t` and `mono_s` of the next event, for a record of something that happened before.
        """
        self.directory = directory
        self._folder = TrialFolder(directory)
        self._masker = masker or Masker()
        self.blobs = BlobStore(self._folder.blobs, pool)
        self._observer = observer
        self._clock = clock or self._now
        self._seq = 0 if after is None else after.seq + 1
        self._began = time.monotonic() - (0.0 if after is None else after.mono_s)
        if after is None:
            self._fd = os.open(self._folder.events, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        else:
            self._fd = os.open(self._folder.events, os.O_RDWR | os.O_CLOEXEC)
            whole = _whole_lines(self._fd)
            os.ftruncate(self._fd, whole)
            os.lseek(self._fd, whole, os.SEEK_SET)
        self._make_reserve()
        sync_directory(directory)

    @property
    def now_s(self) -> float:
        """Seconds since the trial began, monotonic."""
        return time.monotonic() - self._began

    def append(self, event: E) -> E:
        """Number, stamp and write the event; returns it as it was written.

        Raises: RecordFull, after the event was written if what was reserved sufficed.
        """
        stamp, mono_s = self._clock()
        event = event.model_copy(update={"seq": self._seq, "t": stamp, "mono_s": round(mono_s, 6)})
        event, line = self._storable(event)
        with held():
            full = self._write(line + b"\n")
            self._seq += 1
        if full is not None:
            raise full
        if self._observer is not None:
            try:
                self._observer(event)
            except Exception:  # a view that cannot be drawn (a closed terminal) never ends a trial
                self._observer = None
        return event

    def _now(self) -> tuple[str, float]:
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"), self.now_s

    def _storable(self, event: E) -> tuple[E, bytes]:
        """The event as it can be written, and its line: secrets masked, lone surrogates replaced."""
        try:
            line = event.model_dump_json(by_alias=True).encode()
        except PydanticSerializationError:
            event = type(event).model_validate(storable_json(event.model_dump(by_alias=True)))
            line = event.model_dump_json(by_alias=True).encode()
        if not self._masker.occurs_in(line):
            return event, line
        event = self._masker.event(event)
        return event, event.model_dump_json(by_alias=True).encode()

    def output(self, data: bytes | Spooled, written_bytes: int) -> Output:
        """Mask and keep what an action printed; `written_bytes` is how much it was before any cap."""
        if isinstance(data, Spooled):
            return self._large_output(data, written_bytes)
        data, masked = self._masker.data(data)
        text = shown(data)
        digest, blob = None, None
        if text.encode("utf-8", "replace") != data:
            try:
                digest = blob = self.blobs.put(data)
            except OSError as error:
                raise self.full(error) from None
        if digest is None:
            digest = hashlib.sha256(data).hexdigest()
        return Output(bytes=written_bytes, kept=len(data), sha256=digest, blob=blob, text=text, masked=masked)

    def keep(self, data: bytes) -> bool:
        """Keep an input of the trial, to be found again by its sha256; not if it is empty or holds a secret."""
        if not data or self._masker.occurs_in(data):
            return False
        try:
            self.blobs.put(data)
        except OSError as error:
            raise self.full(error) from None
        return True

    def _large_output(self, data: Spooled, written_bytes: int) -> Output:
        """The same in pieces: it costs a few MiB of memory, whatever its size."""
        masked, kept, text = False, 0, ShownPieces()

        def found() -> None:
            nonlocal masked
            masked = True

        def seen() -> Iterator[bytes]:
            nonlocal kept
            for piece in self._masker.pieces(data.pieces(), found):
                kept += len(piece)
                text.add(piece)
                yield piece

        try:
            digest = self.blobs.put_pieces(seen())
        except OSError as error:
            raise self.full(error) from None
        return Output(bytes=written_bytes, kept=kept, sha256=digest, blob=digest, text=text.whole(), masked=masked)

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
            self._folder.reserve.unlink(missing_ok=True)

    def _write(self, line: bytes) -> RecordFull | None:
        """Returns, instead of raising, that the disk is full if the line could be written all the same."""
        try:
            self._write_whole(line)
        except OSError as error:
            full = self.full(error)
            try:
                self._write_whole(line)  # the reserve is free now: what happened is not lost
            except OSError:
                raise full from None
            return full
        return None

    def _write_whole(self, line: bytes) -> None:
        """All of the line or nothing of it."""
        size = os.fstat(self._fd).st_size
        try:
            if os.write(self._fd, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            os.ftruncate(self._fd, size)
            os.lseek(self._fd, size, os.SEEK_SET)
            raise

    def full(self, error: OSError) -> RecordFull:
        """A writer's OSError as what it means for the trial: that the disk is full. Gives the reserve back.

        Raises: the error itself if it means something else.
        """
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise error
        self._folder.reserve.unlink(missing_ok=True)
        return RecordFull(f"{self.directory}: no space left for the record; free some and start the trial again")

    def _make_reserve(self) -> None:
        reserve = os.open(self._folder.reserve, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(reserve, 0, _RESERVE_BYTES)
        except OSError as error:
            raise self.full(error) from None
        finally:
            os.close(reserve)


def _whole_lines(descriptor: int) -> int:
    """The size of a file up to the end of its last complete line."""
    end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - 65536)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
