"""The languages whose source can be parsed with the extra `analysis`, and their parsers.

The names are those of pygments, which `languages` uses. Source must be encoded by `encoded`: the grammar of bash
crashes on some characters.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from trajectories.analysis.commands.shell import parseable
from trajectories.analysis.extras import grammar, load

if TYPE_CHECKING:
    from tree_sitter import Parser

GRAMMARS: dict[str, tuple[str, str]] = {
    "Python": ("tree_sitter_python", "language"),
    "C": ("tree_sitter_c", "language"),
    "C++": ("tree_sitter_cpp", "language"),
    "Rust": ("tree_sitter_rust", "language"),
    "Go": ("tree_sitter_go", "language"),
    "Java": ("tree_sitter_java", "language"),
    "Bash": ("tree_sitter_bash", "language"),
    "JavaScript": ("tree_sitter_javascript", "language"),
    "TypeScript": ("tree_sitter_typescript", "language_typescript"),
    "TSX": ("tree_sitter_typescript", "language_tsx"),
}
"""Module and function of each language's grammar."""


@cache
def parser(language: str, purpose: str) -> Parser:
    """Return the parser of a language in `GRAMMARS`; `purpose` begins the message if its package is missing.

    Raises: MissingExtra.
    """
    module, function = GRAMMARS[language]
    tree_parser: Parser = load("tree_sitter", purpose).Parser(grammar(module, purpose, function))
    return tree_parser


def encoded(language: str, source: str) -> bytes:
    """Encode source for the parser of a language."""
    return parseable(source) if language == "Bash" else source.encode("utf-8", "replace")
