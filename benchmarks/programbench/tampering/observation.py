"""What was seen of a container when its build was over, in the file that `look` writes and `verdict` reads."""

from __future__ import annotations

from pydantic import Base64Bytes, BaseModel, ConfigDict

VARIABLE = "RETRACE_CHANGES"
"""Variable with the file to write, for `docker-labelled`."""
FILE = "changes.json"


class Seen(BaseModel):
    """The present state of a changed path."""

    model_config = ConfigDict(frozen=True)

    directory: bool = False
    link: str = ""
    data: Base64Bytes | None = None
    """Content of a regular file, if it was read."""


class Observation(BaseModel):
    """The changes of a container, and what its image starts with."""

    model_config = ConfigDict(frozen=True)

    changes: tuple[tuple[str, str], ...]
    """Kind (A added, C changed, D deleted) and path, as `docker diff` lists them."""
    seen: dict[str, Seen] = {}
    compiled: tuple[str, ...] = ()
    """Compiled modules that are what their source compiles to."""
    path: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    """Directories from which the image's own Python imports."""
    sourced: tuple[str, ...] = ()
    """Files that the image's own login shell reads."""
    problem: str = ""
    """Reason if the changes could not be listed or read in full."""
