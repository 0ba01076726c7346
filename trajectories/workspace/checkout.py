"""Writes a recorded workspace into a directory. The record is not trusted: nothing outside the directory is written.

Every file is made with O_EXCL and O_NOFOLLOW by its name alone, within a directory that is held open. No path is looked
up twice. setuid and setgid are left out, because the files now belong to the user of the checkout.
"""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel

from trajectories.errors import RecordError
from trajectories.record.parts import Skipped
from trajectories.record.texts.paths import from_text
from trajectories.workspace.manifest import PathState, in_tree_order, total_bytes
from trajectories.workspace.states import WorkspaceState

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_HELD = 64
"""Most directories that are open at a time, for trees of any depth."""
_OF_ONE_PATH = (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)
"""Errors that concern one name, and not the whole disk."""


class CheckedOut(BaseModel):
    """Counts of what a checkout wrote, and the paths that it could not write."""

    trial: str
    step: int
    directory: str
    files: int = 0
    directories: int = 0
    links: int = 0
    bytes: int = 0
    missing: list[Skipped] = []
    """Paths that were not restored, with reasons."""
    unread: list[Skipped] = []
    """Paths whose state was unknown when the snapshot was taken."""


def check_out(state: WorkspaceState, directory: Path) -> CheckedOut:
    """Write the workspace into a new or empty directory.

    Raises: RecordError if the directory is neither, if it has too little space, or if a path of the record is invalid.
    OSError if it cannot be written.
    """
    entries = in_tree_order(state.manifest)
    top = _prepared(directory)
    tree = _Tree(top)
    try:
        result = CheckedOut(
            trial=str(state.trial), step=state.step, directory=str(directory), unread=list(state.unread)
        )
        needed, free = total_bytes(state.manifest), shutil.disk_usage(directory).free
        if needed > free:
            raise RecordError(f"{directory}: the workspace takes {needed} bytes, but only {free} are free")
        for names, path, entry in entries:
            reason = entry.missing
            if not reason:
                try:
                    reason = _write(state, tree, names, entry, result)
                except (ValueError, OverflowError) as error:
                    reason = str(error)
                except OSError as error:
                    if error.errno not in _OF_ONE_PATH:
                        raise
                    reason = os.strerror(error.errno)
            if reason:
                result.missing.append(Skipped(path=path, why=reason))
        tree.finish()
        return result
    finally:
        tree.close()
        os.close(top)


def _prepared(directory: Path) -> int:
    try:
        os.makedirs(directory, exist_ok=True)
        top = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise RecordError(f"{directory}: cannot be made or opened ({error.strerror}); give a new directory") from None
    with os.scandir(top) as inside:
        if next(inside, None) is not None:
            os.close(top)
            raise RecordError(f"{directory}: the directory is not empty; give a new or an empty one")
    return top


def _write(state: WorkspaceState, tree: _Tree, names: tuple[bytes, ...], entry: PathState, result: CheckedOut) -> str:
    """Write one path. Return a reason if its content cannot be read, otherwise an empty text."""
    within = tree.enter(names[:-1])
    if entry.type == "directory":
        os.mkdir(names[-1], 0o700, dir_fd=within)
        tree.finish_later(names, entry)
        result.directories += 1
    elif entry.type == "symlink":
        os.symlink(from_text(entry.link or ""), names[-1], dir_fd=within)
        if entry.mtime_ns is not None:
            os.utime(names[-1], ns=(entry.mtime_ns, entry.mtime_ns), dir_fd=within, follow_symlinks=False)
        result.links += 1
    else:
        return _write_file(state, within, names[-1], entry, result)
    return ""


def _write_file(state: WorkspaceState, within: int, name: bytes, entry: PathState, result: CheckedOut) -> str:
    file = os.open(name, _NEW_FILE, 0o600, dir_fd=within)
    try:
        size = 0
        for piece in state.blobs.pieces(entry.sha256 or "", entry.size or 0):
            size += len(piece)
            while piece:
                piece = piece[os.write(file, piece) :]
        if size != entry.size:
            raise RecordError(f"the content has {size} bytes, but {entry.size} according to its snapshot")
        os.fchmod(file, 0o644 if entry.mode is None else entry.mode & 0o1777)
        if entry.mtime_ns is not None:
            os.utime(file, ns=(entry.mtime_ns, entry.mtime_ns))
    except BaseException as error:
        os.unlink(name, dir_fd=within)
        if isinstance(error, RecordError):
            return str(error)
        raise
    finally:
        os.close(file)
    result.files += 1
    result.bytes += size
    return ""


class _Tree:
    """The directory that is being written, and those above it. No link is followed."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._names: tuple[bytes, ...] = ()
        self._open: dict[int, int] = {}
        """Open directories by depth, from 1 to the current one, without those that were closed to save descriptors."""
        self._unfinished: dict[tuple[bytes, ...], PathState] = {}

    def enter(self, names: tuple[bytes, ...]) -> int:
        """Return a descriptor of this directory. Directories that the record lacks are made."""
        common = 0
        for current, wanted in zip(self._names, names, strict=False):
            if current != wanted:
                break
            common += 1
        self._leave(common)
        self._names = names[:common]
        depth = max((depth for depth in self._open if depth <= common), default=0)
        while depth < len(names):
            above = self._open.get(depth, self._top)
            name = names[depth]
            try:
                descriptor = os.open(name, _DIRECTORY, dir_fd=above)
            except FileNotFoundError:
                os.mkdir(name, 0o755, dir_fd=above)
                descriptor = os.open(name, _DIRECTORY, dir_fd=above)
            depth += 1
            self._open[depth] = descriptor
            self._names = names[:depth]
            if len(self._open) > _HELD:
                least = min(self._open)
                os.close(self._open.pop(least))
        return self._open.get(len(names), self._top)

    def finish_later(self, names: tuple[bytes, ...], entry: PathState) -> None:
        """Set the mode and time of a directory at the end: it may be read-only, and every new file changes its time."""
        self._unfinished[names] = entry

    def finish(self) -> None:
        """Set the modes and times of the directories, the deepest first."""
        for names in sorted(self._unfinished, key=lambda names: (-len(names), names)):
            above = self.enter(names[:-1])
            _finish(os.open(names[-1], _DIRECTORY, dir_fd=above), self._unfinished[names])

    def close(self) -> None:
        """Close all directories."""
        self._leave(0)

    def _leave(self, depth: int) -> None:
        for below in [level for level in self._open if level > depth]:
            os.close(self._open.pop(below))


def _finish(directory: int, entry: PathState) -> None:
    try:
        if entry.mode is not None:
            os.fchmod(directory, entry.mode & 0o1777)
        if entry.mtime_ns is not None:
            with suppress(OverflowError, OSError):
                os.utime(directory, ns=(entry.mtime_ns, entry.mtime_ns))
    finally:
        os.close(directory)
