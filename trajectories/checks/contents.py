"""Reads what a record refers to by hash, each once, and says what is wrong with it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from trajectories.blobs.store import BlobStore
from trajectories.errors import RecordError
from trajectories.record.events import Output
from trajectories.record.layout import TrialFolder

_PIECE = 1 << 20
_MOST_BYTES = 1 << 30


class Contents:
    """The blobs of a trial."""

    def __init__(self, directory: Path) -> None:
        self._blobs = BlobStore(TrialFolder(directory).blobs)
        self._known: dict[str, int | str] = {}

    def problem(self, digest: str, size: int | None) -> str:
        """What is wrong with this blob if it should hold so many bytes; empty if nothing is."""
        if digest not in self._known:
            try:
                self._known[digest] = sum(map(len, self._blobs.pieces(digest, _MOST_BYTES)))
            except (RecordError, OSError) as error:
                self._known[digest] = str(error)
        found = self._known[digest]
        if isinstance(found, str):
            return found
        return "" if size in (None, found) else f"blob {digest[:16]}... holds {found} bytes, and {size} are recorded"

    def output_problem(self, output: Output) -> str:
        """What is wrong with an action's output."""
        if output.kept < 0 or output.bytes < 0:
            return f"an output of {min(output.kept, output.bytes)} bytes"
        if output.bytes < output.kept and not output.masked:  # a mask may be longer than the secret
            return f"an output of {output.bytes} bytes of which {output.kept} were kept"
        if output.blob is not None:
            if output.blob != output.sha256:
                return f"an output with the hash {output.sha256[:16]!r}... in the blob {output.blob[:16]!r}..."
            return self.problem(output.blob, output.kept)
        data = output.text.encode("utf-8", "replace")
        if hashlib.sha256(data).hexdigest() != output.sha256:
            return f"output sha256 {output.sha256[:16]!r}... is not the hash of its text"
        return "" if len(data) == output.kept else f"an output of {len(data)} bytes of which {output.kept} were kept"


def file_sha256(path: Path) -> tuple[str, int]:
    """sha256 and size of a file. Raises: OSError."""
    hashed = hashlib.sha256()
    size = 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            hashed.update(piece)
            size += len(piece)
    return hashed.hexdigest(), size
