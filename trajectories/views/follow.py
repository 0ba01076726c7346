"""Reading of a record while it is being written.

Only complete lines are read. Reading ends when no process owns the trial any more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from trajectories.reading.live import is_live
from trajectories.reading.packed import open_record
from trajectories.reading.reader import EventParser, events_file
from trajectories.record.events import Event

_POLL_S = 0.2


def follow(trial: Path) -> Iterator[Event]:
    """Yield events as they are written, until the process that writes them releases the trial.

    Raises: RecordError.
    """
    path = events_file(trial)
    parser = EventParser()
    number, at, live = 0, 0, True
    while live:  # a packed record is unpacked by the process that continues it: it is opened again for each look
        live = is_live(path.parent)
        with open_record(path) as file:
            file.seek(at)
            while (line := file.readline()).endswith(b"\n"):
                at += len(line)
                number += 1
                yield from parser.events(line, f"{path}:{number}")
        if live:
            time.sleep(_POLL_S)
