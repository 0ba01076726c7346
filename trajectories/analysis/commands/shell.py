"""The commands and file writes of a bash script, in order, parsed by tree-sitter.

Nothing is run or classified here. Quotes are removed, variables that the script sets to literal text are expanded, and
`cd` is followed. An expansion with an unknown value stays as it is written (`$X`, `$(...)`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from trajectories.analysis.extras import grammar, load

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_LONGEST_VALUE = 4096
"""Longest value of a variable that is expanded, in characters: `X=$X$X` a hundred times must stay small."""
_BEYOND = re.compile("[^\\x00-\\xff]")
"""Characters that are replaced before parsing: tree-sitter-bash 0.25 calls `isdigit` on the character after a brace,
which reads beyond its table; `{` before a character of a high plane crashed the process."""
_FILLERS = {1: "?", 2: "é", 3: "é_", 4: "éé"}
_STATEMENTS = frozenset({"redirected_statement", "pipeline", "list", "command", "compound_statement", "subshell"})


@dataclass(frozen=True)
class Command:
    """A simple command: its words, the here-text on its standard input, and the directory in which it runs."""

    words: tuple[str, ...]
    stdin: str | None
    cwd: str
    functions: frozenset[str] = frozenset()
    """Functions that the script defines before this command."""
    input: str | None = None
    """Absolute path of the file that `<` redirects to its standard input."""
    assigned: frozenset[str] = frozenset()
    """Variables that are set in front of the command, or earlier in the script."""


@dataclass(frozen=True)
class FileWrite:
    """An output redirection into a file, with the here-text that is written if it is known."""

    path: str
    text: str | None


Item = Command | FileWrite


@cache
def _parser() -> Parser:
    parser: Parser = load("tree_sitter", "reading bash scripts").Parser(
        grammar("tree_sitter_bash", "reading bash scripts")
    )
    return parser


def items(script: str, cwd: str = "/workspace") -> list[Item] | None:
    """Return the commands and redirections of a script in order, including those inside substitutions, functions and
    loops; None if the script is not well-formed bash.

    Raises: MissingExtra without tree-sitter and its bash grammar.
    """
    source = script.encode("utf-8", "replace")
    root = _parser().parse(parseable(script)).root_node
    if root.has_error:
        return None
    return list(_Walk(source, cwd).run(root))


def parseable(script: str) -> bytes:
    """Encode a script for tree-sitter-bash: as long as its UTF-8, without characters that crash its scanner."""
    return _BEYOND.sub(_filler, script).encode("utf-8", "replace")


def _filler(character: re.Match[str]) -> str:
    """Return a filler of the same length in bytes, of characters of a word that cannot name a variable."""
    return _FILLERS[len(character[0].encode("utf-8", "replace"))]


def absolute(path: str, cwd: str) -> str:
    """Return the absolute path without `.` and `..`."""
    return posixpath.normpath(posixpath.join(cwd, path))


@dataclass
class _Walk:
    """One pass over a tree, without recursion into statements, since scripts may nest deeper than Python's stack."""

    source: bytes
    cwd: str
    variables: dict[str, str] = field(default_factory=dict)
    functions: frozenset[str] = frozenset()
    inputs: dict[int, str] = field(default_factory=dict)
    """File that `<` redirects to the standard input of a node, by the node's id."""

    def run(self, root: Node) -> Iterator[Item]:
        waiting: list[tuple[Node, str | None] | str] = [(root, None)]
        while waiting:
            entry = waiting.pop()
            if isinstance(entry, str):
                self.cwd = entry  # the subshell ends here
                continue
            node, stdin = entry
            later: list[tuple[Node, str | None] | str] = []
            fed = self.inputs.pop(node.id, None)
            match node.type:
                case "command":
                    if (command := self._command(node, stdin, fed)) is not None:
                        yield command
                    later = [(child, None) for child in node.named_children]
                case "redirected_statement":
                    text = self._here_text(node)
                    body = node.child_by_field_name("body")
                    if body is not None and (file := self._input(node) or fed) is not None:
                        self.inputs[body.id] = file
                    for child in node.named_children:
                        if child == body:
                            later.append((child, text if stdin is None else stdin))
                        elif child.type == "heredoc_redirect":
                            yield from self._writes(child, text)
                            later += [(part, text) for part in child.named_children if part.type in _STATEMENTS]
                        elif child.type == "file_redirect":
                            yield from self._write(child, text)
                            later.append((child, None))
                        else:
                            later.append((child, None))
                case "variable_assignment":
                    self._assign(node)
                    later = [(child, None) for child in node.named_children]
                case "for_statement":
                    self._loop_variable(node)
                    later = [(child, None) for child in node.named_children]
                case "function_definition":
                    if (name := node.child_by_field_name("name")) is not None:
                        self.functions |= {self._text(name)}
                    later = [(child, None) for child in node.named_children]
                case "subshell" | "command_substitution" | "process_substitution":
                    later = [*((child, None) for child in node.named_children), self.cwd]
                case "pipeline":
                    if fed is not None and node.named_children:
                        self.inputs[node.named_children[-1].id] = fed
                    later = [(child, stdin) for child in node.named_children]
                case _:
                    later = [(child, None) for child in node.named_children]
            waiting.extend(reversed(later))

    def _command(self, node: Node, stdin: str | None, fed: str | None) -> Command | None:
        words: list[str] = []
        assigned = set(self.variables)
        for child in node.named_children:
            if child.type == "variable_assignment" and (name := child.child_by_field_name("name")) is not None:
                assigned.add(self._text(name))
            if child.type == "herestring_redirect":
                stdin = self._value(child.named_children[-1]) if child.named_children else None
            elif child.type not in ("variable_assignment", "file_redirect", "heredoc_redirect", "comment"):
                words.append(self._value(child))
        if not words:
            return None
        command = Command(tuple(words), stdin, self.cwd, self.functions, fed, frozenset(assigned))
        if words[0] in ("cd", "pushd"):
            operands = [word for word in words[1:] if not word.startswith("-")]
            self.cwd = absolute(operands[0], self.cwd) if operands else self.cwd
        return command

    def _input(self, statement: Node) -> str | None:
        """Return the absolute path of `< FILE`."""
        for child in statement.named_children:
            operators = [part.type for part in child.children if not part.is_named]
            if child.type == "file_redirect" and operators == ["<"]:
                target = child.child_by_field_name("destination")
                if target is not None and target.type != "process_substitution":
                    return absolute(self._value(target), self.cwd)
        return None

    def _writes(self, redirect: Node, text: str | None) -> Iterator[FileWrite]:
        for child in redirect.named_children:
            if child.type == "file_redirect":
                yield from self._write(child, text)

    def _write(self, redirect: Node, text: str | None) -> Iterator[FileWrite]:
        operator = next((child.type for child in redirect.children if not child.is_named), "")
        target = redirect.child_by_field_name("destination")
        if target is None or ">" not in operator:
            return
        path = self._value(target)
        duplicated = operator == ">&" and (path.isdigit() or path == "-")
        if not duplicated and target.type != "process_substitution":
            yield FileWrite(absolute(path, self.cwd), text)

    def _here_text(self, statement: Node) -> str | None:
        for child in statement.named_children:
            if child.type == "heredoc_redirect":
                body = next((part for part in child.named_children if part.type == "heredoc_body"), None)
                return self._text(body) if body is not None else ""
            if child.type == "herestring_redirect" and child.named_children:
                return self._value(child.named_children[-1])
        return None

    def _assign(self, node: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or (node.parent is not None and node.parent.type == "command"):
            return
        text = self._value(value) if value is not None else ""
        if len(text) <= _LONGEST_VALUE:
            self.variables[self._text(name)] = text

    def _loop_variable(self, node: Node) -> None:
        """Give a loop's variable the first of its values."""
        name, value = node.child_by_field_name("variable"), node.child_by_field_name("value")
        if name is not None and value is not None:
            self.variables[self._text(name)] = self._value(value)[:_LONGEST_VALUE]

    def _value(self, node: Node, depth: int = 0) -> str:
        """Return a word's text after quote removal and the expansion of known variables."""
        inner = [self._value(child, depth + 1) for child in node.named_children] if depth < 20 else []
        match node.type:
            case "raw_string":
                return self._text(node)[1:-1]
            case "ansi_c_string" | "translated_string":
                return self._text(node)[2:-1]
            case "string":
                return self._string(node, depth) if depth < 20 else self._text(node)
            case "concatenation" | "command_name":
                return "".join(inner) if inner else self._text(node)
            case "simple_expansion" | "expansion":
                name = self._text(node).strip("${}")
                return self.variables.get(name, self._text(node))
            case "word":
                return "".join(inner) if inner else self._text(node).replace("\\\n", "").replace("\\", "")
            case _:
                return self._text(node)

    def _string(self, node: Node, depth: int) -> str:
        parts: list[str] = []
        at = node.start_byte + 1
        for child in node.named_children:
            parts.append(self.source[at : child.start_byte].decode("utf-8", "replace"))
            parts.append(self._value(child, depth + 1))
            at = child.end_byte
        parts.append(self.source[at : node.end_byte - 1].decode("utf-8", "replace"))
        text = "".join(parts)
        return text.replace('\\"', '"').replace("\\$", "$").replace("\\`", "`")

    def _text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")
