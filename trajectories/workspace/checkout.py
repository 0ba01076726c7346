"""Writes a recorded workspace into a directory. The record is not trusted: nothing outside of it is ever written.

Every file is made with O_EXCL and O_NOFOLLOW by its name alone, within a directory that is held open; no path is
looked up twice. setuid and setgid are left off: the owner is now whoever checks out.
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
from trajectories.record.paths import from_text
from trajectories.workspace.manifest import PathState, in_tree_order, total_bytes
from trajectories.workspace.states import WorkspaceState

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_HELD = 64
"""Directories open at a time, however deep the tree is."""
_OF_ONE_PATH = (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)
"""Errors that say something about a name, not about the disk."""


class CheckedOut(BaseModel):
    """What was written, and what could not be."""

    trial: str
    step: int
    directory: str
    files: int = 0
    directories: int = 0
    links: int = 0
    bytes: int = 0
    missing: list[Skipped] = []
    """Paths that are not there as they were, and why."""
    unread: list[Skipped] = []
    """Paths whose state was not known when the snapshot was taken."""


def check_out(state: WorkspaceState, directory: Path) -> CheckedOut:
    """Write the workspace into a new or empty directory.

    Raises: RecordError if the directory is neither, has too little space, or a path of the record makes no sense;
    OSError if it cannot be written.
    """
    entries = in_tree_order(state.manifest)
    top = _prepared(directory)
    tree = _Tree(top)
    try:
        done = CheckedOut(trial=str(state.trial), step=state.step, directory=str(directory), unread=list(state.unread))
        needed, free = total_bytes(state.manifest), shutil.disk_usage(directory).free
        if needed > free:
            raise RecordError(f"{directory}: the workspace takes {needed} bytes, and {free} are free")
        for names, path, entry in entries:
            why = entry.missing
            if not why:
                try:
                    why = _write(state, tree, names, entry, done)
                except (ValueError, OverflowError) as error:
                    why = str(error)
                except OSError as error:
                    if error.errno not in _OF_ONE_PATH:
                        raise
                    why = os.strerror(error.errno)
            if why:
                done.missing.append(Skipped(path=path, why=why))
        tree.finish()
        return done
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
            raise RecordError(f"{directory}: there is something in it already; give a new or an empty directory")
    return top


def _write(state: WorkspaceState, tree: _Tree, names: tuple[bytes, ...], entry: PathState, done: CheckedOut) -> str:
    """Make one path; why its content could not be had, if so."""
    within = tree.enter(names[:-1])
    if entry.type == "directory":
        os.mkdir(names[-1], 0o700, dir_fd=within)
        tree.finish_later(names, entry)
        done.directories += 1
    elif entry.type == "symlink":
        os.symlink(from_text(entry.link or ""), names[-1], dir_fd=within)
        if entry.mtime_ns is not None:
            os.utime(names[-1], ns=(entry.mtime_ns, entry.mtime_ns), dir_fd=within, follow_symlinks=False)
        done.links += 1
    else:
        return _write_file(state, within, names[-1], entry, done)
    return ""


def _write_file(state: WorkspaceState, within: int, name: bytes, entry: PathState, done: CheckedOut) -> str:
    file = os.open(name, _NEW_FILE, 0o600, dir_fd=within)
    try:
        size = 0
        for piece in state.blobs.pieces(entry.sha256 or "", entry.size or 0):
            size += len(piece)
            while piece:
                piece = piece[os.write(file, piece) :]
        if size != entry.size:
            raise RecordError(f"the content has {size} bytes, and {entry.size} according to its snapshot")
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
    done.files += 1
    done.bytes += size
    return ""


class _Tree:
    """The directory that is written in, with the ones above it. No link is followed."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._names: tuple[bytes, ...] = ()
        self._open: dict[int, int] = {}
        """By depth: from 1 to the current one, but for the ones that were closed to save descriptors."""
        self._unfinished: dict[tuple[bytes, ...], PathState] = {}

    def enter(self, names: tuple[bytes, ...]) -> int:
        """A descriptor of this directory, made where nobody recorded it."""
        common = 0
        for one, other in zip(self._names, names, strict=False):
            if one != other:
                break
            common += 1
        self._leave(common)
        self._names = names[:common]
        depth = max((depth for depth in self._open if depth <= common), default=0)
        while depth < len(names):
            above = self._open.get(depth, self._top)
            name = names[depth]
            try:
                found = os.open(name, _DIRECTORY, dir_fd=above)
            except FileNotFoundError:
                os.mkdir(name, 0o755, dir_fd=above)
                found = os.open(name, _DIRECTORY, dir_fd=above)
            depth += 1
            self._open[depth] = found
            self._names = names[:depth]
            if len(self._open) > _HELD:
                least = min(self._open)
                os.close(self._open.pop(least))
        return self._open.get(len(names), self._top)

    def finish_later(self, names: tuple[bytes, ...], entry: PathState) -> None:
        """Everything in it comes first: it may be read-only, and every new file changes its time."""
        self._unfinished[names] = entry

    def finish(self) -> None:
        """Give the directories their modes and times, the deepest first."""
        for names in sorted(self._unfinished, key=lambda names: (-len(names), names)):
            above = self.enter(names[:-1])
            _finish(os.open(names[-1], _DIRECTORY, dir_fd=above), self._unfinished[names])

    def close(self) -> None:
        """Close what is open."""
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
