"""What an evaluation found out and made before the official evaluator began, kept beside its results.

With it, a second evaluation of the same workspace starts no container for what is known, and the official evaluator
goes on from the results that it wrote. Anything that differs (workspace, image, tests, package) makes both void.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

NAME = "prepared.json"


class Prepared(BaseModel):
    """`workspace`, `submission` and `original` are sha256 in hex, `image` the local image's id."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance: str
    workspace: str
    image: str
    tests: str
    package: str
    submission: str
    original: str | None
    withheld: tuple[str, ...]
    """Names of files that the hand-over left out."""
    builds: bool | None
    why: str
    utf8: bool
    check_seconds: float

    def of_the_same(self, other: dict[str, str]) -> bool:
        """Whether it is of the same instance, workspace, image, tests and package."""
        return other == self.model_dump(include=set(other))


def read(directory: Path) -> Prepared | None:
    """What was kept; None if that is nothing, or torn.

    Raises: OSError.
    """
    try:
        return Prepared.model_validate_json((directory / NAME).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def write(directory: Path, prepared: Prepared) -> None:
    """Raises: OSError."""
    temporary = directory / f".{NAME}.{os.getpid()}"
    temporary.write_text(prepared.model_dump_json(indent=1))
    os.replace(temporary, directory / NAME)


def sha256(path: Path) -> str:
    """Raises: OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
