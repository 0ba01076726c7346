"""How every command prints: results on standard output, all else on standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console


def emit_json(content: BaseModel | dict[str, Any]) -> None:
    """The one JSON object of `--json`."""
    if isinstance(content, dict):
        sys.stdout.write(json.dumps(content, indent=1, default=str) + "\n")
    else:
        sys.stdout.write(content.model_dump_json(indent=1) + "\n")
    sys.stdout.flush()


def stdout() -> Console:
    """The console of results."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def stderr() -> Console:
    """The console of progress and notes."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False)
