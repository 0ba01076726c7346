"""Facts about a run of the official evaluator that no container can forge.

`docker-labelled` writes some when a command of docker fails, and `package.py` writes the error that the evaluator
raised. Texts that a container may have printed decide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from trajectories.writing import excerpts

FACTS = "RETRACE_FACTS"
"""Variable with the file of `docker-labelled`."""
FAILURE = "RETRACE_FAILURE"
"""Variable with the file of `package.py`."""
MEMORY = "RETRACE_MEMORY_BYTES"
"""Variable with the largest address space of the evaluator."""
NETWORK = "RETRACE_TEST_NETWORK"
"""Variable with the network of the containers in which tests run, if it is not the evaluator's own choice."""
PROGRESS = "RETRACE_PROGRESS"
"""Variable with the file in which `package.py` names each branch when its tests begin."""
RESULT_BLOCKS = "RETRACE_RESULT_BLOCKS"
"""Variable with the largest size of a branch's results, in blocks of 512 bytes."""


class Failure(BaseModel):
    """The error that the evaluator raised over an instance."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    error: str
    """Class of the error."""
    functions: tuple[str, ...]
    """Names of the functions that it passed, outermost first."""
    message: str

    @property
    def text(self) -> str:
        """Return the error in one line."""
        return excerpts.on_one_line(f"{self.error}: {self.message}")[:500]


@dataclass(frozen=True)
class Facts:
    """Everything that is known about the run besides its result."""

    failure: Failure | None = None
    unreachable: bool = False
    """True if the daemon did not answer after a command had failed."""
    killed: bool = False
    """True if somebody killed a container through the daemon while a command ran in it."""
    written_bytes: int = 0
    """Bytes that a container had written when a command failed in it."""


def read(facts: Path, failure: Path) -> Facts:
    """Return the facts in the two files, of which neither needs to exist. Raises: OSError."""
    lines = facts.read_text("utf-8", "replace").splitlines() if facts.exists() else []
    sizes = [int(match[1]) for line in lines if (match := re.fullmatch(r"written (\d+)", line))]
    return Facts(
        failure=_failure(failure),
        unreachable="unreachable" in lines,
        killed=any(line.startswith("killed") for line in lines),
        written_bytes=max(sizes, default=0),
    )


def how_far(progress: Path, branches: Mapping[str, int]) -> str:
    """Return in one line which branch is tested; `branches` has the number of tests of each. Empty before the first."""
    try:
        begun = [name for name in progress.read_text("utf-8", "replace").splitlines() if name in branches]
    except OSError:
        return ""
    if not begun:
        return ""
    tests, every = sum(branches[name] for name in begun[:-1]), sum(branches.values())
    return f"evaluation: branch {len(begun)} of {len(branches)}, {tests:,} of {every:,} tests have run"


def _failure(path: Path) -> Failure | None:
    try:
        return Failure.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
