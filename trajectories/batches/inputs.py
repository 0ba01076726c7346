"""Contents that a batch's grid refers to by sha256: prompts, plans, answers, tables of prices.

They are kept in `.inputs` as a trial keeps its blobs, and share the batch's pool with them.
"""

from __future__ import annotations

from pathlib import Path

from trajectories.blobs.store import BlobStore
from trajectories.errors import RecordError, RecordFull
from trajectories.record.layout import POOL, BatchFolder
from trajectories.writing.line_file import NO_SPACE
from trajectories.writing.masking import Masker


class BatchInputs:
    """The contents of one batch."""

    def __init__(self, directory: Path, *, masker: Masker | None = None) -> None:
        self._store = BlobStore(BatchFolder(directory).inputs, directory / POOL)
        self._masker = masker or Masker()

    def put(self, data: bytes, name: str) -> str:
        """Store a content durably and return its sha256; `name` is for messages.

        Raises: RecordError if it holds a secret of this process, or cannot be written; RecordFull.
        """
        if self._masker.occurs_in(data):
            raise RecordError(
                f"{name}: it holds a secret of this process's environment, and a batch keeps none; leave the secret out"
            )
        try:
            sha256 = self._store.put(data)
            self._store.sync_directories()
        except OSError as error:
            place = self._store.directory
            if error.errno in NO_SPACE:
                raise RecordFull(f"{place}: no space left for {name}; free some and start the batch again") from None
            raise RecordError(f"{place}: {name} cannot be written ({error.strerror})") from None
        return sha256

    def get(self, sha256: str) -> bytes:
        """Return the content with this sha256.

        Raises: RecordError if it is missing or damaged.
        """
        return self._store.get(sha256)
