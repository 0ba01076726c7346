"""The words that a model is told, as data, with a tiny loader.

Imports nothing of the project; `agent` imports it. `load` gives a `Prompt`: templates compiled once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["Prompt", "PromptError", "load", "load_judging", "names", "parse"]

if TYPE_CHECKING:
    from prompts.loader import Prompt, PromptError, load, load_judging, names, parse


def __getattr__(name: str) -> object:
    if name in __all__:
        from prompts import loader

        return getattr(loader, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
