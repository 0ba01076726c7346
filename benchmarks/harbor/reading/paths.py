"""Rules for names and paths in a task file. Each function returns a valid value, and raises ValueError otherwise."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath

_RESERVED = frozenset(
    ("con", "prn", "aux", "nul", *(f"com{n}" for n in range(1, 10)), *(f"lpt{n}" for n in range(1, 10)))
)


def artifact_source(path: str, *, absolute: bool) -> str:
    """Return the source of an artifact in the container."""
    if not path or ".." in PurePosixPath(path).parts:
        raise ValueError(f"source: must be a path without '..', not {path!r}")
    if absolute and not path.startswith("/"):
        raise ValueError(f"source: must be absolute in another service, not {path!r}")
    return path


def artifact_destination(path: str) -> str:
    """Return the place of an artifact below the collected ones."""
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts or "\\" in path or str(pure) == "manifest.json":
        raise ValueError(f"destination: must be a relative path without '..', and not manifest.json, not {path!r}")
    return path


def step_name(name: str) -> str:
    """Return the name of a step, which is the name of a directory on every system."""
    plain = unicodedata.normalize("NFC", name)
    bad = (
        not plain
        or len(plain.encode()) > 255
        or plain != plain.strip(" .")
        or any(character in '<>:"/\\|?*' or ord(character) < 32 for character in plain)
        or plain.split(".")[0].lower() in _RESERVED
    )
    if bad:
        raise ValueError(f"must be usable as the name of a directory, not {name!r}")
    return plain
