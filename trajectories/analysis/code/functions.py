"""Number and lengths of the functions in a source file, by tree-sitter's grammars.

Only named functions count: definitions, methods, and in JavaScript and TypeScript functions that are assigned to a
variable. The length is the number of lines from the first to the last. For a language without a grammar here the
functions are unknown: None.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from trajectories.analysis.commands.shell import parseable
from trajectories.analysis.extras import MissingExtra, grammar, load

if TYPE_CHECKING:
    from tree_sitter import Parser, Query

_SCRIPT = (
    "[(function_declaration) (generator_function_declaration) (method_definition)"
    " (variable_declarator value: [(arrow_function) (function_expression)])] @function"
)
_GRAMMARS: dict[str, tuple[str, str, str]] = {
    "Python": ("tree_sitter_python", "language", "(function_definition) @function"),
    "C": ("tree_sitter_c", "language", "(function_definition) @function"),
    "C++": ("tree_sitter_cpp", "language", "(function_definition) @function"),
    "Rust": ("tree_sitter_rust", "language", "(function_item) @function"),
    "Go": ("tree_sitter_go", "language", "[(function_declaration) (method_declaration)] @function"),
    "Java": ("tree_sitter_java", "language", "[(method_declaration) (constructor_declaration)] @function"),
    "Bash": ("tree_sitter_bash", "language", "(function_definition) @function"),
    "JavaScript": ("tree_sitter_javascript", "language", _SCRIPT),
    "TypeScript": ("tree_sitter_typescript", "language_typescript", _SCRIPT),
    "TSX": ("tree_sitter_typescript", "language_tsx", _SCRIPT),
}
_LARGEST_BYTES = 1 << 20


def function_lengths(language: str, content: bytes) -> list[int] | None:
    """Return the number of lines of each function in a file; None if the functions cannot be determined."""
    if language not in _GRAMMARS or len(content) > _LARGEST_BYTES:
        return None
    tools = _tools(language)
    if tools is None:
        return None
    parser, query = tools
    if language == "Bash":
        content = parseable(content.decode("utf-8", "replace"))
    root = parser.parse(content).root_node
    cursor = load("tree_sitter", "counting functions").QueryCursor(query)
    functions = cursor.captures(root).get("function", [])
    return [node.end_point.row - node.start_point.row + 1 for node in functions]


@cache
def _tools(language: str) -> tuple[Parser, Query] | None:
    module, function, pattern = _GRAMMARS[language]
    try:
        language_grammar = grammar(module, "counting functions", function)
        tree_sitter = load("tree_sitter", "counting functions")
    except MissingExtra:
        return None
    return tree_sitter.Parser(language_grammar), tree_sitter.Query(language_grammar, pattern)
