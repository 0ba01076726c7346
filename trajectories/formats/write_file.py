"""Writing of an exported file, as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from trajectories.formats.errors import CannotExport


def write_file(path: Path, data: bytes) -> None:
    """Write the bytes to a file, replacing an existing one; a device or a pipe is written to directly.

    Raises: CannotExport.
    """
    try:
        if path.exists() and not path.is_file():
            if path.is_dir():
                raise CannotExport(f"{path}: is a directory; name a file")
            path.write_bytes(data)
            return
        target = path.resolve()
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".export-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(temporary, 0o666 & ~umask)
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CannotExport(f"{path}: cannot be written ({error.strerror})") from None
