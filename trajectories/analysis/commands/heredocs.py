"""The here-documents of a bash script, found as bash finds them, before the script is parsed.

The grammar of tree-sitter-bash attaches a here-document to the wrong command of a list, ends it at a line that only
begins with its delimiter, rejects two on one line, and sometimes overlooks the newline after a here-string. So they are
taken out first: each operator becomes a plain input redirection of the same length and each text becomes blanks, which
keeps every other byte at its place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

_DELIMITER = re.compile(
    rb"""(?:[ \t]|\\\n)*((?:\\.|'[^'\n]*'|"(?:\\.|[^"\\\n])*"|[^ \t\n;&|<>()`'"\\])+)""",
    re.DOTALL,
)
_QUOTED_PART = re.compile(rb"""\\(.)|'([^']*)'|"((?:\\.|[^"\\])*)\"""", re.DOTALL)
_ESCAPED = re.compile(rb"\\([$`\\])")
_IN_COMMANDS = re.compile(
    rb"""\\.|\$'(?:\\.|[^'\\])*'?|'[^']*'?|\$\(\(?|\$\{|\$\[|\(\(?|<<<|<<-?|\b(?:case|esac)\b|["`)\#\n]""", re.DOTALL
)
_IN_STRING = re.compile(rb"""\\.|\$\(\(?|\$\{|["`]""", re.DOTALL)
_IN_PARAMETER = re.compile(rb"""\\.|\$\(\(?|\$\{|["`'}]""", re.DOTALL)
_IN_ARITHMETIC = re.compile(rb"""\\.|'[^']*'|"(?:\\.|[^"\\])*"|[()]""", re.DOTALL)
_BEFORE_COMMAND = re.compile(rb"(?:^|[\n;&|({`]|\b(?:do|then|else|elif|if|while|until|time)|!)[ \t]*\Z")
_LONGEST_ARITHMETIC = 4096
_BLANKS = bytes(10 if byte == 10 else 32 for byte in range(256))
_BACKSLASH = ord("\\")
_TABS = re.compile(rb"^\t+", re.MULTILINE)

_Kind = Literal["script", "group", "substitution", "backquote", "string", "parameter", "body"]
_COMMANDS = frozenset({"script", "group", "substitution", "backquote"})


@dataclass(frozen=True)
class Heredoc:
    """A here-document: its text as the command reads it, and the scripts of the command substitutions in it."""

    text: str
    scripts: tuple[str, ...] = ()


@dataclass
class _Frame:
    """A construct that the scanner is inside of; `cases` counts its open `case` commands."""

    kind: _Kind
    begin: int = 0
    cases: int = 0
    waiting: list[_Operator] = field(default_factory=list)
    """Here-documents of this script or substitution whose text begins after the next newline."""


@dataclass(frozen=True)
class _Operator:
    at: int
    delimiter: bytes
    quoted: bool
    tabs: bool


def taken_out(source: bytes) -> tuple[bytes, dict[int, Heredoc | None]]:
    """Return the script without here-documents, as long as before, and the here-documents by their operator's place.

    A here-string becomes an input redirection of its word, with None at its place.
    """
    if b"<<" not in source:
        return source, {}
    scanner = _Scanner(source)
    scanner.run()
    return bytes(scanner.blanked), scanner.heredocs


class _Scanner:
    """One pass over a script (or over the text of a here-document) that tracks quotes and substitutions."""

    def __init__(self, source: bytes, kind: _Kind = "script") -> None:
        self.source = source
        self.blanked = bytearray(source)
        self.heredocs: dict[int, Heredoc | None] = {}
        self.scripts: list[str] = []
        self._frames = [_Frame(kind)]
        self._lookahead = 2 * len(source)
        """Bytes that may still be looked at twice, so that a pass takes linear time."""

    def run(self) -> None:
        at = 0
        while at < len(self.source):
            frame = self._frames[-1]
            pattern = (
                _IN_COMMANDS if frame.kind in _COMMANDS else _IN_PARAMETER if frame.kind == "parameter" else _IN_STRING
            )
            match = pattern.search(self.source, at)
            if match is None:
                break
            at = self._token(frame, match)
        for frame in self._frames:
            self._read(frame, len(self.source))

    def _token(self, frame: _Frame, match: re.Match[bytes]) -> int:
        """Process one token and return the place behind it."""
        token, end = match[0], match.end()
        if token in (b"$((", b"(("):
            if (after := self._arithmetic(end)) is not None:
                return after
            token, end = token[:-1], end - 1
        if token == b"$[":
            closing = self.source.find(b"]", end)
            return end if closing < 0 else closing + 1
        if token == b"$(":
            self._frames.append(_Frame("substitution", end))
        elif token == b"${":
            self._frames.append(_Frame("parameter", end))
        elif token == b"`":
            if frame.kind == "backquote":
                self._leave(match.start())
            else:
                self._frames.append(_Frame("backquote", end))
        elif token == b'"':
            if frame.kind == "string":
                self._leave(end)
            elif frame.kind != "body":
                self._frames.append(_Frame("string"))
        elif frame.kind in _COMMANDS:
            return self._in_commands(frame, token, match.start(), end)
        elif token == b"}":
            self._leave(end)
        elif token == b"'" and not any(outer.kind in ("string", "body") for outer in self._frames):
            closing = self.source.find(b"'", end)
            return len(self.source) if closing < 0 else closing + 1
        return end

    def _in_commands(self, frame: _Frame, token: bytes, begin: int, end: int) -> int:
        if token == b"(":
            self._frames.append(_Frame("group", end))
        elif token == b")":
            if frame.kind in ("group", "substitution") and not frame.cases:
                self._leave(begin)
        elif token == b"#":
            return self._comment(begin, end)
        elif token in (b"<<", b"<<-"):
            return self._operator(begin, end)
        elif token == b"<<<":
            self.blanked[begin:end] = b"<  "
            self.heredocs[begin] = None
        elif token == b"\n":
            return self._read(self._reader(), end)
        elif token == b"case" and self._begins_command(begin):
            frame.cases += 1
        elif token == b"esac" and self._begins_command(begin):
            frame.cases = max(frame.cases - 1, 0)
        return end

    def _begins_command(self, at: int) -> bool:
        return _BEFORE_COMMAND.search(self.source, max(0, at - 40), at) is not None

    def _comment(self, begin: int, end: int) -> int:
        if begin and self.source[begin - 1 : begin] not in b" \t\n;&|()<>":
            return end
        newline = self.source.find(b"\n", end)
        newline = len(self.source) if newline < 0 else newline
        if any(frame.kind == "backquote" for frame in self._frames):
            closing = self.source.find(b"`", end, newline)
            return newline if closing < 0 else closing
        return newline

    def _arithmetic(self, begin: int) -> int | None:
        """Return the place behind the `))` that closes an arithmetic expression; None if it is something else."""
        depth = 0
        until = begin + min(_LONGEST_ARITHMETIC, self._lookahead)
        self._lookahead -= until - begin
        for match in _IN_ARITHMETIC.finditer(self.source, begin, until):
            if match[0] == b"(":
                depth += 1
            elif match[0] == b")":
                if depth == 0:
                    self._lookahead += until - match.end()
                    return match.end() + 1 if self.source[match.end() : match.end() + 1] == b")" else None
                depth -= 1
        return None

    def _reader(self) -> _Frame:
        """Return the frame that collects here-documents: the innermost substitution or the script."""
        return next(frame for frame in reversed(self._frames) if frame.kind != "group" or frame is self._frames[0])

    def _leave(self, end: int) -> None:
        """Leave a construct; here-documents whose text did not follow yet belong to the one around it."""
        frame = self._frames.pop()
        if frame.waiting:
            self._reader().waiting += frame.waiting
        if len(self._frames) == 1 and self._frames[0].kind == "body" and frame.kind in ("substitution", "backquote"):
            self.scripts.append(self.source[frame.begin : end].decode("utf-8", "replace"))

    def _operator(self, begin: int, end: int) -> int:
        match = _DELIMITER.match(self.source, end)
        if match is None:
            return end
        word = match[1]
        plain = _QUOTED_PART.sub(lambda part: part[1] or part[2] or part[3] or b"", word)
        self._reader().waiting.append(_Operator(begin, plain, plain != word, self.source[end - 1 : end] == b"-"))
        self.blanked[begin : match.end()] = b"<" + b"x" * (match.end() - begin - 1)
        return match.end()

    def _read(self, reader: _Frame, at: int) -> int:
        """Read the texts of the waiting here-documents, which begin at a place, and return the place behind them."""
        for number, operator in enumerate(reader.waiting):
            if number and self.source[at : at + 1] == b"\n":
                at += 1
            at = self._text(operator, at, reader.kind)
        reader.waiting.clear()
        return at

    def _text(self, operator: _Operator, begin: int, kind: _Kind) -> int:
        end, after = self._end(operator, begin, kind)
        raw = self.source[begin:end]
        self.blanked[begin:after] = self.source[begin:after].translate(_BLANKS)
        if end == after and raw and not raw.endswith(b"\n"):
            raw += b"\n"  # bash warns that there is no delimiter, and ends the last line
        if operator.tabs:
            raw = _TABS.sub(b"", raw)
        if self._frames[0].kind == "script":
            self.heredocs[operator.at] = _heredoc(raw, operator.quoted)
        return after

    def _end(self, operator: _Operator, begin: int, kind: _Kind) -> tuple[int, int]:
        """Return the places where the line of the delimiter begins, and behind the delimiter."""
        closing = {"substitution": rb"|(?=\))", "backquote": rb"|(?=`)"}.get(kind, b"")
        tabs = rb"\t*" if operator.tabs else b""
        line = re.compile(rb"^" + tabs + re.escape(operator.delimiter) + rb"(?:$" + closing + rb")", re.MULTILINE)
        for match in line.finditer(self.source, begin):
            at = match.start() - 1
            while at > begin and self.source[at - 1] == _BACKSLASH:
                at -= 1
            if operator.quoted or (match.start() - 1 - at) % 2 == 0:
                return match.start(), match.end()
        return len(self.source), len(self.source)


def _heredoc(raw: bytes, quoted: bool) -> Heredoc:
    if quoted:
        return Heredoc(raw.decode("utf-8", "replace"))
    scripts: list[str] = []
    if b"$(" in raw or b"`" in raw:
        scanner = _Scanner(raw, "body")
        scanner.run()
        scripts = scanner.scripts
    text = _ESCAPED.sub(rb"\1", raw.replace(b"\\\n", b"")) if b"\\" in raw else raw
    return Heredoc(text.decode("utf-8", "replace"), tuple(scripts))
