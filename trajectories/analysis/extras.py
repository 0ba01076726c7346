"""The packages that only the analysis needs (the extra `analysis`), imported late, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from trajectories.errors import RecordError
from trajectories.extras import Extra

if TYPE_CHECKING:
    from tree_sitter import Language


class MissingExtra(RecordError):
    """A package of the extra `analysis` is not installed."""


load = Extra("analysis", MissingExtra).load
"""Import a module of the extra. Raises: MissingExtra."""


def grammar(module: str, purpose: str, function: str = "language") -> Language:
    """Load a tree-sitter grammar, for instance `tree_sitter_bash`.

    Raises: MissingExtra.
    """
    language = load("tree_sitter", purpose).Language(getattr(load(module, purpose), function)())
    return cast("Language", language)
