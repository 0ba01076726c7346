"""A directory of the host as content: listing it, hashing it, and streaming it as a tar.

Links are kept and never followed. Sockets, devices and named pipes are left out and reported. A sparse file stays
sparse. Names are bytes, as in the file system.
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
"""Time stamp of a task's own files, the same on every machine."""
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
    """One path below the root. `target` is for links."""

    path: bytes
    type: Literal["file", "directory", "symlink"]
    mode: int
    size: int = 0
    target: bytes = b""


@dataclass(frozen=True)
class Tree:
    """The content of a directory, sorted by path."""

    root: Path
    entries: tuple[Entry, ...]
    skipped: tuple[Skipped, ...] = field(default=())

    @property
    def bytes(self) -> int:
        """Return the sum of the files' sizes, including holes."""
        return sum(entry.size for entry in self.entries)


def scan(root: Path, ignore: frozenset[bytes] = frozenset()) -> Tree:
    """Return the tree below `root`, without files and directories whose name is in `ignore`.

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
            with os.scandir(directory) as items:
                for item in items:
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


def of_file(file: Path) -> Tree:
    """Return the tree that has nothing but this file.

    Raises: TaskError if it is not a plain file.
    """
    try:
        status = file.lstat()
    except OSError as error:
        raise TaskError(f"{file}: cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise TaskError(f"{file}: is not a plain file")
    entry = Entry(os.fsencode(file.name), "file", stat.S_IMODE(status.st_mode), status.st_size)
    return Tree(file.parent, (entry,))


def digest(tree: Tree) -> str:
    """Return the sha256 over names, types, executable bits, link targets and bytes, in order of path.

    Other mode bits do not count: they follow the umask of the user who checked the files out.

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


def file_sha256(path: Path) -> str:
    """Return the sha256 of a single file, in hex. Raises: OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _content(root: Path, path: bytes) -> bytes:
    """Return a hash of a file's size and of its non-zero blocks, which is quick for a sparse file."""
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
    """Open a tar stream of the tree's entries, owned by 0:0, which GNU tar writes while it is read.

    `plain_modes` reduces modes to 0755 and 0644 and sets one time stamp, for a task's own files.

    Raises: TaskError after the stream if tar could not read a file.
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
            raise TaskError(f"{tree.root}: cannot be packed, because GNU tar cannot be started: {error}") from None
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
