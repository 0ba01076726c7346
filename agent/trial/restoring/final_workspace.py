"""The final workspace of a trial that has ended, as an archive: its export, or one made of its last snapshot."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import zstandard

from agent.errors import UserError
from agent.trial.restoring.standing import Standing
from trajectories.plain_files import open_plain
from trajectories.record.events import Warned, WorkspaceExported
from trajectories.record.layout import WORKSPACE
from trajectories.workspace.states import WorkspaceState, state_at
from trajectories.workspace.tar_stream import archive_of, left_out, require_contents
from trajectories.writing.recorder import Recorder


def require_export(directory: Path, standing: Standing) -> WorkspaceExported | None:
    """Return the export of a finished trial, unchanged since; None if its last snapshot can take its place.

    Raises: UserError, RecordError if the record holds neither.
    """
    if standing.exported is not None:
        path = directory / standing.exported.path
        if path.is_file():
            with open_plain(path) as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != standing.exported.sha256:
                raise UserError(
                    f"{path}: has changed since the export (sha256 {digest[:12]}, was {standing.exported.sha256[:12]})"
                )
            return standing.exported
    if standing.snapshot is None or standing.snapshot != standing.steps or standing.rerun:
        raise UserError(f"{directory.name}: the record holds no final workspace, so there is nothing to evaluate")
    _whole_state(directory)
    return None


def exported_again(directory: Path, recorder: Recorder) -> WorkspaceExported:
    """Export the workspace of the last snapshot, and record that it is not the trial's own export.

    Raises: UserError, RecordError.
    """
    state = _whole_state(directory)
    path = directory / WORKSPACE
    digest, size = compress(archive_of(state), path)
    text = f"the workspace is that of the last snapshot, after step {state.step}: caches are not in it"
    recorder.append(Warned(kind="workspace_from_snapshot", text=text))
    return recorder.append(WorkspaceExported(path=WORKSPACE, bytes=size, sha256=digest, entries=len(state.manifest)))


def _whole_state(directory: Path) -> WorkspaceState:
    state = state_at(directory)
    require_contents(state)
    missing = [*left_out(state.manifest), *state.unread]
    if missing:
        raise UserError(
            f"{directory.name}: its workspace was not exported, and its last snapshot is not whole: {missing[0].path}: "
            f"{missing[0].why}"
        )
    return state


def compress(pieces: Iterable[bytes], to: Path) -> tuple[str, int]:
    """Write pieces as zstd, whole or not at all; return the sha256 and the size of the file in bytes."""
    partial = to.with_name(f"{to.name}.partial")
    digest, size = hashlib.sha256(), 0
    compressor = zstandard.ZstdCompressor(level=3).compressobj()
    try:
        with partial.open("wb") as file:
            for piece in _compressed(compressor, pieces):
                digest.update(piece)
                size += file.write(piece)
        os.replace(partial, to)
    finally:
        partial.unlink(missing_ok=True)
    return digest.hexdigest(), size


def _compressed(compressor: zstandard.ZstdCompressionObj, pieces: Iterable[bytes]) -> Iterable[bytes]:
    for piece in pieces:
        yield compressor.compress(piece)
    yield compressor.flush()
