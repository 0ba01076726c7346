"""Packs the record of a finished trial, and unpacks it before something is appended.

The order makes a kill at any moment harmless. A new file is complete and durable before it gets its name, and both
names exist only while both files hold the same. `events.jsonl` is the record wherever it exists, and the packed file is
gone before it grows. `pack` and `unpack` are called with the lock of the trial.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

import zstandard
from pydantic import BaseModel

from trajectories.blobs.store import TEMPORARY, sync_directory
from trajectories.errors import RecordError, TrialInUse
from trajectories.plain_files import open_plain
from trajectories.reading.packed import UNPACKED_BYTES, open_record
from trajectories.reading.reader import first_event
from trajectories.reading.runs import listed, trial_directories
from trajectories.record.layout import TrialFolder
from trajectories.writing.lock import TrialLock

LEVEL = 19
"""Measured on real runs: 5 MB/s and a ninth of the size; level 10 takes a twentieth of the time for 7 % more."""
_PIECE = 1 << 20


class PackedTrials(BaseModel):
    """The finished trials whose records were packed, or that would be packed without `dry_run`."""

    trials: int = 0
    bytes_before: int = 0
    """Size of their records before."""
    bytes_after: int | None = 0
    """Size of the packed records. null if nothing was packed because of `dry_run`."""
    unfinished: int = 0
    """Number of trials that were left because they have no exit, and may be resumed."""
    running: int = 0
    """Number of trials that were left because a process is at work on them."""
    failed: dict[str, str] = {}
    """Reason by directory for each trial whose record could not be packed."""


def pack_finished(runs: Path, *, dry_run: bool = False) -> PackedTrials:
    """Pack the record of each finished trial below `runs`. A trial that a process is at work on stays as it is."""
    packed = PackedTrials(bytes_after=None if dry_run else 0)
    for directory in trial_directories(runs):
        folder = TrialFolder(directory)
        if not folder.events.exists():
            continue
        try:
            with TrialLock(directory):
                if not folder.events.exists():  # another process has just packed it
                    continue
                trial = listed(directory)
                if trial.summary is None:
                    raise RecordError(trial.problem)
                if trial.summary.exit is None and first_event(directory).imported is None:
                    packed.unfinished += 1
                    continue
                before = folder.events.stat().st_size
                if packed.bytes_after is not None:
                    pack(directory)
                    packed.bytes_after += folder.packed.stat().st_size
        except TrialInUse:
            packed.running += 1
        except RecordError as error:
            packed.failed[str(directory)] = str(error)
        except OSError as error:
            packed.failed[str(directory)] = f"{directory}: {error.strerror}"
        else:
            packed.trials += 1
            packed.bytes_before += before
    return packed


def pack(directory: Path) -> None:
    """Replace `events.jsonl` by `events.jsonl.zst`.

    Raises: OSError; RecordError if the record is too large.
    """
    folder = TrialFolder(directory)
    with open_plain(folder.events) as plain:
        size = os.fstat(plain.fileno()).st_size
        if size > UNPACKED_BYTES:
            raise RecordError(f"{folder.events}: a record of more than {UNPACKED_BYTES >> 30} GiB cannot be packed")
        compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        with _replacement(folder.packed, plain) as file:
            compressor.copy_stream(plain, file, size=size, read_size=_PIECE)
    folder.events.unlink()
    sync_directory(directory)


def unpack(directory: Path) -> None:
    """Make `events.jsonl` the only file of the record, so that it can grow.

    Raises: OSError; RecordError if the packed record is damaged.
    """
    folder = TrialFolder(directory)
    if not folder.packed.exists():
        return
    if not folder.events.exists():
        with open_record(folder.packed) as packed, _replacement(folder.events, packed) as file:
            shutil.copyfileobj(packed, file, _PIECE)
    folder.packed.unlink()
    sync_directory(directory)


@contextmanager
def _replacement(path: Path, source: BufferedReader) -> Iterator[BinaryIO]:
    """Write a file that replaces `path` at the end, complete and durable, with the mode and the time of the source."""
    temporary = path.with_name(f"{TEMPORARY}{path.name}")
    temporary.unlink(missing_ok=True)
    try:
        with open(temporary, "xb", opener=_private) as file:
            yield file
            file.flush()
            like = os.fstat(source.fileno())
            os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))
            os.utime(file.fileno(), ns=(like.st_atime_ns, like.st_mtime_ns))
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_directory(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
