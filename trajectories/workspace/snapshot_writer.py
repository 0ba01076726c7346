"""Writes the changes of a step to the workspace: first the contents as blobs, then the `snapshot` event.

Contents are kept to the byte, secrets included, because a fork or a replay would otherwise run on another file. Sharing
a record means sharing its workspaces. Paths and targets of links are masked by the recorder, in the same way in every
event; a fork, a replay or a checkout restores them as masked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Literal, Self

from trajectories.blobs.batch import BlobBatch
from trajectories.record.events import Snapshot
from trajectories.record.parts import Change, Skipped
from trajectories.record.texts.paths import to_text
from trajectories.workspace.manifest import PathState, in_one_line
from trajectories.writing.recorder import Recorder

CONTENT_BYTES = 64 << 20
"""Largest file whose content is kept. Of a larger one only the hash is."""


class SnapshotWriter:
    """`with SnapshotWriter(recorder, step) as writer:` then changes in any order, then `writer.finish()`.

    Every method raises RecordFull if there is no space. The record then holds nothing of the snapshot.
    """

    def __init__(self, recorder: Recorder, step: int, *, cap_bytes: int = CONTENT_BYTES) -> None:
        self._recorder = recorder
        self._step = step
        self._cap_bytes = cap_bytes
        self._batch = BlobBatch(recorder.blobs)
        self._changes: dict[str, Change] = {}
        self._unread: list[Skipped] = []
        self._began = time.monotonic()

    def changed(
        self,
        path: bytes | str,
        change: Literal["created", "modified"],
        type: Literal["file", "directory", "symlink", "other"],
        *,
        mode: int | None = None,
        size: int | None = None,
        mtime_ns: int | None = None,
        link: bytes | str | None = None,
        content: Iterable[bytes] | None = None,
        sha256: str | None = None,
    ) -> None:
        """Add a path that exists now, relative to the workspace, as bytes or as `os.fsdecode` returns it.

        The `content` of a file is read to its end, piece by piece, and its length becomes `size`. Without content,
        `sha256` comes from the environment, and the content counts as kept only if the store already has it.
        """
        kept = True
        if type == "file":
            if content is not None:
                try:
                    stored = self._batch.put(content, self._cap_bytes)
                except OSError as error:
                    raise self._recorder.full(error) from None
                sha256, size, kept = stored.sha256, stored.size, stored.kept
            else:
                kept = sha256 is not None and self._batch.has(sha256)
        text = to_text(os.fsencode(path))
        self._changes[text] = Change(
            path=text,
            change=change,
            type=type,
            mode=mode,
            size=size,
            mtime_ns=mtime_ns,
            link=None if link is None else to_text(os.fsencode(link)),
            sha256=sha256 if type == "file" else None,
            kept=kept,
        )

    def deleted(
        self,
        path: bytes | str,
        type: Literal["file", "directory", "symlink", "other"] = "file",
        *,
        mode: int | None = None,
        size: int | None = None,
    ) -> None:
        """Add a path that no longer exists, with its last known state."""
        text = to_text(os.fsencode(path))
        self._changes[text] = Change(path=text, change="deleted", type=type, mode=mode, size=size)

    def unread(self, path: bytes | str, reason: str) -> None:
        """Add a path whose state could not be read."""
        self._unread.append(Skipped(path=to_text(os.fsencode(path)), why=reason))

    def finish(self, bound: str = "") -> Snapshot:
        """Make the contents durable, append the event, and return it as it was written.

        `bound` describes the bound that ended the reading of contents, if one did.
        """
        try:
            self._batch.commit()
        except OSError as error:
            raise self._recorder.full(error) from None
        changes = tuple(self._changes[path] for path in sorted(self._changes))
        missing = [*self._unread, *_without_content(changes)]
        return self._recorder.append(
            Snapshot(
                step=self._step,
                changes=changes,
                unread=tuple(self._unread),
                seconds=round(time.monotonic() - self._began, 6),
                complete=not missing,
                why_incomplete=": ".join(filter(None, (bound, in_one_line(missing)))),
            )
        )

    def __enter__(self) -> Self:
        self._batch.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._batch.__exit__(kind, error, trace)


def _without_content(changes: Iterable[Change]) -> list[Skipped]:
    files = ((change, PathState.of(change)) for change in changes if change.change != "deleted")
    return [
        Skipped(path=change.path, why=file.missing) for change, file in files if file.type == "file" and file.missing
    ]
