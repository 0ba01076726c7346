"""The recorded output of a command, as the bytes that were kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trajectories.blobs.store import BlobStore
from trajectories.errors import RecordError
from trajectories.reading.reader import read_events
from trajectories.record.events import ActionFinished, Output
from trajectories.record.layout import TrialFolder

STDERR = ".stderr"
"""Suffix of the name of a command whose standard error is meant."""


def recorded_output(trial: Path, name: str) -> Output:
    """Return the output of the command `STEP.NUMBER`; with the suffix `.stderr`, its standard error if recorded apart.

    Raises: RecordError.
    """
    action = name.removesuffix(STDERR)
    last = ""
    for event in read_events(trial):
        if not isinstance(event, ActionFinished):
            continue
        if event.action != action:
            last = event.action
        elif not name.endswith(STDERR):
            return event.output
        elif event.stderr is None:
            raise RecordError(f"{trial}: the standard error of command {action} is in its output: --output {action}")
        else:
            return event.stderr
    hint = f"the last is {last}" if last else "it has no finished command"
    raise RecordError(f"{trial}: there is no finished command {action!r}; {hint}")


def output_bytes(trial: Path, output: Output) -> Iterator[bytes]:
    """Yield the kept bytes of an output piece by piece.

    Raises: RecordError if the blob is missing or damaged.
    """
    if output.blob is None:
        yield output.text.encode()
    else:
        yield from BlobStore(TrialFolder(trial).blobs).pieces(output.blob)
