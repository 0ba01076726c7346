"""Output of the commands: results go to standard output, progress and notes to standard error."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console


def emit_json(content: BaseModel | Mapping[str, Any]) -> None:
    """Write the one JSON object of `--json`."""
    if isinstance(content, Mapping):
        sys.stdout.write(json.dumps(content, indent=1, default=str) + "\n")
    else:
        sys.stdout.write(content.model_dump_json(indent=1) + "\n")
    sys.stdout.flush()


def emit_json_list(key: str, items: Iterable[Mapping[str, Any]]) -> None:
    """Write the one JSON object of `--json`, a list under one key, item by item, because a list may be long."""
    separator = ""
    sys.stdout.write(f'{{\n "{key}": [')
    for item in items:
        lines = json.dumps(item, indent=1, default=str).replace("\n", "\n  ")
        sys.stdout.write(f"{separator}\n  {lines}")
        separator = ","
    sys.stdout.write("\n ]\n}\n" if separator else "]\n}\n")
    sys.stdout.flush()


def stdout() -> Console:
    """Return the console for results."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, width=width())


def width() -> int:
    """Return the number of columns of standard output: those of the terminal or of `COLUMNS`, otherwise no limit."""
    from trajectories.views.tables import UNLIMITED

    return shutil.get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else UNLIMITED


@contextmanager
def paged() -> Iterator[Console]:
    """Yield a console for a long result: through the user's pager on a terminal, otherwise standard output.

    The pager is `$PAGER` or `less`; without one, and with `PAGER=cat` or an empty one, nothing is paged. The result
    ends silently if the user leaves the pager.
    """
    try:
        typed = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:  # quotation marks that are not closed
        typed = []
    if not typed or typed == ["cat"] or not (sys.stdout.isatty() and sys.stdin.isatty()) or not shutil.which(typed[0]):
        yield stdout()
        return
    plain = stdout()
    pager = subprocess.Popen(typed, stdin=subprocess.PIPE, text=True, env={"LESS": "FRX", **os.environ})
    assert pager.stdin is not None
    try:
        yield _console_for_pipe()(
            file=pager.stdin,
            force_terminal=plain.is_terminal,
            width=plain.width,
            highlight=False,
            markup=False,
            emoji=False,
        )
    except BrokenPipeError:
        pass
    finally:
        with suppress(BrokenPipeError):
            pager.stdin.close()
        while True:
            try:
                pager.wait()
                break
            except KeyboardInterrupt:  # the pager handles Ctrl-C itself
                continue


def _console_for_pipe() -> type[Console]:
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            """Let the error through; rich would end the process."""
            raise BrokenPipeError

    return Piped


def stderr() -> Console:
    """Return the console for progress and notes."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def progress_lines(*, quiet: bool) -> Callable[[str], None]:
    """Return the function that prints a line of progress on standard error; with `--quiet` it prints nothing.

    A line may name files of a workspace, so it is made safe for a terminal.
    """
    from trajectories.record.texts.text import printable
    from trajectories.writing import excerpts

    def show(line: str) -> None:
        if not quiet:
            print(printable(excerpts.masked(line)), file=sys.stderr, flush=True)

    return show


def readable(value: Any) -> str:
    """Return a JSON value as a person reads it."""
    if isinstance(value, dict):
        parts = (
            f"{key} ({readable(item)})" if isinstance(item, dict) else f"{key} {readable(item)}"
            for key, item in value.items()
        )
        return ", ".join(parts) or "none"
    if isinstance(value, list):
        return ", ".join(map(readable, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
