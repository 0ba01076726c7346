"""Keeps the workspace of a running trial: after each step, the changes of that step.

The environment lists and reads, `trajectories.workspace.snapshot_writer` stores. This file decides when that happens,
which paths are read, and which are not kept; `snapshot_bounds` when to stop.
"""

from __future__ import annotations

import os
import secrets
import tarfile
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Literal

from environments.archives.chunks import as_file
from environments.listing.listing import Changed, Listing
from environments.protocol import Checkpointing, Environment, EnvironmentUnavailable
from environments.reporting import Reporter
from trajectories.interrupts import held, interruptible
from trajectories.record.events import Checkpoint, Snapshot
from trajectories.workspace.snapshot_bounds import HASH_S, Budget, batches
from trajectories.workspace.snapshot_writer import CONTENT_BYTES, SnapshotWriter
from trajectories.writing.recorder import Recorder

IGNORED = frozenset(("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"))
"""Directories that are never kept: caches, which their programs make anew."""

_PIECE_BYTES = 1 << 20
_SHOW_S = 2.0
"""Seconds between two lines about the progress of a snapshot."""


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
        budget: Callable[[], Budget] = Budget,
    ) -> None:
        """`after` is the step of the record's last snapshot, if the environment is in that state.

        `budget` returns the bounds of the next snapshot.
        """
        self._environment = environment
        self._recorder = recorder
        self._every = checkpoint_every
        self._budget = budget
        self._step = -1 if after is None else after
        self._owed: frozenset[str] = frozenset()
        """Files that a bound kept out of the last snapshot."""
        self._mark = Listing() if after is None else environment.listing()

    def continue_in(self, environment: Environment) -> None:
        """Go on in another environment, whose workspace is in the state of the last snapshot."""
        self._environment = environment
        self._mark = environment.listing()

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
            commit(self._environment, self._recorder, step)

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
            if self._owed:
                there |= self._still_owed(listing, {change.entry.path for change in changes})
            reading = _Reading(self._environment, writer, there, self._budget(), self._recorder)
            reading.contents()
            reading.large()
            for path, change in there.items():
                _without_content(writer, path, change)
            snapshot = writer.finish(reading.budget.reason)
        self._mark, self._owed = listing, reading.owed
        return snapshot

    def _still_owed(self, listing: Listing, changed: set[str]) -> dict[str, Changed]:
        """Return the files that a bound kept out of the last snapshot, and that did not change since."""
        return {
            entry.path: Changed("modified", entry)
            for entry in listing.entries()
            if entry.path in self._owed and entry.path not in changed
        }


def commit(environment: Environment, recorder: Recorder, step: int, *, at_end: bool = False) -> str:
    """Keep the whole container as an image, record that, and return the image's reference.

    The commit at the end of a trial is its result, so an interrupt waits for it.

    Raises: EnvironmentFault, RecordFull; KeyboardInterrupt if the user interrupts.
    """
    if not isinstance(environment, Checkpointing):
        raise EnvironmentUnavailable(f"{environment.spec.kind} environments cannot be kept as an image")
    with held() if at_end else interruptible():
        # trials of other runs directories may have the same name
        image = environment.checkpoint(f"{recorder.directory.name}-{step}-{secrets.token_hex(4)}")
    recorder.append(Checkpoint(step=step, image=image))
    return image


class _Reading:
    """The reading of one snapshot's contents; what was read is taken out of `there`."""

    def __init__(
        self,
        environment: Environment,
        writer: SnapshotWriter,
        there: dict[str, Changed],
        budget: Budget,
        reporter: Reporter,
    ) -> None:
        self.budget = budget
        self.owed: frozenset[str] = frozenset()
        """Files that a bound kept out: the next snapshot tries again."""
        self._environment = environment
        self._writer = writer
        self._there = there
        self._reporter = reporter
        self._shown_s = time.monotonic()

    def contents(self) -> None:
        """Keep links, and files up to the size whose content is kept, each batch read as one archive."""
        sizes = {
            path: change.entry.size if change.entry.type == "file" else 0
            for path, change in self._there.items()
            if change.entry.type == "symlink" or (change.entry.type == "file" and change.entry.size <= CONTENT_BYTES)
        }
        left = dict(sizes)
        for batch in batches(sizes):
            if not self.budget.allows(sum(batch.values())):
                self.owed = frozenset(left)
                return
            self._archive(list(batch))
            for path in batch:
                del left[path]
            self._show(len(sizes) - len(left), len(sizes))

    def _archive(self, paths: list[str]) -> None:
        writer, there = self._writer, self._there
        stream = as_file(self._environment.get_files(paths))
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

    def large(self) -> None:
        """Keep the hash of files that are too large for their content to be kept, as far as the bounds allow."""
        files = {path: change.entry for path, change in self._there.items() if change.entry.type == "file"}
        for path, entry in sorted(files.items(), key=lambda item: item[1].size):
            if entry.size <= CONTENT_BYTES or not self.budget.allows(entry.size):
                continue
            within_s = min(HASH_S, self.budget.seconds_left)
            digest = self._environment.digests([path], within_s).get(path)
            if digest is not None:
                change = self._there.pop(path)
                name = os.fsencode(path)
                self._writer.changed(name, _kind(change), "file", mode=entry.mode, size=entry.size, sha256=digest)

    def _show(self, count: int, total: int) -> None:
        """Show the progress of a long snapshot now and then."""
        now_s = time.monotonic()
        if count < total and now_s - self._shown_s > _SHOW_S:
            self._shown_s = now_s
            self._reporter.note(f"keeping the workspace: {count} of {total} files")


def ignored(path: str) -> bool:
    """Report if a path lies in a directory that is never kept."""
    return not IGNORED.isdisjoint(PurePosixPath(path).parts)


def _mtime_ns(member: tarfile.TarInfo) -> int:
    """Return the time as the archive holds it: the float that `tarfile` makes of it is some hundred nanoseconds off."""
    return int(Decimal(member.pax_headers.get("mtime") or member.mtime) * 10**9)


def _without_content(writer: SnapshotWriter, path: str, change: Changed) -> None:
    """Keep a directory or a pipe, or a file whose content stays unknown: gone again, unreadable or beyond a bound."""
    entry = change.entry
    size = entry.size if entry.type == "file" else None
    writer.changed(os.fsencode(path), _kind(change), entry.type, mode=entry.mode, size=size)


def _kind(change: Changed) -> Literal["created", "modified"]:
    return "created" if change.change == "created" else "modified"
