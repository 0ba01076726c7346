"""The lines of a record, packed or not, in bounded memory for any file.

An unfinished last line or a tail of zeros, which a crash leaves, is skipped. Other content that is not a record is an
error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from trajectories.errors import RecordError
from trajectories.reading.packed import open_record

LINE_BYTES = 256 << 20
"""Longest line of an event. A snapshot of 500,000 files takes 150 MB."""
_PIECE = 1 << 20
_TYPE = re.compile(rb'\{"seq":\d+,"t":"[^"\\]*","mono_s":[-+.0-9eE]+,"type":"(\w+)"')


def complete_lines(path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield the number (from 1) and the text of each complete line. What follows the last newline is skipped.

    With `start`, begin with the line that begins at this byte of the unpacked record, and count from there.

    Raises: RecordError for a line that is longer than LINE_BYTES, and for a packed record that is damaged.
    """
    with open_record(path) as file:
        file.seek(start)
        number = 0
        while True:
            number += 1
            line = file.readline(_PIECE)
            plausible = line[:1] == b"{"
            size = len(line)
            pieces = [line]
            while not pieces[-1].endswith(b"\n"):
                piece = file.readline(_PIECE)
                if not piece:
                    return
                size += len(piece)
                if plausible and size > LINE_BYTES:
                    raise RecordError(f"{path}:{number}: a line of more than {LINE_BYTES >> 20} MiB is not an event")
                if plausible:
                    pieces.append(piece)
                else:
                    pieces[1:] = [piece]  # only its end is of interest
            yield number, b"".join(pieces) if plausible else pieces[0] + b"\n"


def kind_of(line: bytes) -> str | None:
    """Return the type of an event without parsing its line. None if only parsing can tell it."""
    match = _TYPE.match(line[:200])
    return match[1].decode() if match else None
