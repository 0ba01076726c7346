"""The supervisor as a program: its settings, then its files in order, and the command that reads it in."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources

BOOT = 'IFS= read -rN "$1" s;eval "$s"'
"""Script for `bash -p -c BOOT retrace LENGTH`. It is short in a process list; the program comes over standard input."""


@functools.cache
def _source() -> str:
    directory = resources.files("environments") / "supervisor"
    parts = sorted(directory.iterdir(), key=lambda part: part.name)
    return "".join(part.read_text("ascii") for part in parts if part.name.endswith(".sh"))


def text(settings: Mapping[str, str]) -> bytes:
    """Return the text that `BOOT` reads, in ASCII: `retrace_NAME=VALUE` for each setting, then the supervisor."""
    return ("".join(f"retrace_{name}={_word(value)}\n" for name, value in settings.items()) + _source()).encode("ascii")


def _word(value: str) -> str:
    """Quote a value as one word of bash."""
    raw = value.encode("utf-8", "surrogateescape")
    return "$'" + "".join(chr(byte) if byte < 128 and chr(byte).isalnum() else f"\\x{byte:02x}" for byte in raw) + "'"
