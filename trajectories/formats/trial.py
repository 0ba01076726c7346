"""Import of another program's file as a trial, in a directory with events and blobs like any other trial.

The file's bytes are kept as a blob. A trial appears as a whole or not at all.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trajectories.blobs.store import BlobStore
from trajectories.checks.check import check
from trajectories.errors import RecordError
from trajectories.formats.atif.read import read as read_atif
from trajectories.formats.detect import detect
from trajectories.formats.document import Document, read_document
from trajectories.formats.errors import BadDocument
from trajectories.formats.items import ForeignRun
from trajectories.formats.mini.read import read as read_mini
from trajectories.formats.transcribe import Clock, Transcriber, output_of
from trajectories.reading.reader import read_events
from trajectories.reading.summary import Summary
from trajectories.record.events import (
    Exited,
    ModelRef,
    TaskRef,
    TextRef,
    TrialStarted,
    Warned,
)
from trajectories.record.identity import sha256_of
from trajectories.record.layout import TrialFolder
from trajectories.record.texts.text import storable
from trajectories.writing.claim import claim_directory, trial_stem
from trajectories.writing.derived import write_conveniences
from trajectories.writing.recorder import Recorder

_IMPORT = "import of a file"
_READERS = {"mini": read_mini, "atif": read_atif}


@dataclass(frozen=True)
class ImportedTrial:
    """The trial of a file; `already` is True if an earlier import made it."""

    directory: Path
    summary: Summary
    already: bool
    oddities: tuple[str, ...] = ()


def import_file(path: Path, folder: Path) -> ImportedTrial:
    """Make a trial of a file in a batch's folder, or find an earlier one of the same bytes in any neighboring batch.

    Raises: BadDocument, which names file and place, also if the trial would be inconsistent; RecordError if it cannot
    be written.
    """
    try:
        document = read_document(path)
        run = _READERS[detect(document.value)](document)
    except BadDocument as error:
        raise BadDocument(f"{path}: {error}") from None
    identity = sha256_of([_IMPORT, document.sha256])
    earlier = _earlier(folder.parent, identity)
    if earlier is not None:
        return ImportedTrial(earlier, write_conveniences(earlier), already=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=".import-", dir=folder))
    except OSError as error:
        raise RecordError(
            f"cannot write trials to {folder}: {error.strerror}; choose another place with --runs"
        ) from None
    try:
        os.chmod(unfinished, 0o755)
        directory, attempt = claim_directory(folder, trial_stem(run.task, run.model, identity))
        try:
            _write(unfinished, run, document, identity, directory.name, attempt)
            _require_consistent(unfinished, path)
            os.replace(unfinished, directory)
        except BaseException:
            directory.rmdir()
            raise
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        with suppress(OSError):
            folder.rmdir()  # unless other trials are in it
        raise
    return ImportedTrial(directory, write_conveniences(directory), already=False, oddities=run.oddities)


def _require_consistent(directory: Path, path: Path) -> None:
    """Check the trial that a file makes, before it gets its place.

    Raises: BadDocument with the first inconsistency.
    """
    first = check(directory).first
    if first is not None:
        raise BadDocument(f"{path}: not imported, because its trial would be inconsistent: {first.text}")


def _earlier(runs: Path, identity: str) -> Path | None:
    for trial in runs.glob(f"*/*.{identity[:8]}.*"):
        try:
            start = next(iter(read_events(trial)), None)
        except (RecordError, OSError):
            continue
        if isinstance(start, TrialStarted) and start.identity == identity:
            return trial
    return None


def _write(directory: Path, run: ForeignRun, document: Document, identity: str, name: str, attempt: int) -> None:
    clock = Clock()
    folder = TrialFolder(directory)
    recorder = Recorder(directory, clock=clock.read)  # its contents are shared with nobody: a refused file leaves none
    try:
        BlobStore(folder.blobs).put(document.data)
        submission = None if run.submission is None else output_of(recorder, run.submission)
        recorder.append(
            TrialStarted(
                trial=name,
                identity=identity,
                attempt=attempt,
                task=TaskRef(id=storable(run.task), benchmark=run.benchmark, digest=""),
                model=ModelRef(asked=storable(run.model), name=storable(run.model), settings=run.settings),
                prompt=TextRef(name=run.prompt[0], sha256=run.prompt[1]),
                limits=run.limits,
                environment=run.environment,
                environment_spec=run.environment_spec,
                options=run.options,
                imported=run.imported.model_copy(update={"submission": submission}),
            )
        )
        for oddity in run.oddities:
            recorder.append(Warned(kind="import", text=storable(oddity)))
        writer = Transcriber(recorder, clock, storable(run.model))
        for item in run.items:
            writer.write(item)
        writer.end()
        if clock.went_back:
            recorder.append(Warned(kind="import", text=f"the file's times go back {clock.went_back} times"))
        if run.exit is not None:
            recorder.append(Exited(exit=run.exit, steps=writer.steps))
    finally:
        recorder.close()
