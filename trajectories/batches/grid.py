"""The resolved grid of a batch, `grid.jsonl`: one configuration a line. Lines are only added, when the grid grows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from trajectories.batches.configuration import Configuration
from trajectories.blobs.store import sync_directory
from trajectories.errors import RecordError, RecordFull
from trajectories.reading.lines import complete_lines
from trajectories.reading.reader import problem_in_words
from trajectories.record.layout import BatchFolder
from trajectories.writing.line_file import NO_SPACE, LineFile, stored_line
from trajectories.writing.masking import Masker


def read_grid(directory: Path) -> list[Configuration]:
    """Return the configurations of a batch in their order; none if the batch has no grid yet.

    A torn last line, which a crash leaves, is skipped.

    Raises: RecordError with file and line for a line that is not a configuration, or repeats one.
    """
    path = BatchFolder(directory).grid
    configurations: dict[str, Configuration] = {}
    try:
        for number, line in complete_lines(path):
            try:
                configuration = Configuration.model_validate_json(line)
            except ValidationError as error:
                problem = problem_in_words(error.errors(include_url=False)[0])
                raise RecordError(f"{path}:{number}: not a configuration of a batch: {problem}") from None
            if configuration.id in configurations:
                raise RecordError(f"{path}:{number}: the configuration {configuration.id} comes a second time")
            configurations[configuration.id] = configuration
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror})") from None
    return list(configurations.values())


def append_to_grid(directory: Path, configurations: Iterable[Configuration], *, masker: Masker | None = None) -> None:
    """Add the configurations that the grid does not hold yet, and sync it. Called with the batch's lock.

    Raises: RecordError if the grid cannot be read or written, or a configuration cannot be stored as it is, because it
    holds a secret of this process; RecordFull.
    """
    path = BatchFolder(directory).grid
    present = {configuration.id for configuration in read_grid(directory)}
    lines = []
    for configuration in configurations:
        line = _line(configuration, masker or Masker())
        if configuration.id not in present:
            present.add(configuration.id)
            lines.append(line + b"\n")
    try:
        file = LineFile.continued(path) if path.exists() else LineFile.created(path)
        try:
            for line in lines:
                file.append(line)
        finally:
            file.close()
        sync_directory(directory)
    except OSError as error:
        if error.errno in NO_SPACE:
            raise RecordFull(f"{path}: no space left for the batch; free some and start the batch again") from None
        raise RecordError(f"{path}: cannot be written ({error.strerror})") from None


def _line(configuration: Configuration, masker: Masker) -> bytes:
    plain, line = stored_line(configuration, Masker())
    masked, _ = stored_line(configuration, masker)
    if plain == configuration == masked and not masker.occurs_in(json.dumps(configuration.options).encode()):
        return line
    first = configuration.first
    reason = "text that is not Unicode" if plain != configuration else "a secret of this process's environment"
    raise RecordError(
        f"the configuration of {first.task.id} with {first.model.asked} in arm {configuration.arm} holds {reason}, "
        "which a batch cannot keep; leave it out"
    )
