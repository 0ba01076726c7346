"""Keeps the workspace of a running trial: after each step, the changes of that step.

The environment lists and reads, `trajectories.workspace.snapshot_writer` stores. This file decides when that happens,
which paths are read, and which are not kept.
"""

from __future__ import annotations

import os
import secrets
import tarfile
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Literal

from environments.archives.chunks import as_file
from environments.listing.listing import Changed, Listing
from environments.protocol import Checkpointing, Environment, EnvironmentUnavailable
from trajectories.interrupts import interruptible
from trajectories.record.events import Checkpoint, Snapshot
from trajectories.workspace.snapshot_writer import CONTENT_BYTES, SnapshotWriter
from trajectories.writing.recorder import Recorder

IGNORED = frozenset(("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"))
"""Directories that are never kept: caches, which their programs make anew."""

_PIECE_BYTES = 1 << 20


class Snapshots:
    """The snapshots of one trial, and its checkpoints if the user asked for them.

    Raises: RecordFull, EnvironmentFault; KeyboardInterrupt if the user interrupts.
    """

    def __init__(
        self,
        environment: Environment,
        recorder: Recorder,
        *,
        checkpoint_every: int | None = None,
        after: int | None = None,
    ) -> None:
        """`after` is the step of the record's last snapshot, if the environment is in that state."""
        self._environment = environment
        self._recorder = recorder
        self._every = checkpoint_every
        self._step = -1 if after is None else after
        self._mark = Listing() if after is None else environment.listing()

    def keep_first(self) -> None:
        """Keep the whole state that the trial begins with."""
        self.after_step(0)

    def after_step(self, step: int) -> None:
        """Keep the changes since the last snapshot, unless this step's are kept already."""
        if step <= self._step:
            return
        with interruptible():
            self._keep(step)
        self._step = step
        if self._every is not None and step and step % self._every == 0:
            if not isinstance(self._environment, Checkpointing):
                raise EnvironmentUnavailable(f"{self._environment.spec.kind} environments cannot be kept as an image")
            with interruptible():
                # trials of other runs directories may have the same name
                name = f"{self._recorder.directory.name}-{step}-{secrets.token_hex(4)}"
                image = self._environment.checkpoint(name)
            self._recorder.append(Checkpoint(step=step, image=image))

    def _keep(self, step: int) -> Snapshot:
        with SnapshotWriter(self._recorder, step) as writer:
            listing = self._environment.listing()
            changes = [change for change in listing.since(self._mark) if not ignored(change.entry.path)]
            for skipped in listing.unlisted:
                writer.unread(os.fsencode(skipped.path), skipped.why)
            there = {change.entry.path: change for change in changes if change.change != "deleted"}
            for change in changes:
                if change.change == "deleted":
                    entry = change.entry
                    writer.deleted(os.fsencode(entry.path), entry.type, mode=entry.mode, size=entry.size)
            self._contents(writer, there)
            self._large(writer, there)
            for path, change in there.items():
                _without_content(writer, path, change)
            snapshot = writer.finish()
        self._mark = listing
        return snapshot

    def _contents(self, writer: SnapshotWriter, there: dict[str, Changed]) -> None:
        """Keep files and links, read as one archive, and take them out of `there`."""
        wanted = [
            path
            for path, change in there.items()
            if change.entry.type == "symlink" or (change.entry.type == "file" and change.entry.size <= CONTENT_BYTES)
        ]
        if not wanted:
            return
        stream = as_file(self._environment.get_files(wanted))
        with tarfile.open(fileobj=stream, mode="r|", encoding="utf-8", errors="surrogateescape") as archive:
            for member in archive:
                archive.members.clear()  # type: ignore[attr-defined]  # it would hold every header
                name = member.name.removeprefix("./")
                change = there.pop(name, None)
                if change is None:
                    continue
                path, mtime_ns = os.fsencode(name), _mtime_ns(member)
                if member.issym():
                    link = os.fsencode(member.linkname)
                    writer.changed(path, _kind(change), "symlink", mode=member.mode, mtime_ns=mtime_ns, link=link)
                elif member.isfile():
                    content = archive.extractfile(member)
                    assert content is not None
                    pieces = iter(lambda content=content: content.read(_PIECE_BYTES), b"")  # type: ignore[misc]
                    writer.changed(path, _kind(change), "file", mode=member.mode, mtime_ns=mtime_ns, content=pieces)
                else:
                    there[name] = change

    def _large(self, writer: SnapshotWriter, there: dict[str, Changed]) -> None:
        """Keep the hash of files that are too large for their content to be kept."""
        files = {path: change.entry for path, change in there.items() if change.entry.type == "file"}
        large = [path for path, entry in files.items() if entry.size > CONTENT_BYTES]
        if not large:
            return
        for path, digest in self._environment.digests(large).items():
            change = there.pop(path)
            entry = change.entry
            writer.changed(os.fsencode(path), _kind(change), "file", mode=entry.mode, size=entry.size, sha256=digest)


def ignored(path: str) -> bool:
    """Report if a path lies in a directory that is never kept."""
    return not IGNORED.isdisjoint(PurePosixPath(path).parts)


def _mtime_ns(member: tarfile.TarInfo) -> int:
    """Return the time as the archive holds it: the float that `tarfile` makes of it is some hundred nanoseconds off."""
    return int(Decimal(member.pax_headers.get("mtime") or member.mtime) * 10**9)


def _without_content(writer: SnapshotWriter, path: str, change: Changed) -> None:
    """Keep a directory or a pipe, or a file that is gone again or unreadable, whose content stays unknown."""
    entry = change.entry
    size = entry.size if entry.type == "file" else None
    writer.changed(os.fsencode(path), _kind(change), entry.type, mode=entry.mode, size=size)


def _kind(change: Changed) -> Literal["created", "modified"]:
    return "created" if change.change == "created" else "modified"
