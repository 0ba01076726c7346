"""Results that are kept between runs in the user's cache directory. A cache that cannot be used costs only time."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def cache_dir() -> Path:
    """Return `$RETRACE_CACHE_DIR`, or `$XDG_CACHE_HOME/retrace`, or `~/.cache/retrace`."""
    own = os.environ.get("RETRACE_CACHE_DIR")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "retrace"


def read_cache(name: str) -> dict[str, object]:
    """Return the entries of a cache file; none if it cannot be read."""
    try:
        content = json.loads((cache_dir() / name).read_bytes())
    except (OSError, ValueError, RecursionError, RuntimeError):  # the last one: no home directory
        return {}
    return content if isinstance(content, dict) else {}


def write_cache(name: str, entries: Mapping[str, object]) -> None:
    """Replace a cache file as a whole; a directory that cannot be written is no error."""
    with suppress(OSError, RuntimeError):
        directory = cache_dir()
        directory.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=directory, prefix=f".{name}-")
        try:
            with os.fdopen(handle, "w") as file:
                json.dump(entries, file)
            os.replace(temporary, directory / name)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
