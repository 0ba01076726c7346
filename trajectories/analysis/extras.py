"""The packages that only the analysis needs, imported late, by name.

They come with `pip install 'retrace-agent[analysis]'`; a base installation has none of them.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from trajectories.errors import RecordError

if TYPE_CHECKING:
    from tree_sitter import Language

EXTRA = "retrace-agent[analysis]"


class MissingExtra(RecordError):
    """A package of the extra `analysis` is not installed."""


def load(module: str, purpose: str) -> ModuleType:
    """Import a module of the extra.

    Raises: MissingExtra, with the way out.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f"{purpose} needs {error.name or module}: pip install '{EXTRA}'") from None


def grammar(module: str, purpose: str, function: str = "language") -> Language:
    """A tree-sitter grammar, for instance `tree_sitter_bash`.

    Raises: MissingExtra.
    """
    from typing import cast

    language = load("tree_sitter", purpose).Language(getattr(load(module, purpose), function)())
    return cast("Language", language)
