"""The lock of a trial: at most one process writes its record."""

from __future__ import annotations

import json
from pathlib import Path

from trajectories.errors import TrialInUse
from trajectories.record.layout import TrialFolder
from trajectories.writing.file_lock import FileLock


class TrialLock(FileLock):
    """The lock of a trial, held within `with`.

    Raises: TrialInUse on entry if another process holds it.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(TrialFolder(directory).lock)

    def refusal(self, holder: bytes) -> TrialInUse:
        """See `FileLock`."""
        return TrialInUse(f"{self._path.parent}: {_name(holder)} is at work on this trial; wait for it or end it")


def _name(holder: bytes) -> str:
    try:
        return f"process {int(json.loads(holder)['pid'])}"
    except (ValueError, TypeError, KeyError):
        return "another process"
