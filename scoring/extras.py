"""The packages of the extra `scoring`, imported late, by name."""

from __future__ import annotations

import importlib
from types import ModuleType

from scoring.errors import ScoringError

EXTRA = "retrace-agent[scoring]"


def load(module: str, purpose: str) -> ModuleType:
    """Import a module of the extra.

    Raises: ScoringError, with the way out.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ScoringError(f"{purpose} needs {error.name or module}: pip install '{EXTRA}'") from None
