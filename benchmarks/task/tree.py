"""A directory of the host, as content: list it, hash it, stream it as a tar.

Links are kept and never followed; sockets, devices and named pipes are left out and said; a
sparse file stays sparse. Names are bytes, since a file system's are.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from benchmarks.task.task import TaskError
from trajectories.record.events import Skipped

MTIME = "2020-01-01 00:00:00Z"
"""The time stamp of a task's own files: the same on every machine."""
_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)
_LEFT_OUT = {
    stat.S_IFSOCK: "a socket",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
}


@dataclass(frozen=True)
class Entry:
    """One path below the root. `target` is a link's."""

    path: bytes
    type: Literal["file", "directory", "symlink"]
    mode: int
    size: int = 0
    target: bytes = b""


@dataclass(frozen=True)
class Tree:
    """What a directory holds, sorted by path."""

    root: Path
    entries: tuple[Entry, ...]
    skipped: tuple[Skipped, ...] = field(default=())

    @property
    def bytes(self) -> int:
        """The sum of the files' sizes, holes included."""
        return sum(entry.size for entry in self.entries)


def scan(root: Path, ignore: frozenset[bytes] = frozenset()) -> Tree:
    """The tree below `root`; a file or directory whose name is in `ignore` is passed over.

    Raises: TaskError if a directory cannot be listed.
    """
    entries: list[Entry] = []
    skipped: list[Skipped] = []
    todo = [b""]
    top = os.fsencode(root)
    while todo:
        below = todo.pop()
        directory = os.path.join(top, below) if below else top
        try:
            with os.scandir(directory) as found:
                for item in found:
                    if item.name in ignore:
                        continue
                    path = os.path.join(below, item.name)
                    status = item.stat(follow_symlinks=False)
                    kind = stat.S_IFMT(status.st_mode)
                    mode = stat.S_IMODE(status.st_mode)
                    if kind == stat.S_IFDIR:
                        entries.append(Entry(path, "directory", mode))
                        todo.append(path)
                    elif kind == stat.S_IFREG:
                        entries.append(Entry(path, "file", mode, status.st_size))
                    elif kind == stat.S_IFLNK:
                        entries.append(Entry(path, "symlink", mode, 0, os.readlink(item.path)))
                    else:
                        skipped.append(Skipped(path=_text(path), why=_LEFT_OUT.get(kind, "not a file")))
        except OSError as error:
            raise TaskError(f"{_text(directory)}: cannot be read: {error.strerror}") from None
    entries.sort(key=lambda entry: entry.path)
    skipped.sort(key=lambda entry: entry.path)
    return Tree(root, tuple(entries), tuple(skipped))


def digest(tree: Tree) -> str:
    """sha256 over names, kinds, executable bits, link targets and bytes, in order of path.

    Other mode bits follow the umask of whoever checked the files out, and do not count.

    Raises: TaskError if a file cannot be read.
    """
    total = hashlib.sha256()
    for entry in tree.entries:
        content = b""
        if entry.type == "file":
            content = _content(tree.root, entry.path)
        elif entry.type == "symlink":
            content = entry.target
        executable = b"x" if entry.type == "file" and entry.mode & 0o111 else b"-"
        for part in (entry.path, entry.type.encode(), executable, content):
            total.update(b"%d:" % len(part) + part)
    return total.hexdigest()


def _content(root: Path, path: bytes) -> bytes:
    """A hash of a file's size and of its blocks that are not zero: quick on a sparse file."""
    total = hashlib.sha256()
    try:
        with open(os.path.join(os.fsencode(root), path), "rb", opener=_not_a_link) as file:
            size = os.fstat(file.fileno()).st_size
            total.update(b"%d:" % size)
            at = 0
            while at < size:
                try:
                    at = os.lseek(file.fileno(), at, os.SEEK_DATA) // _BLOCK * _BLOCK
                except OSError as error:
                    if error.errno == errno.ENXIO:  # nothing but a hole is left
                        break
                block = os.pread(file.fileno(), _BLOCK, at)
                if not block:
                    break
                if block != _ZEROS[: len(block)]:
                    total.update(b"%d:" % at + block)
                at += len(block)
    except OSError as error:
        raise TaskError(f"{root}/{_text(path)}: cannot be read: {error.strerror}") from None
    return total.digest()


def _not_a_link(path: str | bytes, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


@contextmanager
def packed(tree: Tree, *, plain_modes: bool) -> Iterator[BinaryIO]:
    """A tar stream of the tree's entries, owned by 0:0, written by GNU tar while it is read.

    `plain_modes` levels modes to 0755 and 0644 and sets one time stamp, for a task's own files.

    Raises: TaskError after the stream if tar could not read something.
    """
    argv = ["tar", "--create", "--file=-", "--sparse", "--null", "--no-recursion", "--owner=0", "--group=0"]
    argv += ["--numeric-owner", f"--directory={tree.root}"]
    if plain_modes:
        argv += ["--mode=u=rwX,go=rX", f"--mtime={MTIME}"]
    with tempfile.TemporaryFile() as names, tempfile.TemporaryFile() as complaints:
        names.writelines(b"./" + entry.path + b"\0" for entry in tree.entries)
        names.seek(0)
        try:
            process = subprocess.Popen(
                [*argv, "--files-from=-"],
                stdin=names,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            )
        except OSError as error:
            raise TaskError(f"{tree.root}: cannot be packed without GNU tar: {error}") from None
        assert process.stdout is not None
        try:
            yield process.stdout  # type: ignore[misc]
            process.stdout.read()
        finally:
            process.stdout.close()
            status = process.wait()
        if status > 1:  # 1: a file changed while it was read
            complaints.seek(0)
            first = complaints.readline(500).decode("utf-8", "replace").strip()
            raise TaskError(f"{tree.root}: cannot be packed: {first or f'tar ended with {status}'}")


def _text(path: bytes) -> str:
    return path.decode("utf-8", "replace")
