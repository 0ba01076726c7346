"""Pieces of files on their way between the batch folder and a node, and the names that a unit's folders may have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trajectories.record.layout import EVENTS, LOCK

PIECE_BYTES = 4 << 20
"""Largest number of bytes in one piece."""


@dataclass(frozen=True)
class Piece:
    """Bytes of a file."""

    path: str
    """Path relative to the batch folder."""
    offset: int
    data: bytes
    is_last: bool
    """True if the file is complete with this piece, and takes its name. A record only grows, and is never complete."""


@dataclass(frozen=True)
class Listing:
    """All files of a trial's folder at the end of the work on it: others are left over from earlier work."""

    trial: str
    paths: frozenset[str]
    """Paths relative to the trial's folder."""


def is_folder_of(name: str, first_trial: str) -> bool:
    """Return True if a folder belongs to the unit with this first trial: its reruns and turns do, too."""
    return name.startswith(first_trial) and re.fullmatch(r"(\.[rt][0-9]+)*", name[len(first_trial) :]) is not None


def first_trial_of(name: str) -> str:
    """Return the name of the first trial of the unit that a folder belongs to."""
    return re.sub(r"(\.[rt][0-9]+)*$", "", name)


def trials_of(batch: Path) -> list[str]:
    """Return the names of the folders of a batch that hold a record."""
    try:
        return sorted(path.name for path in batch.iterdir() if (path / EVENTS).is_file() and not path.is_symlink())
    except OSError:
        return []


def is_record(path: str) -> bool:
    """Return True for a file that is shipped while it grows."""
    folder, _, name = path.rpartition("/")
    return name == EVENTS and "/" not in folder


def folders_of(batch: Path, first_trial: str) -> list[Path]:
    """Return the folders of a unit in a batch, in the order of their names."""
    try:
        names = sorted(path.name for path in batch.glob(f"{_literal(first_trial)}*"))
    except OSError:
        return []
    folders = [batch / name for name in names if is_folder_of(name, first_trial)]
    return [folder for folder in folders if folder.is_dir() and not folder.is_symlink()]


def plain_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, except temporary ones, locks and everything that is not a plain file."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name == LOCK or entry.is_symlink():
            continue
        if entry.is_dir():
            yield from plain_files(entry)
        elif entry.is_file():
            yield entry


def pieces_of(path: Path, name: str, *, whole_lines: bool = False) -> Iterator[Piece]:
    """Yield a file in pieces; with `whole_lines` without a torn last line.

    Raises: OSError.
    """
    with path.open("rb") as file:
        size = path.stat().st_size
        if whole_lines:
            size = last_line_end(path, size)
        offset = 0
        while True:
            data = file.read(min(PIECE_BYTES, size - offset))
            is_last = offset + len(data) >= size or not data
            yield Piece(name, offset, data, is_last)
            offset += len(data)
            if is_last:
                return


def last_line_end(path: Path, size: int) -> int:
    """Return the offset behind the last newline before `size`; 0 if there is none.

    Raises: OSError.
    """
    with path.open("rb") as file:
        end = size
        while end > 0:
            begin = max(0, end - (1 << 16))
            file.seek(begin)
            at = file.read(end - begin).rfind(b"\n")
            if at >= 0:
                return begin + at + 1
            end = begin
    return 0


def _literal(text: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", text)
