"""The solution of a terminal-bench task: `solution.sh`, or `solution.yaml` with keystrokes for a terminal.

Keystrokes become one script. The waits between them are left out: in a script, a command begins when the one before it
has ended. What only a terminal can do (keys without Enter, control keys) has no script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from benchmarks.task.solve_script import SolveScript
from benchmarks.task.task import TaskError
from benchmarks.task.yaml_file import text_of
from trajectories import yaml_mistakes
from trajectories.yaml_mistakes import Mistake, Mistakes, located, of_validation

DIRECTORY = "/oracle"
"""Directory in the container that holds solution.sh, as in the authors' harness."""
_SCRIPT, _KEYSTROKES = "solution.sh", "solution.yaml"
_KEY = re.compile(r"[CMS]-\S+|Up|Down|Left|Right|Escape|Tab|BTab|Space|BSpace|F\d+|\^[A-Z]")
"""Names of keys, as tmux takes them."""
_Wait = Annotated[float, Field(ge=0)]


class Keystrokes(BaseModel):
    """One entry of a solution.yaml: text that is typed into a terminal."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    command: str
    min_timeout_sec: _Wait = 0.0
    max_timeout_sec: _Wait = 180.0
    block: bool = False
    append_enter: bool = True


def solve_script(directory: Path) -> SolveScript | None:
    """Return the script that solves the task in a directory; None if it has none. `solution.sh` comes first.

    Raises: TaskError if a script cannot do what solution.yaml types, or it is malformed.
    """
    script, keystrokes = directory / _SCRIPT, directory / _KEYSTROKES
    if script.is_file():
        if not script.read_bytes().strip():
            return None  # LongCLI-Bench publishes empty ones
        return SolveScript(script, f"bash {DIRECTORY}/{_SCRIPT}", DIRECTORY)
    if keystrokes.is_file():
        return SolveScript(keystrokes, _typed(keystrokes))
    return None


def _typed(path: Path) -> str:
    """Return a script of the commands that a solution.yaml types.

    Raises: TaskError.
    """
    text = text_of(path)
    try:
        content = yaml_mistakes.load(text)
        if not isinstance(content, list) or not content:
            raise Mistakes("must be a list of entries with the key command")
        try:
            entries = TypeAdapter(list[Keystrokes]).validate_python(content)
        except ValidationError as error:
            raise located(text, of_validation(error, Keystrokes)) from None
        if problems := [*_untypable(entries)]:
            raise located(text, problems)
    except Mistakes as mistakes:
        raise TaskError(f"{path}: {mistakes}") from None
    return "\n".join(entry.command for entry in entries)


def _untypable(entries: list[Keystrokes]) -> Iterator[Mistake]:
    for number, entry in enumerate(entries):
        if _KEY.fullmatch(entry.command):
            yield Mistake((number, "command"), f"presses the key {entry.command}, which a script cannot do")
        elif not entry.append_enter and entry.command.strip():
            yield Mistake((number, "append_enter"), "types text without Enter, which a script cannot do")
