"""Unpacking of an archive into a host directory, with the archive's modes and as our own user."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from environments.archives import exporting
from environments.protocol import EnvironmentFault
from trajectories.interrupts import check

_ARGUMENTS = ("-x", "-p", "--no-same-owner", "--delay-directory-restore", "-f", "-")
_SHOWN = 300


def into(directory: Path, members: Iterable[bytes]) -> None:
    """Unpack a tar stream of plain files and directories; missing directories get mode 0755.

    Nobody else may change what lies in the directory, or names in the archive could lead out of it.

    Raises: EnvironmentFault, DiskFull, and what `members` raises.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            _make(directory)
            process = subprocess.Popen(
                ["tar", *_ARGUMENTS, "-C", str(directory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
                umask=0o022,
            )
            assert process.stdin is not None
            try:
                for piece in members:
                    check()
                    process.stdin.write(piece)
                process.stdin.close()
                status = process.wait()
            finally:
                process.kill()
                with suppress(OSError):  # it may hold what tar has not read
                    process.stdin.close()
                process.wait()
        except OSError as error:
            raise exporting.full(error) or EnvironmentFault(f"unpacking into {directory} failed: {error}") from error
        if status:
            errors.seek(0)
            complaint = OSError(errors.read(_SHOWN).decode(errors="replace").strip())
            raise exporting.full(complaint) or EnvironmentFault(f"unpacking into {directory} failed: {complaint}")


def _make(directory: Path) -> None:
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir()
        path.chmod(0o755)
