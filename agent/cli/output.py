"""How every command prints: results on standard output, all else on standard error."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console

_PIPE_WIDTH = 1000


def emit_json(content: BaseModel | dict[str, Any]) -> None:
    """The one JSON object of `--json`."""
    if isinstance(content, dict):
        sys.stdout.write(json.dumps(content, indent=1, default=str) + "\n")
    else:
        sys.stdout.write(content.model_dump_json(indent=1) + "\n")
    sys.stdout.flush()


def stdout() -> Console:
    """The console of results; where it is no terminal, lines are as long as they need to be."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
    return Console(highlight=False, markup=False, emoji=False, width=width)


def stderr() -> Console:
    """The console of progress and notes."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def said(value: Any) -> str:
    """A fact as a person reads it."""
    if isinstance(value, dict):
        parts = (
            f"{key} ({said(item)})" if isinstance(item, dict) else f"{key} {said(item)}" for key, item in value.items()
        )
        return ", ".join(parts) or "none"
    if isinstance(value, list):
        return ", ".join(map(said, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
