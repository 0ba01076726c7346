"""Number and lengths of the functions in a source file, by tree-sitter's grammars.

Only named functions count: definitions, methods, and in JavaScript and TypeScript functions that are assigned to a
variable. The length is the number of lines from the first to the last. For a language without a grammar here the
functions are unknown: None.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from trajectories.analysis.code.grammars import encoded, parser
from trajectories.analysis.extras import MissingExtra, load

if TYPE_CHECKING:
    from tree_sitter import Parser, Query

_SCRIPT = (
    "[(function_declaration) (generator_function_declaration) (method_definition)"
    " (variable_declarator value: [(arrow_function) (function_expression)])] @function"
)
_PATTERNS: dict[str, str] = {
    "Python": "(function_definition) @function",
    "C": "(function_definition) @function",
    "C++": "(function_definition) @function",
    "Rust": "(function_item) @function",
    "Go": "[(function_declaration) (method_declaration)] @function",
    "Java": "[(method_declaration) (constructor_declaration)] @function",
    "Bash": "(function_definition) @function",
    "JavaScript": _SCRIPT,
    "TypeScript": _SCRIPT,
    "TSX": _SCRIPT,
}
_PURPOSE = "counting functions"
_LARGEST_BYTES = 1 << 20


def function_lengths(language: str, content: bytes) -> list[int] | None:
    """Return the number of lines of each function in a file; None if the functions cannot be determined."""
    if language not in _PATTERNS or len(content) > _LARGEST_BYTES:
        return None
    tools = _tools(language)
    if tools is None:
        return None
    tree_parser, query = tools
    if language == "Bash":
        content = encoded(language, content.decode("utf-8", "replace"))
    root = tree_parser.parse(content).root_node
    cursor = load("tree_sitter", _PURPOSE).QueryCursor(query)
    functions = cursor.captures(root).get("function", [])
    return [node.end_point.row - node.start_point.row + 1 for node in functions]


@cache
def _tools(language: str) -> tuple[Parser, Query] | None:
    try:
        tree_parser = parser(language, _PURPOSE)
    except MissingExtra:
        return None
    query = load("tree_sitter", _PURPOSE).Query(tree_parser.language, _PATTERNS[language])
    return tree_parser, query
