"""Another program's file as a JSON value, within bounds; every error names the location.

Accepted are a byte order mark, lone surrogates and NUL within strings, and duplicate keys (the last one counts).
Rejected are files of more than 64 MiB, anything but a regular file, text that is not UTF-8 or not JSON, NaN and
infinities, and values that are nested deeper than a record allows.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from trajectories.formats.errors import BadDocument
from trajectories.plain_files import open_plain
from trajectories.record.texts import bounds

MOST_BYTES = 64 << 20
"""Largest file that is read."""
_OUTSIDE_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<constant>NaN|-?Infinity)', re.DOTALL)


@dataclass(frozen=True)
class Document:
    """A file with its name, its bytes and its JSON value."""

    name: str
    data: bytes
    value: Any

    @property
    def sha256(self) -> str:
        """The sha256 of the bytes."""
        return hashlib.sha256(self.data).hexdigest()


def read_document(path: Path) -> Document:
    """Read the JSON document in a file.

    Raises: BadDocument, which names the place but not the file.
    """
    data = _read(path)
    return Document(path.name, data, parse_json(data))


def parse_json(data: bytes) -> Any:
    """Parse a JSON text.

    Raises: BadDocument.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadDocument("not UTF-8", f"byte {error.start}") from None
    if not text.strip():
        raise BadDocument("the file is empty" if not text else "the file holds only white space")
    try:
        value = json.loads(text, parse_constant=_reject_constant)
        bounds.check(value, most_bytes=MOST_BYTES)
    except _Constant as constant:
        raise BadDocument(f"{constant} is not a number in JSON", _place_of_constant(text)) from None
    except json.JSONDecodeError as error:
        cut = " (the file is cut off?)" if error.pos >= len(text.rstrip()) - 1 else ""
        raise BadDocument(f"not JSON: {error.msg}{cut}", f"line {error.lineno}, column {error.colno}") from None
    except bounds.OutOfBounds as error:
        raise BadDocument(f"the document is not usable: {error}") from None
    except RecursionError:
        raise BadDocument(f"the document is nested deeper than {bounds.MAX_DEPTH} levels") from None
    except ValueError as error:  # an integer of more than 4,300 digits
        raise BadDocument(f"not JSON: {str(error).partition(';')[0]}") from None
    return value


class _Constant(Exception):
    pass


def _reject_constant(name: str) -> NoReturn:
    raise _Constant(name)


def _place_of_constant(text: str) -> str:
    for match in _OUTSIDE_STRINGS.finditer(text):
        if match["constant"]:
            line_start = text.rfind("\n", 0, match.start()) + 1
            return f"line {text.count(chr(10), 0, match.start()) + 1}, column {match.start() - line_start + 1}"
    return ""


def _read(path: Path) -> bytes:
    try:
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise BadDocument("is not a regular file")
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MOST_BYTES:
                raise BadDocument(f"has {size} bytes; at most {MOST_BYTES >> 20} MiB can be read")
            data = file.read(MOST_BYTES + 1)
    except IsADirectoryError:
        raise BadDocument("is a directory; name the files in it") from None
    except OSError as error:
        raise BadDocument(f"cannot be read ({error.strerror})") from None
    except ValueError:  # a NUL in the name
        raise BadDocument("is not a file name") from None
    if len(data) > MOST_BYTES:
        raise BadDocument(f"has more than {MOST_BYTES >> 20} MiB, the most that can be read")
    return data
