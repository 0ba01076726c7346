"""The commands and file writes of a bash script, in order, parsed by tree-sitter.

Nothing is run or classified here. `words` says what the words of a command are, `heredocs` takes here-documents out
before the parse, and `cd` is followed. A text that one command of a pipeline prints, if it is known, is the next
one's standard input.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from trajectories.analysis.commands.heredocs import taken_out
from trajectories.analysis.commands.outputs import output_of
from trajectories.analysis.commands.redirections import NO_FILES, Files, absolute, files_of
from trajectories.analysis.commands.words import Words
from trajectories.analysis.extras import grammar, load

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_BEYOND = re.compile("[^\\x00-\\xff]")
"""Characters that are replaced before parsing: tree-sitter-bash 0.25 calls `isdigit` on the character after a brace,
which reads beyond its table; `{` before a character of a high plane crashed the process."""
_FILLERS = {1: "?", 2: "é", 3: "é_", 4: "éé"}
_LISTS = frozenset({"list", "pipeline", "negated_command"})
_LEAVES = frozenset(
    {"word", "raw_string", "ansi_c_string", "comment", "number", "variable_name", "string_content", "test_operator"}
)
"""Nodes that contain no command."""
_SUBSHELLS = frozenset({"subshell", "command_substitution", "process_substitution"})
_DEEPEST = 5
"""Levels of command substitutions inside of here-documents that are examined."""


@dataclass(frozen=True)
class Command:
    """A simple command: its words, the text on its standard input, and the directory in which it runs."""

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
    """An output redirection into a file, with the text that is written if it is known."""

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
    loops; None if the script is not well-formed bash. The list is shared with later calls for the same script.

    Raises: MissingExtra without tree-sitter and its bash grammar.
    """
    return _items(script, cwd, 0)


@lru_cache(maxsize=8)
def _items(script: str, cwd: str, depth: int) -> list[Item] | None:
    source = script.encode("utf-8", "replace")
    blanked, heredocs = taken_out(source)
    if not blanked.isascii():
        blanked = parseable(blanked.decode())
    root = _parser().parse(blanked).root_node
    if root.has_error:
        return None
    walk = _Walk(Words(source, heredocs), cwd, depth)
    walk.run(root)
    return walk.items


def parseable(script: str) -> bytes:
    """Encode a script for tree-sitter-bash: as long as its UTF-8, without characters that crash its scanner."""
    return _BEYOND.sub(_filler, script).encode("utf-8", "replace")


def _filler(character: re.Match[str]) -> str:
    """Return a filler of the same length in bytes, of characters of a word that cannot name a variable."""
    return _FILLERS[len(character[0].encode("utf-8", "replace"))]


@dataclass
class _Output:
    """The text that one or more commands print; None once a part of it is not known."""

    text: str | None = ""

    def add(self, text: str | None) -> None:
        self.text = None if text is None or self.text is None else self.text + text


@dataclass(frozen=True)
class _Finish:
    """The end of a subshell, where the directory is again what it was, or of a statement whose output is written."""

    cwd: str | None = None
    files: Files = field(default_factory=Files)
    output: _Output | None = None


_Visit = tuple["Node", _Output | None, _Output | None]
"""A node to visit, with the output that is its standard input and the one that it adds to."""


@dataclass
class _Walk:
    """One pass over a tree, without recursion into statements, since scripts may nest deeper than Python's stack."""

    words: Words
    cwd: str
    depth: int
    items: list[Item] = field(default_factory=list)
    functions: frozenset[str] = frozenset()
    redirects: dict[int, list[Node]] = field(default_factory=dict)
    """Redirections of a node that stand in a statement around it, by the node's id."""
    piped: dict[int, _Output] = field(default_factory=dict)
    """Output of a pipe that a node reads, by the node's id."""
    into: dict[int, _Output] = field(default_factory=dict)
    """Output of a pipe that a node writes to, by the node's id."""

    def run(self, root: Node) -> None:
        waiting: list[_Visit | _Finish] = [(root, None, None)]
        while waiting:
            entry = waiting.pop()
            if isinstance(entry, _Finish):
                self.cwd = entry.cwd or self.cwd
                self._write(entry.files, entry.output)
                continue
            node, stdin, output = entry
            kind, number = node.type, node.id
            if self.piped or self.into:
                stdin, output = self.piped.pop(number, stdin), self.into.pop(number, output)
            later: list[_Visit | _Finish]
            children = node.named_children
            if kind == "command":
                redirects = self.redirects.pop(number, []) if self.redirects else []
                later = self._command(children, redirects, stdin, output)
            elif kind == "redirected_statement":
                later = self._redirected(node, children, stdin, output)
            else:
                ends: list[_Finish] = []
                if self.redirects and number in self.redirects:
                    files = files_of(self.words, self.cwd, self.redirects.pop(number))
                    stdin = _Output(files.stdin) if files.stdin is not None else stdin
                    output = _Output() if files.printed else output
                    self._substituted(files)
                    ends = [_Finish(None, files, output)]
                if kind == "pipeline":
                    self._pipe(children)
                elif kind == "variable_assignment":
                    self.words.assign(node)
                elif kind == "for_statement":
                    self.words.loop(node)
                elif kind == "function_definition":
                    if (name := node.child_by_field_name("name")) is not None:
                        self.functions |= {self.words.text(name)}
                elif kind in _SUBSHELLS:
                    ends = [_Finish(self.cwd), *ends]
                    if kind != "subshell":
                        stdin = output = None
                    if kind == "command_substitution" and children and children[0].type == "file_redirect":
                        source = files_of(self.words, self.cwd, children).input  # $(< FILE) prints it
                        self.items.append(Command(("cat",), None, self.cwd, self.functions, source))
                later = [(child, stdin, output) for child in children if child.type not in _LEAVES]
                later += ends
            waiting.extend(reversed(later))

    def _redirected(
        self, node: Node, children: list[Node], stdin: _Output | None, output: _Output | None
    ) -> list[_Visit | _Finish]:
        """Give the redirections of a statement to its last command, which they belong to."""
        body = node.child_by_field_name("body")
        redirects = [child for child in children if child.type == "file_redirect"]
        later: list[_Visit | _Finish] = [(child, None, None) for child in redirects]
        if body is None:
            return [*later, _Finish(None, files_of(self.words, self.cwd, redirects))]
        self.redirects.setdefault(_end(body, -1).id, []).extend(redirects)
        return [(body, stdin, output), *later]

    def _pipe(self, children: list[Node]) -> None:
        """Connect the commands of a pipeline."""
        commands = [child for child in children if child.type != "comment"]
        for before, after in itertools.pairwise(commands):
            pipe = _Output()
            self.into[before.id if before.type == "command" else _end(before, -1).id] = pipe
            self.piped[after.id if after.type == "command" else _end(after, 0).id] = pipe

    def _command(
        self, children: list[Node], redirects: list[Node], stdin: _Output | None, output: _Output | None
    ) -> list[_Visit | _Finish]:
        """Add a command and its redirections, and return the nodes in it that may contain commands."""
        words: list[str] = []
        assigned = self.words.assigned
        later: list[_Visit | _Finish] = []
        for child in children:
            kind = child.type
            if kind == "file_redirect":
                redirects = [*redirects, child]
            elif kind == "variable_assignment":
                if (name := child.child_by_field_name("name")) is not None:
                    assigned |= {self.words.text(name)}
            elif kind == "comment":
                continue
            elif (word := self.words.plain(child)) is not None:
                words.append(word)
                continue
            else:
                words += self.words.of(child)
            if kind not in _LEAVES:
                later.append((child, None, None))
        files = files_of(self.words, self.cwd, redirects) if redirects else NO_FILES
        text = files.stdin if files.stdin is not None or stdin is None else stdin.text
        if words:
            self.items.append(Command(tuple(words), text, self.cwd, self.functions, files.input, assigned))
            if files.printed:
                output = _Output()
            if output is not None:
                output.add(output_of(words, text))
            if words[0] == "read" and text and len(words) > 1:
                self.words.read(words[-1], text)
            if words[0] in ("cd", "pushd"):
                operands = [word for word in words[1:] if not word.startswith("-")]
                self.cwd = absolute(operands[0], self.cwd) if operands else self.cwd
        if redirects:
            self._substituted(files)
            self._write(files, output)
        return later

    def _substituted(self, files: Files) -> None:
        """Add the commands of substitutions in here-documents."""
        for script in files.scripts if self.depth < _DEEPEST else ():
            self.items += _items(script, self.cwd, self.depth + 1) or ()

    def _write(self, files: Files, output: _Output | None) -> None:
        for path in files.written:
            self.items.append(FileWrite(path, output.text if output is not None and files.printed else None))


def _end(node: Node, which: int) -> Node:
    """Return the first (0) or last (-1) command or compound command of lists and pipelines."""
    while True:
        if node.type == "redirected_statement":
            inner = node.child_by_field_name("body")
        elif node.type in _LISTS:
            parts = node.named_children
            inner = parts[which] if parts else None
        else:
            return node
        if inner is None:
            return node
        node = inner
