"""Texts that a command prints, if its words and its input alone determine them.

A pipeline such as `echo TEXT | base64 -d | sh` hands a script to a shell, and `$(echo strings)` names a command. This
is what can be known of it without running anything.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import posixpath
import re
from collections.abc import Sequence

from trajectories.analysis.commands.well_known import names_in

_LONGEST = 1 << 16
"""Longest text that is decoded or printed by one command, in characters."""
_ALMOST_UNCHANGED = names_in("sed envsubst head tail expand unexpand dos2unix iconv sort uniq column fold fmt grep awk")
"""Filters whose output is taken for their input."""
_PRINTING = names_in("echo printf find ls which realpath readlink dirname basename pwd")
"""Commands that print something of their words. `ls` and `which` print names that end like their operands."""
_FILTERS = _ALMOST_UNCHANGED | names_in("cat tee base64 openssl xxd rev tr")
_SILENT = names_in("cd pushd test [ : true false export set mkdir rm cp mv touch chmod sleep")
_MOST_NAMES = 10
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "e": "\x1b", "0": "\0", "v": "\v"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|0?[0-7]{1,3}|.)", re.DOTALL)
_RANGE = re.compile(r"(.)-(.)", re.DOTALL)


def unescaped(text: str) -> str:
    """Return the text that `printf`, `echo -e` and `$'...'` make of backslash escapes."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xu" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8) & 0x1FF)
    return _ESCAPES.get(code, code)


def output_of(words: Sequence[str], stdin: str | None) -> str | None:
    """Return the text that a command prints; None if it is not known."""
    name = words[0].rpartition("/")[2]
    if name in _SILENT:
        return ""
    if name not in _PRINTING and (stdin is None or name not in _FILTERS):
        return None
    if name == "echo":
        return _echo(words[1:])
    if name == "printf":
        return _printf(words[1:])
    operands, options = [word for word in words[1:] if word[:1] != "-"], [word for word in words[1:] if word[:1] == "-"]
    if name == "find":
        names = [word for before, word in itertools.pairwise(words) if before in ("-name", "-iname")]
        return "".join(f"{(operands or ['.'])[0].rstrip('/')}/{word}\n" for word in names) or None
    if name == "pwd":
        return ".\n"
    if name == "dirname" and operands:
        return (posixpath.dirname(operands[0]) or ".") + "\n"  # of `$0` in a script of the workspace, too
    if name == "basename" and operands:
        return posixpath.basename(operands[0]) + "\n"
    if name in _PRINTING:
        return "\n".join(operands) + "\n" if 0 < len(operands) < _MOST_NAMES else None
    if stdin is None or name in _ALMOST_UNCHANGED:
        return stdin
    if name in ("base64", "openssl"):
        return _decoded(stdin) if any(option in ("-d", "-D", "--decode", "-di") for option in options) else None
    if name == "xxd":
        return _from_hex(stdin) if any("r" in option for option in options) else None
    if name == "rev":
        return "\n".join(line[::-1] for line in stdin.split("\n"))
    if name == "tr":
        return _translated(stdin, *operands) if len(operands) == 2 and not options else None
    return stdin if name == "tee" or set(operands) <= {"-"} else None


def _echo(words: Sequence[str]) -> str:
    end, escapes = "\n", False
    while words and re.fullmatch("-[neE]+", words[0]):
        end, escapes = "" if "n" in words[0] else end, "e" in words[0] or escapes
        words = words[1:]
    text = " ".join(words)
    return (unescaped(text) if escapes else text) + end


def _printf(words: Sequence[str]) -> str | None:
    words = words[1:] if words and words[0] == "--" else words
    if not words or words[0] == "-v":
        return None
    parts = re.split(r"(%%|%-?\d*[sbq])", words[0])
    if any("%" in part for part in parts[::2]):
        return None
    places = sum(part != "%%" for part in parts[1::2])
    text, rest = "", list(words[1:])
    while True:
        for number, part in enumerate(parts):
            if number % 2 == 0:
                text += unescaped(part)
            elif part == "%%":
                text += "%"
            else:
                value = rest.pop(0) if rest else ""
                text += unescaped(value) if part.endswith("b") else value
        if not rest or not places or len(text) > _LONGEST:
            return text


def _decoded(text: str) -> str | None:
    plain = "".join(text[:_LONGEST].split())
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4)).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return None


def _from_hex(text: str) -> str | None:
    try:
        return bytes.fromhex("".join(text[:_LONGEST].split())).decode("utf-8", "replace")
    except ValueError:
        return None


def _translated(text: str, before: str, after: str) -> str:
    before, after = _characters(before), _characters(after)
    if not before or not after:
        return text
    after += after[-1] * (len(before) - len(after))
    return text.translate({ord(character): after[number] for number, character in enumerate(before)})


def _characters(operand: str) -> str:
    return _RANGE.sub(
        lambda match: "".join(map(chr, range(ord(match[1]), min(ord(match[2]), ord(match[1]) + 255) + 1))),
        unescaped(operand[:256]),
    )
