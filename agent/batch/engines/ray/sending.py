"""Files that a node needs for a unit: contents of its configuration, what earlier work left, and a fork's parent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from agent.batch.engines.ray.pieces import (
    PIECE_BYTES,
    Piece,
    first_trial_of,
    folders_of,
    is_record,
    pieces_of,
    plain_files,
)
from agent.batch.grid.options import FORK
from trajectories.batches.configuration import Configuration
from trajectories.blobs.store import BlobStore
from trajectories.record.layout import BatchFolder

PARENTS = "../parents"
"""Folder of the parents of forks on a node, relative to the batch folder there."""


class Sending:
    """The files for the node of one worker. `present` names those that it has, and is added to."""

    def __init__(self, batch: BatchFolder, present: set[str]) -> None:
        self._batch = batch
        self._present = present

    def for_node(self, configuration: Configuration) -> Configuration:
        """Return the configuration with the place of a fork's parent on the node."""
        forked = configuration.options.get(FORK)
        if forked is None:
            return configuration
        parent = Path(forked["parent"])
        options = {**configuration.options, FORK: {**forked, "parent": f"{_place(parent)}/{parent.name}"}}
        return configuration.model_copy(update={"options": options})

    def pieces(self, configuration: Configuration, first_trial: str) -> Iterator[Piece]:
        """Yield the files that a unit needs and the node does not have.

        Raises: OSError.
        """
        inputs = BlobStore(self._batch.inputs)
        for ref in configuration.inputs:
            if self._is_new(ref.sha256):
                path = inputs.path(ref.sha256)
                yield from pieces_of(path, path.relative_to(self._batch.path).as_posix())
        if (forked := configuration.options.get(FORK)) is not None and self._is_new(forked["parent"]):
            parent = Path(forked["parent"])
            yield from _unit(parent.parent, first_trial_of(parent.name), f"{_place(parent)}/")
        yield from _unit(self._batch.path, first_trial, "")

    def _is_new(self, name: str) -> bool:
        is_new = name not in self._present
        self._present.add(name)
        return is_new


def parcels(pieces: Iterator[Piece]) -> Iterator[list[Piece]]:
    """Yield pieces in lists of about the size of one piece."""
    parcel: list[Piece] = []
    size = 0
    for piece in pieces:
        parcel.append(piece)
        size += len(piece.data)
        if size >= PIECE_BYTES:
            yield parcel
            parcel, size = [], 0
    if parcel:
        yield parcel


def _unit(batch: Path, first_trial: str, prefix: str) -> Iterator[Piece]:
    """Yield the files of a unit's folders; their names begin with `prefix`."""
    for folder in folders_of(batch, first_trial):
        for path in plain_files(folder):
            name = path.relative_to(batch).as_posix()
            yield from pieces_of(path, f"{prefix}{name}", whole_lines=is_record(name))


def _place(parent: Path) -> str:
    """Return the folder of a parent and the other turns of its chain: parents may have equal names."""
    return f"{PARENTS}/{hashlib.sha256(str(parent.parent).encode()).hexdigest()[:12]}"
