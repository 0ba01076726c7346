"""Files of lines of JSON that only grow: the record of a trial, and the journal and the grid of a batch.

A line is appended completely or not at all, and a file that is continued first loses a last line that a crash tore.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from trajectories.plain_files import require_plain
from trajectories.record.copies import LINE
from trajectories.record.texts.text import storable_json
from trajectories.writing.masking import Masker

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors that mean that no more can be written here: a full disk, a quota, or a limit on the size of files."""
_PIECE = 65536

M = TypeVar("M", bound=BaseModel)


class LineFile:
    """A file that is open for appending lines. Each line has its newline, and no other one."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._fd = descriptor

    @classmethod
    def created(cls, path: Path) -> LineFile:
        """Create a file that does not exist yet.

        Raises: OSError.
        """
        return cls(path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))

    @classmethod
    def continued(cls, path: Path) -> LineFile:
        """Open a file after its last complete line. A torn last line is cut off.

        Raises: OSError, also if it is not a plain file.
        """
        require_plain(path.stat().st_mode, path)
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            whole = _end_of_line(descriptor, os.fstat(descriptor).st_size)
            os.ftruncate(descriptor, whole)
            os.lseek(descriptor, whole, os.SEEK_SET)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor)

    def last_line(self) -> bytes:
        """Return the last line with its newline; nothing if the file is empty."""
        size = os.fstat(self._fd).st_size
        start = _end_of_line(self._fd, max(0, size - 1))
        return os.pread(self._fd, size - start, start)

    def append(self, line: bytes) -> None:
        """Write a line completely, or leave the file as it was.

        Raises: OSError.
        """
        size = os.fstat(self._fd).st_size
        try:
            if os.write(self._fd, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            os.ftruncate(self._fd, size)
            os.lseek(self._fd, size, os.SEEK_SET)
            raise

    def sync(self) -> None:
        """Make everything that was appended so far survive a power failure."""
        os.fdatasync(self._fd)

    @property
    def closed(self) -> bool:
        """True once the file was closed."""
        return self._fd < 0

    def close(self) -> None:
        """Sync and close the file. A second call does nothing."""
        if self.closed:
            return
        try:
            os.fdatasync(self._fd)
        finally:
            os.close(self._fd)
            self._fd = -1


def stored_line(event: M, masker: Masker) -> tuple[M, bytes]:
    """Return an event as it is stored, without secrets and lone surrogates, and its line, without the newline."""
    try:
        line = _line(event)
    except PydanticSerializationError:
        event = type(event).model_validate(storable_json(event.model_dump(by_alias=True)))
        line = _line(event)
    if not masker.occurs_in(line):
        return event, line
    event = masker.event(event)
    return event, _line(event)


def _line(event: BaseModel) -> bytes:
    return event.model_dump_json(by_alias=True, context=LINE).encode()


def _end_of_line(descriptor: int, end: int) -> int:
    """Return the end of the last complete line among the first `end` bytes of a file."""
    while end:
        start = max(0, end - _PIECE)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
