"""Writes what nodes ship into the batch folder, and only that: files of the units that their worker has now.

Every name is looked at, and every directory is opened without following links. Nothing is taken from a worker that was
given up for lost. Blobs are checked against their names before other trials can share them. While a unit runs on a
node, the batch folder holds the lock of its trials, as a process of this machine would.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import zstandard

from agent.batch.engines.ray.pieces import Listing, Piece, folders_of, is_folder_of, is_record, plain_files
from trajectories.blobs.store import TEMPORARY, BlobStore
from trajectories.record.layout import (
    BLOBS,
    EVALUATION,
    EVENTS,
    PACKED,
    PLAN,
    POOL,
    REPLAYS,
    SCORE,
    STEPS,
    SUMMARY,
    VERDICT,
    WORKSPACE,
)
from trajectories.writing.lock import TrialLock

_FILES = frozenset({EVENTS, PACKED, PLAN, SCORE, STEPS, SUMMARY, VERDICT, WORKSPACE})
_FOLDERS = frozenset({BLOBS, EVALUATION, REPLAYS})
_BLOB = re.compile(r"[0-9a-f]{2}/[0-9a-f]{62}\.zst")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class RefusedPiece(Exception):
    """A node sent what it may not send. Nothing more is taken from it."""


@dataclass
class _Owned:
    """A unit that a worker has."""

    worker: str
    first_trial: str
    locks: ExitStack = field(default_factory=ExitStack)
    locked: set[str] = field(default_factory=set)


class Intake:
    """The batch folder, as nodes may write to it. Used by two threads."""

    def __init__(self, batch: Path) -> None:
        self._batch = batch
        self._owned: dict[str, _Owned] = {}
        """By the name of the first trial."""
        self._parts: dict[tuple[str, str], Path] = {}
        """Temporary file by worker and path."""
        self._lock = threading.RLock()

    def own(self, worker: str, first_trial: str) -> None:
        """Let a worker write the folders of a unit, and hold the locks of those that exist.

        Raises: TrialInUse if another process works on one.
        """
        with self._lock:
            owned = _Owned(worker, first_trial)
            try:
                for folder in folders_of(self._batch, first_trial):
                    self._hold(owned, folder.name)
            except BaseException:
                owned.locks.close()
                raise
            self._owned[first_trial] = owned

    def disown(self, worker: str, first_trial: str | None = None) -> None:
        """Take nothing more of a unit from a worker; without a unit nothing at all."""
        with self._lock:
            for name, owned in list(self._owned.items()):
                if owned.worker == worker and first_trial in (None, name):
                    owned.locks.close()
                    del self._owned[name]
            for key, path in list(self._parts.items()):
                if key[0] == worker and (first_trial is None or is_folder_of(key[1].split("/")[0], first_trial)):
                    path.unlink(missing_ok=True)
                    del self._parts[key]

    def sizes(self, first_trials: Mapping[str, str]) -> dict[str, int]:
        """Return the sizes of the files of these units, by path."""
        return {
            path.relative_to(self._batch).as_posix(): path.stat().st_size
            for first_trial in first_trials.values()
            for folder in folders_of(self._batch, first_trial)
            for path in plain_files(folder)
        }

    def take(self, worker: str, item: Piece | Listing) -> None:
        """Write a piece, or remove what a listing does not name.

        Raises: RefusedPiece; OSError if the batch folder cannot be written.
        """
        with self._lock:
            if isinstance(item, Listing):
                self._owner(worker, item.trial)
                self._remove_old(item)
                return
            parts = _checked(item.path)
            owned = self._owner(worker, parts[0])
            directory = self._directory(owned, parts)
            try:
                if is_record(item.path):
                    _append(directory, parts[-1], item)
                else:
                    self._add(directory, worker, parts, item)
            finally:
                os.close(directory)

    def _owner(self, worker: str, folder: str) -> _Owned:
        for owned in self._owned.values():
            if owned.worker == worker and is_folder_of(folder, owned.first_trial):
                return owned
        raise RefusedPiece(f"it sent a file of {folder[:80]!r}, which is not a trial of a unit that it has")

    def _directory(self, owned: _Owned, parts: list[str]) -> int:
        """Open the directory of a file, and make it first if it does not exist.

        Raises: RefusedPiece if a part of the path is a link or a file.
        """
        here = os.open(self._batch, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts[:-1]:
                try:
                    os.mkdir(part, dir_fd=here)
                except FileExistsError:
                    pass
                try:
                    inner = os.open(part, _DIRECTORY, dir_fd=here)
                except OSError as error:
                    raise RefusedPiece(f"{'/'.join(parts)[:200]!r} leads through {part!r}: {error.strerror}") from None
                os.close(here)
                here = inner
            self._hold(owned, parts[0])
        except BaseException:
            os.close(here)
            raise
        return here

    def _hold(self, owned: _Owned, folder: str) -> None:
        if folder not in owned.locked:
            owned.locks.enter_context(TrialLock(self._batch / folder))
            owned.locked.add(folder)

    def _add(self, directory: int, worker: str, parts: list[str], piece: Piece) -> None:
        """Collect the pieces of a file beside its trial, and give it its name with the last one."""
        key = (worker, piece.path)
        if piece.offset == 0:
            self._drop(key)
            self._parts[key] = self._batch / parts[0] / f"{TEMPORARY}{secrets.token_hex(8)}"
            self._parts[key].touch(0o644, exist_ok=False)
        part = self._parts.get(key)
        if part is None or part.stat().st_size != piece.offset:
            self._drop(key)
            raise RefusedPiece(f"{piece.path[:200]!r}: a piece at {piece.offset} does not follow the one before")
        with part.open("ab") as file:
            file.write(piece.data)
            if not piece.is_last:
                return
            file.flush()
            os.fdatasync(file.fileno())
        del self._parts[key]
        try:
            if parts[1] == BLOBS:
                self._publish(part, parts, directory)
            else:
                os.rename(part, parts[-1], dst_dir_fd=directory)
        finally:
            part.unlink(missing_ok=True)

    def _publish(self, part: Path, parts: list[str], directory: int) -> None:
        """Give a blob its name if its content has that hash, and share it with other trials."""
        digest = parts[2] + parts[3].removesuffix(".zst")
        if _sha256(part) != digest:
            raise RefusedPiece(f"{'/'.join(parts)[:200]!r}: the content does not have the hash in its name")
        os.rename(part, parts[-1], dst_dir_fd=directory)
        pooled = BlobStore(self._batch / POOL).path(digest)
        try:
            pooled.parent.mkdir(parents=True, exist_ok=True)
            os.link(parts[-1], pooled, src_dir_fd=directory, follow_symlinks=False)
        except OSError:  # it is there already, or there are no hard links here
            pass

    def _drop(self, key: tuple[str, str]) -> None:
        if (part := self._parts.pop(key, None)) is not None:
            part.unlink(missing_ok=True)

    def _remove_old(self, listing: Listing) -> None:
        """Remove files of an evaluation or a summary that the node does not have any more."""
        folder = self._batch / listing.trial
        if folder.is_symlink():
            return
        for path in list(plain_files(folder)):
            name = path.relative_to(folder).as_posix()
            if name not in listing.paths and not name.startswith(f"{BLOBS}/") and name != EVENTS:
                path.unlink(missing_ok=True)


def _checked(path: str) -> list[str]:
    """Return the parts of a path.

    Raises: RefusedPiece if it is not the path of a file that a trial's folder has.
    """
    parts = path.split("/")
    is_plain = all(part and not part.startswith(".") and "\0" not in part for part in parts)
    inner = "/".join(parts[2:])
    is_known = (len(parts) == 2 and parts[1] in _FILES) or (len(parts) > 2 and parts[1] in _FOLDERS)
    if not is_plain or not is_known or (parts[1] == BLOBS and not _BLOB.fullmatch(inner)):
        raise RefusedPiece(f"it sent {path[:200]!r}, which is not a file of a trial")
    return parts


def _append(directory: int, name: str, piece: Piece) -> None:
    """Add lines to a record. Lines behind their offset are a torn end, which the node did not get."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(name, flags, 0o644, dir_fd=directory)
    except OSError as error:
        raise RefusedPiece(f"{piece.path[:200]!r} cannot be opened: {error.strerror}") from None
    with os.fdopen(fd, "wb") as file:
        size = os.fstat(fd).st_size
        if piece.offset > size:
            raise RefusedPiece(f"{piece.path[:200]!r}: lines at {piece.offset} do not follow the {size} bytes before")
        file.seek(piece.offset)
        file.truncate()
        file.write(piece.data)
        file.flush()
        os.fdatasync(fd)


def _sha256(path: Path) -> str:
    """Return the sha256 of the content of a compressed file; an empty text if it is damaged."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as reader:
            while data := reader.read(1 << 20):
                digest.update(data)
    except zstandard.ZstdError:
        return ""
    return digest.hexdigest()
