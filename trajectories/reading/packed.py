"""Reading of a record's file, packed or not: whoever reads events opens them here.

A packed record is one frame of zstd whose header holds the size of the content. A file that is cut short, damaged or
larger than its header tells is an error with one line.
"""

from __future__ import annotations

import errno
import io
import os
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

from trajectories.errors import RecordError
from trajectories.plain_files import open_plain
from trajectories.record.layout import EVENTS, PACKED, TrialFolder

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

UNPACKED_BYTES = 8 << 30
"""Largest content of a packed record."""
_PIECE = 1 << 20
_HEADER_BYTES = 18
_SUFFIX = Path(PACKED).suffix


@dataclass(frozen=True)
class RecordState:
    """The state of a record's file. Packing does not change it; every event does."""

    mtime_ns: int
    """Time of the last write of an event."""
    size: int
    """Size of the events, unpacked."""


def record_state(path: Path) -> RecordState:
    """Return the state of a record, given its file.

    Raises: OSError; RecordError for a file that is not a packed record.
    """
    if path.suffix != _SUFFIX:
        with suppress(FileNotFoundError):
            facts = path.stat()
            return RecordState(facts.st_mtime_ns, facts.st_size)
    with open_record(path) as file:
        return RecordState(os.fstat(file.fileno()).st_mtime_ns, file.seek(0, os.SEEK_END))


def last_write_s(directory: Path) -> float:
    """Return the time of the last write to the record in a directory, since 1970. The record is not opened.

    Raises: OSError if there is none.
    """
    for path in TrialFolder(directory).records:
        with suppress(FileNotFoundError):
            return path.stat().st_mtime
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(directory))


def open_record(path: Path) -> BufferedReader:
    """Open the file of a record for reading and seeking, as if it was not packed.

    It may be packed or unpacked by another process just now, so its other name is tried, too.

    Raises: OSError; RecordError for a file that is not a packed record. Reading raises RecordError if it is damaged.
    """
    for name in (path, *TrialFolder(path.parent).records) if path.name in (EVENTS, PACKED) else ():
        try:
            return _opened(name)
        except FileNotFoundError:
            continue
    return _opened(path)


def _opened(path: Path) -> BufferedReader:
    if path.suffix != _SUFFIX:
        return open_plain(path, _PIECE)
    file = open_plain(path)
    try:
        return BufferedReader(_Unpacked(file, path), _PIECE)
    except BaseException:
        file.close()
        raise


class _Unpacked(io.RawIOBase):
    """The content of a packed record. It takes a few MiB of memory for any size; seeking back begins anew."""

    def __init__(self, file: BufferedReader, path: Path) -> None:
        import zstandard

        self._path = path
        self._error = zstandard.ZstdError
        self._file = file
        try:
            self._size = int(zstandard.frame_content_size(file.read(_HEADER_BYTES)))
        except zstandard.ZstdError as error:
            raise RecordError(f"{path}: not a packed record ({error})") from None
        if self._size < 0:
            raise RecordError(f"{path}: not a packed record of Retrace: its header does not hold the size")
        if self._size > UNPACKED_BYTES:
            raise RecordError(f"{path}: the record is larger than {UNPACKED_BYTES >> 30} GiB: {self._size} bytes")
        self._decompressor = zstandard.ZstdDecompressor()
        self._begin()

    def _begin(self) -> None:
        self._file.seek(0)
        self._plain = self._decompressor.stream_reader(self._file, read_across_frames=True, closefd=False)
        self._at = 0
        self._target = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def tell(self) -> int:
        return self._target

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Note the place; the next read goes there. So the size is known without unpacking anything."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._target, os.SEEK_END: self._size}[whence]
        self._target = max(0, base + offset)
        return self._target

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self._target < self._at:
            target = self._target
            self._begin()
            self._target = target
        while self._at < self._target:
            if not self._some(memoryview(bytearray(min(_PIECE, self._target - self._at)))):
                return 0
        count = self._some(memoryview(buffer).cast("B"))
        self._target = self._at
        return count

    def _some(self, buffer: memoryview) -> int:
        try:
            count = int(self._plain.readinto(buffer))
        except self._error as error:
            raise RecordError(f"{self._path}: the packed record is damaged ({error})") from None
        self._at += count
        if self._at > self._size:
            raise RecordError(f"{self._path}: the packed record holds more than the {self._size} bytes of its header")
        if not count and self._at < self._size:
            raise RecordError(f"{self._path}: the packed record is cut off: {self._at} of {self._size} bytes")
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
