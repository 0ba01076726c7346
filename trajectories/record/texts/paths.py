r"""Paths of a workspace as text that a record can hold: exact and reversible for any bytes.

Valid UTF-8 stands as it is, every other byte as `\xNN`, and a backslash is doubled. Control characters stay, because a
second spelling would make two texts for one name. JSON escapes them, and `text.printable` makes them visible.
"""

from __future__ import annotations

import re

from trajectories.errors import RecordError

PATH_BYTES = 1 << 16
"""Longest path in a record. Linux accepts at most 4,096 bytes at a time, but deeper trees exist."""
_ESCAPE = re.compile(rb"\\(\\|x[0-9a-f]{2})?")
_SHOWN = 200


def to_text(path: bytes) -> str:
    """Return the text for a path, or for the target of a symbolic link."""
    return path.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def from_text(text: str) -> bytes:
    """Return the bytes of a path from its text.

    Raises: RecordError for a text that `to_text` never returns: each path has exactly one spelling.
    """
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise RecordError(f"{_shown(text)}: a path cannot hold half of a surrogate pair") from None
    if b"\\" not in encoded:
        return encoded
    path = _ESCAPE.sub(_unescaped, encoded)
    if to_text(path) != text:
        raise RecordError(rf"{_shown(text)}: a path must spell a backslash as \\ and a byte that is not UTF-8 as \xNN")
    return path


def components(text: str) -> tuple[bytes, ...]:
    """Return the names along a path relative to the workspace, at least one.

    Raises: RecordError for a path that is absolute, or that holds an empty name, `.`, `..` or a NUL.
    """
    path = from_text(text)
    if len(path) > PATH_BYTES:
        raise RecordError(f"{_shown(text)}: the path has {len(path)} bytes; at most {PATH_BYTES} are read")
    names = tuple(path.split(b"/"))
    if b"\0" in path or any(name in (b"", b".", b"..") for name in names):
        raise RecordError(f"{_shown(text)}: not a plain path below the workspace")
    return names


def parent_of(text: str) -> str:
    """Return the path of the directory that holds a path. The workspace itself is the empty text."""
    return text.rpartition("/")[0]


def _unescaped(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    return b"\\" if code in (b"\\", None) else bytes([int(code[1:], 16)])


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
