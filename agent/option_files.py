"""Reads a file that an option names: regular, of bounded size, and for a text UTF-8."""

from __future__ import annotations

from pathlib import Path

from agent.errors import UserError

_MOST_BYTES = 4 << 20


def read_text(path: Path, option: str) -> str:
    """Return the text of a file that an option names, with `\\n` between lines.

    Raises: UserError.
    """
    try:
        text = read_data(path, f"{option} {path}").decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{option} {path}: not UTF-8 (byte {error.start}); convert the file") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_data(path: Path, typed: str) -> bytes:
    """Return the content of a file; `typed` is the option with its value, for messages.

    Raises: UserError.
    """
    try:
        if path.exists() and not path.is_file():
            raise UserError(f"{typed}: not a regular file")
        if path.stat().st_size > _MOST_BYTES:
            raise UserError(f"{typed}: is larger than {_MOST_BYTES >> 20} MiB")
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{typed}: cannot be read ({error.strerror})") from None
