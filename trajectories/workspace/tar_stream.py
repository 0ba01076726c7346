"""A recorded workspace as a tar stream that an environment unpacks: contents, modes, and times to the nanosecond.

uid and gid are 0, because the unpacking program sets the owner. The memory that it takes depends on the manifest only.
"""

from __future__ import annotations

import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

from trajectories.errors import RecordError
from trajectories.record.parts import Skipped
from trajectories.record.texts.paths import from_text
from trajectories.workspace.manifest import Manifest, PathState, in_tree_order
from trajectories.workspace.states import WorkspaceState, state_at

_BLOCK = 512
_FORWARD_BYTES = 1 << 18
_TYPES = {"file": tarfile.REGTYPE, "directory": tarfile.DIRTYPE, "symlink": tarfile.SYMTYPE}


def restore_archive(trial: Path, step: int | None = None) -> Iterator[bytes]:
    """Yield the workspace after this step (default: the last) as a tar stream (pax), without the paths of `left_out`.

    Raises: RecordError as `state_at` does, and in the middle of the stream for a blob that is missing or damaged.
    """
    return archive_of(state_at(trial, step))


def left_out(manifest: Manifest) -> list[Skipped]:
    """Return the paths that cannot be restored from the record, with reasons, sorted by path."""
    return [Skipped(path=path, why=entry.missing) for path, entry in sorted(manifest.items()) if entry.missing]


def require_contents(state: WorkspaceState) -> None:
    """Check that the record holds everything that `archive_of` will read.

    Raises: RecordError with the first path whose content is missing.
    """
    gone = [path for path, entry in sorted(state.manifest.items()) if _is_gone(state, entry)]
    if gone:
        more = f" (and of {len(gone) - 1} more)" if len(gone) > 1 else ""
        raise RecordError(
            f"{state.trial}: the content of {gone[0]!r}{more} after step {state.step} is missing from its blobs, "
            "so the workspace of that step cannot be restored"
        )


def _is_gone(state: WorkspaceState, entry: PathState) -> bool:
    if entry.missing or entry.type != "file" or not entry.size:
        return False
    return not state.blobs.has(entry.sha256 or "")


def archive_of(state: WorkspaceState) -> Iterator[bytes]:
    """Yield a workspace as a tar stream, like `restore_archive`."""
    ready: list[bytes] = []
    size = 0
    for piece in _members(state):
        ready.append(piece)
        size += len(piece)
        if size >= _FORWARD_BYTES:
            yield b"".join(ready)
            ready, size = [], 0
    ready.append(bytes(2 * _BLOCK))
    yield b"".join(ready)


def _members(state: WorkspaceState) -> Iterator[bytes]:
    for names, path, entry in in_tree_order(state.manifest):
        if entry.missing:
            continue
        yield _header(b"/".join(names), entry)
        if entry.type != "file" or not entry.size:
            continue
        size = 0
        for piece in state.blobs.pieces(entry.sha256 or "", entry.size):
            size += len(piece)
            yield piece
        if size != entry.size:
            raise RecordError(f"{state.trial}: {path!r} has {size} bytes, but {entry.size} according to its snapshot")
        yield bytes(-size % _BLOCK)


def _header(name: bytes, entry: PathState) -> bytes:
    info = tarfile.TarInfo(name.decode("utf-8", "surrogateescape"))
    info.type = _TYPES[entry.type]
    info.mode = (0o755 if entry.type == "directory" else 0o644) if entry.mode is None else entry.mode & 0o7777
    if entry.type == "file":
        info.size = entry.size or 0
    if entry.type == "symlink":
        info.linkname = from_text(entry.link or "").decode("utf-8", "surrogateescape")
    if entry.mtime_ns is None:
        info.mtime = int(time.time())
    else:
        seconds, nanoseconds = divmod(abs(entry.mtime_ns), 10**9)
        info.mtime = seconds if entry.mtime_ns >= 0 else 0
        if nanoseconds or entry.mtime_ns < 0:
            info.pax_headers = {"mtime": f"{'-' * (entry.mtime_ns < 0)}{seconds}.{nanoseconds:09}"}
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
