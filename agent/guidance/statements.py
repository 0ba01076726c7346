"""The judgment whether a single line is code: it parses without error, and does something that prose does not.

English sentences of one or two words parse in many languages ("read-only", "Read lines;", "let users", "C++"), and
nearly every sentence parses in bash. So a parse alone is not enough: the line must assign, call, declare, or use an
operator in a statement other than a bare expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trajectories.analysis.code.grammars import GRAMMARS, encoded, parser
from trajectories.analysis.code.languages import language_named
from trajectories.analysis.commands import well_known

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST = 1000
"""Longest line that is parsed, in characters. Of a longer one the parts between semicolons are."""
_SYMBOL = re.compile(r"[=(){};<>+*%&|!\[#]|\bimport\b")
"""Lines without any of these are not parsed."""
_OF_CODE = re.compile(r"[=;{]|->|\w[!?]?\(")
"""Marks of which a line must have one if the task's language is unknown."""
_OF_SHELL = re.compile(r"\||(?<![-=])>|&&|\$\(")
"""Marks of which a line must have one to be a command of a shell."""

_NO_CODE = re.compile(r"--?[A-Za-z][\w-]*(=.*)?|[A-Z][A-Z0-9_]+=[^\s()]*")
"""Lines that consist of an option or of a variable of the environment; they parse as assignments."""
_MANUAL = re.compile(r"(?<![\w.])([a-z][\w-]*)\([1-8]\)(?!\s*;)")
"""Names of manual pages, such as `tar(5)`, which parse as calls."""

_ASSIGNMENTS = well_known.names_in("= += -= *= /= %= //= **= |= &= ^= <<= >>= := ??= ||= &&=")
_OPERATORS = well_known.names_in("== != <= >= === !== < > + * % ** && || - / // & | ^ << >>")
_BETWEEN_WORDS = frozenset("-/")
"""Operators that also join words; they count only with a blank on both sides."""
_CALLS = frozenset({"call", "call_expression", "method_invocation", "macro_invocation", "object_creation_expression"})
_DECLARATIONS = well_known.names_in(
    """function_definition function_item function_declaration function_signature_item method_declaration
    generator_function_declaration constructor_declaration class_declaration interface_declaration enum_declaration
    struct_item enum_item impl_item trait_item union_item type_definition template_declaration type_declaration
    import_from_statement import_statement namespace_definition"""
)
_BARE = frozenset({"expression_statement", "print_statement", "exec_statement"})
"""Statements whose operators do not count: a relation between words is not yet code."""
_INNER = frozenset({"if_expression", "while_expression", "for_expression", "match_expression", "return_expression"})
"""Statements of Rust that are expressions."""
_HEADER = re.compile(r"(?:else\s+|el(?=if\b))?(?P<word>if|for|while|switch)\b.*\)$")
_ELSE_IF = re.compile(r"(?:}\s*)?(?:else\s+|el)(?=if\b)")
_PATH = re.compile(r"(?=.*[A-Za-z$])[^\s]*[./$~][^\s]*")


def languages_of(word: str | None) -> tuple[str, ...]:
    """Return the languages in which a line may be code, for a benchmark's word of a task's language."""
    name = language_named(word) if word else None
    if name == "TypeScript":
        return ("TypeScript", "TSX")
    return (name,) if name in GRAMMARS and name is not None else ()


def is_code(line: str, languages: tuple[str, ...]) -> bool:
    """Return True if a line is code in one of the languages; without languages, in any that can be parsed."""
    if len(line) > _LONGEST:
        parts = (part.strip() for part in line.split(";"))
        return any(is_code(f"{part};", languages) for part in parts if 0 < len(part) < _LONGEST)
    line = _MANUAL.sub(r"\1", line)
    if not _SYMBOL.search(line) or _NO_CODE.fullmatch(line):
        return False
    if not languages and not (_OF_CODE.search(line) or _OF_SHELL.search(line)):
        return False
    for language in languages or GRAMMARS:
        if language == "Bash":
            if _OF_SHELL.search(line) and _is_command(line):
                return True
        elif (languages or _OF_CODE.search(line)) and any(_is_statement(language, text) for text in _completed(line)):
            return True
    return False


def _completed(line: str) -> Iterator[str]:
    """Yield a line as a whole statement: a block that it opens is closed, one that it closes is left out.

    An arm of a match, a call in a chain and an output stream get what stands around them.
    """
    line = _ELSE_IF.sub("", line) if _ELSE_IF.match(line) else line.lstrip("} ")
    if line.endswith("{"):
        yield f"{line}}}"
        yield f"{line}}};"
    elif _HEADER.fullmatch(line):
        yield f"{line};"
    elif line:
        yield line
    if "=>" in line:
        yield f"match x {{{line}}}"
    if line.startswith("."):
        yield f"x{line}"
    if "<<" in line and line.endswith(";"):  # outside of a function, the grammar of C++ rejects it
        yield f"auto x = {line}"


def _is_statement(language: str, line: str) -> bool:
    source = encoded(language, f"{line}\n")
    root = parser(language, "the rule no-code").parse(source).root_node
    if root.has_error or root.child_count == 0 or root.children[0].type == "labeled_statement":
        return False
    nodes = list(_nodes(root))
    if language == "Python" and any(_is_backtick(node, source) for node, _ in nodes):
        return False
    return any(_counts(node, source, bare) for node, bare in nodes)


def _is_backtick(node: Node, source: bytes) -> bool:
    """Return True for the beginning of a string in backticks, which the grammar takes from Python 2."""
    return node.type == "string_start" and source[node.start_byte : node.end_byte] == b"`"


def _nodes(root: Node) -> Iterator[tuple[Node, bool]]:
    """Yield all nodes, each with True if it stands in a bare expression."""
    waiting = [(child, False) for child in root.children]
    while waiting:
        node, bare = waiting.pop()
        yield node, bare
        bare = (bare or node.type in _BARE) and node.type not in _INNER
        waiting.extend((child, bare) for child in node.children)


def _counts(node: Node, source: bytes, bare: bool) -> bool:
    """Return True if a node makes its line code."""
    kind = node.type
    if not node.is_named:
        if kind in _ASSIGNMENTS:
            return True
        return not bare and kind in _OPERATORS and (kind not in _BETWEEN_WORDS or _apart(node, source))
    if kind in _CALLS:
        return _touches(node, source)
    if kind == "declaration":
        return _is_declaration(node)
    if kind == "class_definition":
        name = node.child_by_field_name("name")
        return name is not None and (source[name.end_byte : name.end_byte + 1] == b"(" or _capital(name, source))
    if kind in ("preproc_include", "preproc_def", "preproc_function_def"):
        return True
    if kind in ("use_declaration", "import_declaration"):
        return any(mark in source for mark in (b"::", b".", b'"'))
    if kind in ("struct_specifier", "class_specifier", "enum_specifier", "union_specifier"):
        return node.child_by_field_name("body") is not None
    if kind == "import_statement":
        return b"{" in source or b'"' in source or b"'" in source or b"." in source
    return kind in _DECLARATIONS


def _capital(name: Node, source: bytes) -> bool:
    return source[name.start_byte : name.start_byte + 1].isupper()


def _apart(operator: Node, source: bytes) -> bool:
    return source[operator.start_byte - 1 : operator.start_byte] == b" " == source[operator.end_byte :][:1]


def _touches(call: Node, source: bytes) -> bool:
    """Return True if a call's parenthesis touches its name."""
    arguments = call.child_by_field_name("arguments")
    if arguments is None:  # of a macro
        arguments = call.children[-1]
    begin = arguments.start_byte
    before = source[begin - 1 : begin]
    return begin > 0 and source[begin : begin + 1] in (b"(", b"[") and not before.isspace()


def _is_declaration(node: Node) -> bool:
    """Return True for a declaration of C; two words with a semicolon are not one ("Read lines;")."""
    kind, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
    if kind is None or declarator is None:
        return False
    return kind.type != "type_identifier" or declarator.type not in ("identifier", "function_declarator")


def _is_command(line: str) -> bool:
    """Return True if a line is a command of bash with a pipe, a redirection, `&&` or a command substitution.

    Nearly all prose parses as bash ("lexer > parser"). So each command must be a well-known one or a path, and a file
    that is written must look like a path.
    """
    source = encoded("Bash", line)
    root = parser("Bash", "the rule no-code").parse(source).root_node
    if root.has_error:
        return False
    marked = False
    for node, _ in _nodes(root):
        if node.type == "command_name":
            name = source[node.start_byte : node.end_byte].decode("utf-8", "replace")
            if name not in _COMMANDS and not _PATH.fullmatch(name):
                return False
        elif node.type == "file_redirect":
            target = node.child_by_field_name("destination")
            text = b"" if target is None else source[target.start_byte : target.end_byte]
            if not _PATH.search(text.decode("utf-8", "replace")):
                continue
            marked = True
        elif node.type in ("pipeline", "command_substitution") or (node.type == "&&" and not node.is_named):
            marked = True
    return marked


_COMMANDS = frozenset().union(
    well_known.READING,
    well_known.NOTHING,
    well_known.CHANGING,
    well_known.SHELLS,
    well_known.INTERPRETERS,
    well_known.BUILDING,
    well_known.WRAPPERS,
    {"pytest", "git", "curl", "wget"},
)
