"""Ships the files of one unit from the folder of a node: everything that is new since the last look.

The record goes line by line, as it grows. Contents go before the lines that refer to them. Any other file goes whole
once it has stopped changing, and at the end of the work on the unit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from agent.batch.engines.ray.pieces import (
    PIECE_BYTES,
    Listing,
    Piece,
    folders_of,
    is_folder_of,
    is_record,
    last_line_end,
    pieces_of,
    plain_files,
)
from trajectories.record.layout import BLOBS, EVENTS

_Signature = tuple[int, int, int]
"""Inode, time of the last change, and size."""


class Shipper:
    """The files of one unit on a node, and what of them the batch folder has."""

    def __init__(self, batch: Path, first_trial: str, present: Mapping[str, int] | None = None) -> None:
        """`present` has the sizes of the unit's files in the batch folder; None if those on this node are the same."""
        self._batch = batch
        self._first_trial = first_trial
        self._records: dict[str, int] = {}
        """Number of bytes of each record that were shipped."""
        self._shipped: dict[str, _Signature] = {}
        self._seen: dict[str, _Signature] = {}
        for path, name in self._files():
            if is_record(name):
                size = path.stat().st_size
                self._records[name] = last_line_end(path, size) if present is None else present.get(name, 0)
            elif present is None or (_is_blob(name) and name in present):
                self._shipped[name] = _signature(path)

    def new_pieces(self, *, is_final: bool = False, at_once: bool = False) -> Iterator[Piece | Listing]:
        """Yield what is new, with `at_once` also files that changed just now.

        With `is_final` a listing of each folder comes, too.

        Raises: OSError.
        """
        records: dict[str, tuple[Path, int]] = {}
        others: list[tuple[Path, str]] = []
        for path, name in self._files():
            if is_record(name):
                records[name] = (path, path.stat().st_size)  # before the contents: a line may only refer to older ones
            else:
                others.append((path, name))
        names = {name for _, name in others} | set(records)
        if records:  # a content may have been added between the looks at two folders
            others = [(path, name) for path, name in self._files() if not is_record(name)]
        for path, name in others:
            yield from self._new_file(path, name, is_final or at_once)
        for name, (path, size) in records.items():
            yield from self._new_lines(path, name, size)
        if is_final:
            for folder in folders_of(self._batch, self._first_trial):
                mine = {name.partition("/")[2] for name in names if name.partition("/")[0] == folder.name}
                yield Listing(folder.name, frozenset(mine))

    def _files(self) -> Iterator[tuple[Path, str]]:
        for folder in folders_of(self._batch, self._first_trial):
            for path in plain_files(folder):
                yield path, path.relative_to(self._batch).as_posix()

    def _new_file(self, path: Path, name: str, at_once: bool) -> Iterator[Piece]:
        try:
            signature = _signature(path)
        except FileNotFoundError:  # replaced since the folder was read
            return
        if self._shipped.get(name) == signature:
            return
        is_still = _is_blob(name) or at_once or self._seen.get(name) == signature
        self._seen[name] = signature
        if not is_still:
            return
        yield from pieces_of(path, name)
        self._shipped[name] = signature

    def _new_lines(self, path: Path, name: str, size: int) -> Iterator[Piece]:
        offset = self._records.get(name, 0)
        if size <= offset:
            return
        end = last_line_end(path, size)
        with path.open("rb") as file:
            file.seek(offset)
            while offset < end:
                data = file.read(min(PIECE_BYTES, end - offset))
                if not data:
                    return
                yield Piece(name, offset, data, is_last=False)
                offset += len(data)
                self._records[name] = offset


def continues(batch: Path, first_trial: str, present: Mapping[str, int], digests: Mapping[str, str]) -> bool:
    """Return True if the records of a unit on this node begin with those that the batch folder has.

    Otherwise the unit was continued elsewhere since, and what is here does not count.
    """
    here = {f"{folder.name}/{EVENTS}" for folder in folders_of(batch, first_trial)}
    there = {name for name in digests if is_folder_of(name.partition("/")[0], first_trial)}
    return there <= here and all(beginning_digest(batch / name, present[name]) == digests[name] for name in there)


def beginning_digest(path: Path, size: int) -> str:
    """Return the sha256 of the first bytes of a file; an empty text if it has fewer."""
    try:
        with path.open("rb") as file:
            data = file.read(size)
    except OSError:
        return ""
    return hashlib.sha256(data).hexdigest() if len(data) == size else ""


def _is_blob(name: str) -> bool:
    return name.split("/")[1:2] == [BLOBS]


def _signature(path: Path) -> _Signature:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size
