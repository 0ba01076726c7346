"""Opening of files in a folder that may come from anybody: only plain files are opened.

A named pipe would wait forever, a device may do something when it is opened, and neither can be a part of a record.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import cast


def open_plain(path: Path | str, buffering: int = -1) -> BufferedReader:
    """Open a plain file for reading; a link to one is followed.

    Raises: OSError, also for anything else than a plain file.
    """
    require_plain(os.stat(path).st_mode, path)
    file = cast(BufferedReader, open(path, "rb", buffering, opener=_opener))  # noqa: SIM115
    try:
        require_plain(os.fstat(file.fileno()).st_mode, path)  # it may have been replaced in between
    except OSError:
        file.close()
        raise
    return file


def read_plain(path: Path | str) -> bytes:
    """Return the content of a plain file.

    Raises: OSError.
    """
    return read_plain_with_facts(path)[0]


def read_plain_with_facts(path: Path | str) -> tuple[bytes, os.stat_result]:
    """Return the content of a plain file, and its facts when it was opened.

    Raises: OSError.
    """
    require_plain(os.stat(path).st_mode, path)
    descriptor = _opener(os.fspath(path), os.O_RDONLY | os.O_CLOEXEC)
    try:
        facts = os.fstat(descriptor)
        require_plain(facts.st_mode, path)
        data = os.read(descriptor, facts.st_size + 1)
        if not data or len(data) != facts.st_size:  # otherwise that was all; a file object would take twice as long
            with os.fdopen(os.dup(descriptor), "rb") as file:
                data += file.read()
        return data, facts
    finally:
        os.close(descriptor)


def require_plain(mode: int, path: Path | str) -> None:
    """Check that a mode is that of a plain file.

    Raises: OSError.
    """
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "a pipe, a socket or a device, which no record holds", str(path))


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
