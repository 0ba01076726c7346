"""Output of the commands: results go to standard output, progress and notes to standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console

_PIPE_WIDTH = 1000
"""Columns of an output that is not a terminal: wide enough that no line is broken."""


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

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
    return Console(highlight=False, markup=False, emoji=False, width=width)


def stderr() -> Console:
    """Return the console for progress and notes."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False)


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
