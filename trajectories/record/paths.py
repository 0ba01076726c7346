r"""A workspace's paths as text that a record can hold: exact and reversible for any bytes.

Valid UTF-8 stands as it is, every other byte as `\xNN`, a backslash doubled. Control characters stay (JSON escapes
them, `text.printable` makes them visible): a second spelling would only make two texts for one name.
"""

from __future__ import annotations

import re

from trajectories.errors import RecordError

PATH_BYTES = 1 << 16
"""No path in a record is longer; Linux hands out names of 4,096 bytes, deeper trees exist."""
_ESCAPE = re.compile(rb"\\(\\|x[0-9a-f]{2})?")
_SHOWN = 200


def to_text(path: bytes) -> str:
    """The text of a path, or of a symbolic link's target."""
    return path.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def from_text(text: str) -> bytes:
    """The bytes that `to_text` made this of.

    Raises: RecordError for any text that it does not make: there is one spelling for each path.
    """
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise RecordError(f"{_shown(text)}: a path with half of a surrogate pair in it") from None
    if b"\\" not in encoded:
        return encoded
    path = _ESCAPE.sub(_unescaped, encoded)
    if to_text(path) != text:
        raise RecordError(
            rf"{_shown(text)}: a path that is not spelled as records do (\\ and \xNN of what is no UTF-8)"
        )
    return path


def components(text: str) -> tuple[bytes, ...]:
    """The names along a path relative to the workspace, at least one.

    Raises: RecordError for a path that is absolute, climbs, or has an empty name, a dot or a NUL in it.
    """
    path = from_text(text)
    if len(path) > PATH_BYTES:
        raise RecordError(f"{_shown(text)}: a path of {len(path)} bytes; at most {PATH_BYTES} are read")
    names = tuple(path.split(b"/"))
    if b"\0" in path or any(name in (b"", b".", b"..") for name in names):
        raise RecordError(f"{_shown(text)}: not a plain path below the workspace")
    return names


def parent_of(text: str) -> str:
    """The path of the directory that a path is in; empty for the workspace itself."""
    return text.rpartition("/")[0]


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return b"\\" if code in (b"\\", None) else bytes([int(code[1:], 16)])


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
