"""Feedback of earlier turns in an environment: root's files below `/feedback`, put there anew in each environment.

A record holds one `feedback` event for each earlier turn, with all files as blobs, so that it needs no other record.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from environments.protocol import Environment
from trajectories.blobs.store import BlobStore
from trajectories.errors import RecordError
from trajectories.record.events import Feedback, FeedbackFile
from trajectories.record.layout import TrialFolder
from trajectories.record.texts.paths import from_text, to_text
from trajectories.writing.recorder import Recorder

DIRECTORY = "/feedback"
_DIRECTORY_MODE = 0o755
_FILE_MODE = 0o444


def directory_of_turn(turn: int) -> str:
    """Return the directory in which the feedback on a turn lies."""
    return f"{DIRECTORY}/turn-{turn}"


def keep_files(recorder: Recorder, files: Mapping[str, bytes]) -> tuple[FeedbackFile, ...]:
    """Keep the files of a feedback as blobs, and return their list for the event.

    Raises: RecordFull.
    """
    kept = []
    for path, data in sorted(files.items()):
        try:
            digest = recorder.blobs.put(data)
        except OSError as error:
            raise recorder.full(error) from None
        kept.append(FeedbackFile(path=to_text(os.fsencode(path)), bytes=len(data), sha256=digest))
    return tuple(kept)


def copy_feedback(recorder: Recorder, source: Path, events: Iterable[Feedback]) -> None:
    """Copy feedback with its files from another trial's record.

    Raises: RecordError, RecordFull.
    """
    blobs = BlobStore(TrialFolder(source).blobs)
    for event in events:
        keep_files(recorder, _contents(blobs, event))
        recorder.append(event)


def put_feedback(environment: Environment, directory: Path, events: Iterable[Feedback]) -> list[str]:
    """Put the files of feedback whose blobs are in a trial's directory into an environment.

    Returns a line if that is impossible, because the environment has no root directory of its own.

    Raises: EnvironmentFault, RecordError.
    """
    blobs = BlobStore(TrialFolder(directory).blobs)
    contents = {event.turn: _contents(blobs, event) for event in events}
    if contents and environment.spec.kind == "local":
        return [f"the files below {DIRECTORY}"]
    for turn, files in contents.items():
        put_files(environment, turn, files)
    return []


def put_files(environment: Environment, turn: int, files: Mapping[str, bytes]) -> None:
    """Put the files of the feedback on a turn into an environment, which may be paused.

    Raises: EnvironmentFault.
    """
    environment.put(_archive(files), directory_of_turn(turn), as_root=True)


def _contents(blobs: BlobStore, event: Feedback) -> dict[str, bytes]:
    contents = {}
    for file in event.files:
        path = os.fsdecode(from_text(file.path))
        if path.startswith("/") or not path or ".." in PurePosixPath(path).parts:
            raise RecordError(f"{blobs.directory.parent}: the feedback file {file.path[:100]!r} escapes its directory")
        contents[path] = blobs.get(file.sha256)
    return contents


def _archive(files: Mapping[str, bytes]) -> io.BytesIO:
    """Return the files as a tar archive, with all their directories, owned by root and writable by nobody else."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for directory in _directories(sorted(files)):
            member = tarfile.TarInfo(directory)
            member.type, member.mode = tarfile.DIRTYPE, _DIRECTORY_MODE
            archive.addfile(member)
        for path, data in sorted(files.items()):
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(data), _FILE_MODE
            archive.addfile(member, io.BytesIO(data))
    stream.seek(0)
    return stream


def _directories(paths: Sequence[str]) -> list[str]:
    """Return the directories of the paths, each before what is in it."""
    above = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    return sorted(above - {"."})
