"""Export of the workspace as an archive on the host, which is written completely or not at all.

As a rule the supervisor reads the files. If it no longer answers, a daemon or a plain tar over a host directory does.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

from environments.archives import archive as tar, left_out
from environments.protocol import DiskFull, EnvironmentFault, EnvironmentLost, Export
from trajectories.interrupts import check

Archive = Generator[bytes, None, tuple[int, str]]
"""A tar stream; returns tar's status and standard error."""


class TooLarge(EnvironmentLost):
    """There is more than this way to read a workspace can give."""


TAR = ("-c", "-S", "--numeric-owner", "--quoting-style=escape", "--owner=0", "--group=0", "--sort=name", "--anchored")
"""Options of tar, the same as in `supervisor/50-archives.sh`."""
_DEEP = ("--wildcards", "--wildcards-match-slash", f"--exclude={'/?' * 4100}*")
_CHUNK_BYTES = 1 << 20


def write(archive: Archive, to: Path) -> Export:
    """Write the members of an archive that can be unpacked elsewhere, as tar.zst.

    Raises: EnvironmentFault, DiskFull, and what `archive` raises.
    """
    import zstandard

    judge = left_out.Unpackable()
    outcome: list[tuple[int, str]] = []

    def chunks() -> Iterator[bytes]:
        outcome.append((yield from archive))

    digest, size = hashlib.sha256(), 0
    name = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        with name.open("wb") as file:
            compressor = zstandard.ZstdCompressor(level=3).compressobj()
            for piece in tar.filtered(chunks(), judge):
                data = compressor.compress(piece)
                digest.update(data)
                size += file.write(data)
            data = compressor.flush()
            digest.update(data)
            size += file.write(data)
            status, complaints = outcome[0]
            skipped, rest = left_out.complaints(complaints)
            if status > 1 or rest:
                raise EnvironmentFault(f"the workspace cannot be exported whole: {'; '.join(rest[:3])}")
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, to)
    except OSError as error:
        raise full(error) or EnvironmentFault(f"the workspace cannot be written to {to}: {error}") from error
    finally:
        with contextlib.suppress(OSError):
            name.unlink()
    return Export(size, digest.hexdigest(), judge.entries, tuple(judge.skipped + skipped))


def of_directory(directory: Path) -> Archive:
    """Read the content of a host directory with the harness's own rights."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            ["tar", *TAR, *_DEEP, "-f", "-", "-C", str(directory), "."],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        )
        assert process.stdout is not None
        try:
            while piece := process.stdout.read(_CHUNK_BYTES):
                yield piece
                check()
            status = process.wait()
        finally:
            process.stdout.close()
            process.kill()
            process.wait()
        errors.seek(0)
        return status, errors.read(_CHUNK_BYTES).decode(errors="surrogateescape")


def full(error: OSError) -> DiskFull | None:
    """Return the error as DiskFull if it means a full disk, otherwise None."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error):
        return DiskFull(f"no space left: {error}")
    return None
