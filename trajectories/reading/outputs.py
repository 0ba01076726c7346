"""The recorded output of a command, as the bytes that were kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trajectories.blobs.store import BlobStore
from trajectories.errors import RecordError
from trajectories.reading.steps.events import read_step
from trajectories.reading.steps.index import read_index
from trajectories.record.events import ActionFinished, Output
from trajectories.record.layout import TrialFolder

STDERR = ".stderr"
"""Suffix of the name of a command whose standard error is meant."""


def recorded_output(trial: Path, name: str) -> Output:
    """Return the output of the command `STEP.NUMBER`; with the suffix `.stderr`, its standard error if recorded apart.

    Raises: RecordError.
    """
    action = name.removesuffix(STDERR)
    index = read_index(trial)
    step = action.partition(".")[0]
    events = read_step(trial, int(step)) if step in {str(row.step) for row in index.rows} else []
    ends = (event for event in events if isinstance(event, ActionFinished) and event.action == action)
    event = next(ends, None)
    if event is None:
        finished = [command.action for row in index.rows for command in row.commands if command.ended is not None]
        hint = f"the last is {finished[-1]}" if finished else "it has no finished command"
        raise RecordError(f"{trial}: there is no finished command {action!r}; {hint}")
    if not name.endswith(STDERR):
        return event.output
    if event.stderr is None:
        raise RecordError(f"{trial}: the standard error of command {action} is in its output: --output {action}")
    return event.stderr


def output_bytes(trial: Path, output: Output) -> Iterator[bytes]:
    """Yield the kept bytes of an output piece by piece.

    Raises: RecordError if the blob is missing or damaged.
    """
    if output.blob is None:
        yield output.text.encode()
    else:
        yield from BlobStore(TrialFolder(trial).blobs).pieces(output.blob)
