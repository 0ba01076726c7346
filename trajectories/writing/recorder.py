"""Writes the events of a trial: each is appended as one complete line, at the same cost for any length of the record.

This is the only writer of `events.jsonl`. An event must be on disk before what it announces happens: call `sync` before
a request leaves or a command starts.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeVar

from trajectories.blobs.spooled import Spooled
from trajectories.blobs.store import BlobStore, sync_directory
from trajectories.errors import RecordFull
from trajectories.interrupts import held
from trajectories.reading.lines import complete_lines
from trajectories.reading.migration import appended_mark
from trajectories.record.events import BaseEvent, CallFinished, Output
from trajectories.record.layout import TrialFolder
from trajectories.record.texts.text import FIRST_CUT, Cut, ShownPieces, shown
from trajectories.writing.line_file import NO_SPACE, LineFile, stored_line
from trajectories.writing.masking import Masker
from trajectories.writing.packing import unpack
from trajectories.writing.step_rows import RowWriter

_RESERVE_BYTES = 256 << 10
"""Size of the reserve for the last events of a trial whose disk is full."""

E = TypeVar("E", bound=BaseEvent)


class Observer(Protocol):
    """Sees every event of a trial as it is written."""

    def feed(self, event: BaseEvent) -> None:
        """Take in one event. An exception ends the observing, never the trial."""

    def note(self, line: str) -> None:
        """Show a line that no event holds, such as the progress of a pull."""


class Recorder:
    """The writer of one record, `<directory>/events.jsonl`.

    Raises: RecordFull if there is no space. Events that were appended before stay whole.
    """

    def __init__(
        self,
        directory: Path,
        *,
        masker: Masker | None = None,
        pool: Path | None = None,
        observer: Observer | None = None,
        after: BaseEvent | None = None,
        clock: Callable[[], tuple[str, float]] | None = None,
        has_steps: bool = True,
    ) -> None:
        """Begin a record, or continue one after its last event `after`. A torn last line is cut off.

        A packed record is unpacked first. `clock` returns `t` and `mono_s` of the next event, for a record of something
        that happened before. Without `has_steps`, no index of steps is written.
        """
        self.directory = directory
        self._folder = TrialFolder(directory)
        self._masker = masker or Masker()
        self.blobs = BlobStore(self._folder.blobs, pool)
        self.observer = observer
        self._clock = clock or self._now
        self.steps = 0
        """Number of the last step whose call was written, also if the disk was full just then."""
        self._mark = b""
        """End of each line in a record that an older version began."""
        self._seq = 0 if after is None else after.seq + 1
        self._began = time.monotonic() - (0.0 if after is None else after.mono_s)
        if after is None:
            if self._folder.packed.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self._folder.packed))
            self._lines = LineFile.created(self._folder.events)
        else:
            self._unpack()
            self._mark = next((appended_mark(line) for _, line in complete_lines(self._folder.events)), b"")
            self._lines = LineFile.continued(self._folder.events)
        self._make_reserve()
        self._row_writer = RowWriter(directory, continued=after is not None) if has_steps else None
        sync_directory(directory)

    @property
    def now_s(self) -> float:
        """Seconds since the trial began, by a clock that never goes back."""
        return time.monotonic() - self._began

    def append(self, event: E) -> E:
        """Number, stamp and write the event, and return it as it was written.

        Raises: RecordFull. The event is in the record all the same if the reserve sufficed for it.
        """
        stamp, mono_s = self._clock()
        event = event.model_copy(update={"seq": self._seq, "t": stamp, "mono_s": round(mono_s, 6)})
        event, line = stored_line(event, self._masker)
        if self._mark:
            line = line[:-1] + self._mark
        with held():
            full = self._write(line + b"\n")
            self._seq += 1
            if self._row_writer is not None:
                self._row_writer.feed(event, line + b"\n")
        if isinstance(event, CallFinished):
            self.steps = event.step
        if full is not None:
            raise full
        if self.observer is not None:
            try:
                self.observer.feed(event)
            except Exception:  # a view that cannot be drawn, for example on a closed terminal, never ends a trial
                self.observer = None
        return event

    def note(self, line: str) -> None:
        """Show the observer a line that no event holds, such as the progress of a pull."""
        if self.observer is not None:
            try:
                self.observer.note(line)
            except Exception:  # as above
                self.observer = None

    def _now(self) -> tuple[str, float]:
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"), self.now_s

    def output(self, data: bytes | Spooled, written_bytes: int, cut: Cut = FIRST_CUT) -> Output:
        """Mask and keep the output of an action. `written_bytes` is its size before any limit cut it.

        `cut` is the rule for the text that the model sees.
        """
        if isinstance(data, Spooled):
            return self._large_output(data, written_bytes, cut)
        cut_off = len(data) < written_bytes
        data, masked = self._masker.data(data)
        if cut_off and (whole := data) != (data := self._masker.beginning(whole)):
            masked = True
        text = shown(data, cut)
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
        """Keep an input of the trial as a blob, and return True; not if it is empty or holds a secret."""
        if not data or self._masker.occurs_in(data):
            return False
        try:
            self.blobs.put(data)
        except OSError as error:
            raise self.full(error) from None
        return True

    def _large_output(self, data: Spooled, written_bytes: int, cut: Cut) -> Output:
        """Mask and keep a large output in pieces. It takes a few MiB of memory for any size."""
        masked, kept, text = False, 0, ShownPieces(cut)

        def note_secret() -> None:
            nonlocal masked
            masked = True

        def masked_pieces() -> Iterator[bytes]:
            nonlocal kept
            cut_off = len(data) < written_bytes
            for piece in self._masker.pieces(data.pieces(), note_secret, cut_off=cut_off):
                kept += len(piece)
                text.add(piece)
                yield piece

        try:
            digest = self.blobs.put_pieces(masked_pieces())
        except OSError as error:
            raise self.full(error) from None
        return Output(bytes=written_bytes, kept=kept, sha256=digest, blob=digest, text=text.whole(), masked=masked)

    def sync(self) -> None:
        """Make everything that was appended so far survive a power failure."""
        self._lines.sync()

    def close(self) -> None:
        """Sync and close the record. A second call does nothing."""
        if self._lines.closed:
            return
        try:
            self._lines.close()
        finally:
            if self._row_writer is not None:
                self._row_writer.close()
            self._folder.reserve.unlink(missing_ok=True)

    def _write(self, line: bytes) -> RecordFull | None:
        """Write the line. Return an error, instead of raising it, if the disk is full but the reserve sufficed."""
        try:
            self._lines.append(line)
        except OSError as error:
            full = self.full(error)
            try:
                self._lines.append(line)  # full() has freed the reserve
            except OSError:
                raise full from None
            return full
        return None

    def full(self, error: OSError) -> RecordFull:
        """Return the error that a full disk means for the trial, and free the reserve.

        Raises: the OSError itself if it has another cause.
        """
        if error.errno not in NO_SPACE:
            raise error
        self._folder.reserve.unlink(missing_ok=True)
        return RecordFull(f"{self.directory}: no space left for the record; free some and start the trial again")

    def _unpack(self) -> None:
        try:
            unpack(self.directory)
        except OSError as error:
            raise self.full(error) from None

    def _make_reserve(self) -> None:
        self._folder.reserve.unlink(missing_ok=True)  # whatever a killed writer or anybody else left there
        reserve = os.open(self._folder.reserve, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(reserve, 0, _RESERVE_BYTES)
        except OSError as error:
            raise self.full(error) from None
        finally:
            os.close(reserve)
