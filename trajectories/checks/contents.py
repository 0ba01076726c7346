"""Reads each content that a record refers to by hash once, and describes what is wrong with it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from trajectories.blobs.store import BlobStore
from trajectories.errors import RecordError
from trajectories.plain_files import open_plain
from trajectories.record.events import Output
from trajectories.record.layout import TrialFolder

_PIECE = 1 << 20
_MOST_BYTES = 1 << 30


class Contents:
    """The blobs of a trial."""

    def __init__(self, directory: Path) -> None:
        self._blobs = BlobStore(TrialFolder(directory).blobs)
        self._read: dict[str, int | str] = {}
        """Size of each blob that was read, or what is wrong with it."""

    def problem(self, digest: str, size: int | None) -> str:
        """Return what is wrong with a blob of this recorded size, or an empty text."""
        if digest not in self._read:
            try:
                self._read[digest] = sum(map(len, self._blobs.pieces(digest, _MOST_BYTES)))
            except (RecordError, OSError) as error:
                self._read[digest] = str(error)
        actual = self._read[digest]
        if isinstance(actual, str):
            return actual
        return "" if size in (None, actual) else f"blob {digest[:16]}... holds {actual} bytes, but {size} are recorded"

    def output_problem(self, output: Output) -> str:
        """Return what is wrong with the output of an action, or an empty text."""
        if output.kept < 0 or output.bytes < 0:
            return f"its output has {min(output.kept, output.bytes)} bytes"
        if output.bytes < output.kept and not output.masked:  # a mask may be longer than the secret
            return f"its output has {output.bytes} bytes, of which {output.kept} were kept"
        if output.blob is not None:
            if output.blob != output.sha256:
                return f"its output has the hash {output.sha256[:16]!r}..., but is in the blob {output.blob[:16]!r}..."
            return self.problem(output.blob, output.kept)
        data = output.text.encode("utf-8", "replace")
        if hashlib.sha256(data).hexdigest() != output.sha256:
            return f"its output has the sha256 {output.sha256[:16]!r}..., which is not the hash of its text"
        return "" if len(data) == output.kept else f"its output has {len(data)} bytes, of which {output.kept} were kept"


def file_sha256(path: Path) -> tuple[str, int]:
    """Return the sha256 and the size of a file.

    Raises: OSError.
    """
    hashed = hashlib.sha256()
    size = 0
    with open_plain(path) as file:
        while piece := file.read(_PIECE):
            hashed.update(piece)
            size += len(piece)
    return hashed.hexdigest(), size
