"""Strict reading of a YAML file into a pydantic model: all mistakes are one TaskError of one line."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from benchmarks.task.task import TaskError
from trajectories import yaml_mistakes
from trajectories.yaml_mistakes import Mistakes

FILE_BYTES = 256 << 10
"""Largest task file; a larger one is rejected without parsing it."""

Model = TypeVar("Model", bound=BaseModel)


def text_of(path: Path, limit: int = FILE_BYTES) -> str:
    """Return the file's text.

    Raises: TaskError (missing, not a file, too large, not UTF-8).
    """
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise TaskError(f"{path}: is missing") from None
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > limit:
        raise TaskError(f"{path}: is larger than {limit} bytes")
    try:
        return yaml_mistakes.decoded(data)
    except Mistakes as mistakes:
        raise TaskError(f"{path}: {mistakes}") from None


def read_yaml(path: Path, model: type[Model]) -> Model:
    """Return the file's content as a model of that type.

    Raises: TaskError (file, lines, keys, reasons).
    """
    try:
        return yaml_mistakes.parse(text_of(path), model)
    except Mistakes as mistakes:
        raise TaskError(f"{path}: {mistakes}") from None
