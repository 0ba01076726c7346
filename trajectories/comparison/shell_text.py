"""The part of a script that the shell itself reads as commands."""

from __future__ import annotations

import re

_HERE = re.compile(r"<<-?[ \t]*(?:(['\"])(?P<quoted>[^'\"\n]{1,80})\1|\\?(?P<plain>\w{1,80}))")
_SHELL_READS = re.compile(r"\b(?:bash|sh|zsh|dash)\b[^\n|;&]*$")


def shell_text(script: str) -> str:
    """Blank out everything in a script that the shell does not read as commands; the length stays the same.

    Within double quotes only expansions stay. A here-document or quoted text that is a script for another shell
    (`bash -c`) stays as it is.
    """
    out: list[str] = []
    at, size = 0, len(script)
    waiting: list[tuple[str, bool]] = []
    """Here-documents whose bodies begin with the next line: the delimiter, and True if a shell reads the body."""
    line_start = 0
    while at < size:
        char = script[at]
        if char == "\\" and at + 1 < size:
            out.append("  ")
            at += 2
        elif char == "#" and (at == 0 or script[at - 1] in " \t\n;"):
            end = _index(script, "\n", at)
            out.append(" " * (end - at))
            at = end
        elif char in "'\"":
            end = _quote_end(script, at)
            inside = script[at + 1 : end]
            is_script = bool(
                re.search(r"(?:^|[\s;&|])(?:ba|z|da)?sh\s+(?:-\w+\s+)*-\w*c\s*$", script[max(line_start, at - 80) : at])
            )
            if is_script:
                out.append("\n" + inside)
            elif char == '"':
                out.append(" " + re.sub(r"[|;&(\n`](?<!\$\()", " ", inside))
            else:
                out.append(" " * (len(inside) + 1))
            if end < size:
                out.append(" ")
            at = end + 1
        elif char == "<" and script.startswith("<<", at) and not script.startswith("<<<", at):
            here = _HERE.match(script, at)
            if here is not None:
                reads = bool(_SHELL_READS.search(script[max(line_start, at - 200) : at]))
                waiting.append((here["quoted"] or here["plain"], reads))
            length = here.end() - at if here is not None else 2
            out.append(" " * length)
            at += length
        elif char == "\n":
            out.append("\n")
            at += 1
            line_start = at
            for delimiter, reads in waiting:
                end = _body_end(script, at, delimiter)
                out.append(script[at:end] if reads else re.sub(r"[^\n]", " ", script[at:end]))
                at = line_start = end
            waiting = []
        else:
            out.append(char)
            at += 1
    return "".join(out)[:size]


def _quote_end(script: str, at: int) -> int:
    """Return the position of the closing quote, or the end of the script if there is none."""
    quote, end = script[at], at + 1
    while end < len(script) and script[end] != quote:
        end += 2 if quote == '"' and script[end] == "\\" else 1
    return min(end, len(script))


def _body_end(script: str, at: int, delimiter: str) -> int:
    match = re.compile(rf"^\t*{re.escape(delimiter)}$", re.M).search(script, at)
    return len(script) if match is None else match.end()


def _index(script: str, text: str, at: int) -> int:
    position = script.find(text, at)
    return len(script) if position < 0 else position
