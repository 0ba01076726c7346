"""Stores the report of a replay beside the record that was replayed."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from trajectories.reading.replays import StoredReplay
from trajectories.record.layout import TrialFolder
from trajectories.writing.masking import Masker


def store_replay(trial: Path, replay: StoredReplay, masker: Masker) -> Path:
    """Store a report with secrets masked, in place of the last one of the same request, and return its file.

    A reader sees the old report or the new one, whole.

    Raises: OSError if it cannot be stored.
    """
    folder = TrialFolder(trial).replays
    if folder.is_symlink():
        raise OSError(errno.ELOOP, "a link, which may lead out of the trial", str(folder))
    folder.mkdir(exist_ok=True)
    path = folder / f"{replay.request.key}.json"
    temporary = folder / f".{path.stem}.{os.getpid()}.new"
    temporary.unlink(missing_ok=True)
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(masker.event(replay).model_dump_json(indent=1, by_alias=True) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path
