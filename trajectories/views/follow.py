"""Reading of a record while it is being written.

Only complete lines are read. Reading ends when no process owns the trial any more.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

from trajectories.plain_files import open_plain
from trajectories.reading.reader import EventParser, events_file
from trajectories.record.events import Event
from trajectories.record.layout import TrialFolder

_POLL_S = 0.2


def follow(trial: Path) -> Iterator[Event]:
    """Yield events as they are written, until the process that writes them releases the trial.

    Raises: RecordError.
    """
    path = events_file(trial)
    number = 0
    parser = EventParser()
    with open_plain(path) as file:
        pending = b""
        while True:
            live = _is_live(path.parent)
            while line := file.readline():
                pending += line
                if pending.endswith(b"\n"):
                    number += 1
                    yield from parser.events(pending, f"{path}:{number}")
                    pending = b""
            if not live:
                return
            time.sleep(_POLL_S)


def _is_live(directory: Path) -> bool:
    try:
        with open_plain(TrialFolder(directory).lock) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    except OSError:  # there is none, or it is not a file
        pass
    return False
