"""The lines of a record's events file, in bounded memory whatever the file is.

Tells apart what a crash leaves (an unfinished last line, a tail of zeros) from what nobody wrote as a record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from trajectories.errors import RecordError

LINE_BYTES = 256 << 20
"""No event is longer: a snapshot of 500,000 files takes 150 MB."""
_PIECE = 1 << 20
_TYPE = re.compile(rb'\{"seq":\d+,"t":"[^"\\]*","mono_s":[-+.0-9eE]+,"type":"(\w+)"')


def complete_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line with its newline) of each complete line; what follows the last newline is passed over.

    Raises: RecordError, naming the line, for one that is longer than LINE_BYTES or does not begin an object.
    """
    with path.open("rb", buffering=_PIECE) as file:
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
                    raise RecordError(f"{path}:{number}: a line of more than {LINE_BYTES >> 20} MiB is no event")
                if plausible:
                    pieces.append(piece)
                else:
                    pieces[1:] = [piece]  # only its end is of interest
            yield number, b"".join(pieces) if plausible else pieces[0] + b"\n"


def kind_of(line: bytes) -> str | None:
    """The type of an event as our recorder writes it, without parsing the line; None where only parsing can tell."""
    found = _TYPE.match(line[:200])
    return found[1].decode() if found else None
