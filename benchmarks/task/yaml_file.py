"""Strict reading of a YAML file into a pydantic model: each problem is a TaskError of one line."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from benchmarks.task.task import TaskError
from trajectories.strict_yaml import StrictLoader
from trajectories.writing import excerpts

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
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(f"{path}: is not UTF-8 (byte {error.start} is 0x{data[error.start]:02x})") from None


def read_yaml(path: Path, model: type[Model]) -> Model:
    """Return the file's content as a model of that type.

    Raises: TaskError (file, key or line, reason).
    """
    try:
        content = yaml.load(text_of(path), StrictLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise TaskError(f"{path}: {line}{error.problem or 'is not YAML'}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise TaskError(f"{path}: is not YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise TaskError(f"{path}: is nested too deeply") from None
    if content is None:
        raise TaskError(f"{path}: is empty")
    if not isinstance(content, dict):
        raise TaskError(f"{path}: must be a mapping of keys, not a {type(content).__name__}")
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise TaskError(f"{path}: {_first_problem(error)}") from None


def _first_problem(error: ValidationError) -> str:
    """Return one line about the first problem: the key and the reason."""
    problems = error.errors(include_url=False)
    problem = problems[0]
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        reason = "unknown key"
    elif problem["type"] == "missing":
        reason = "is missing"
    else:
        reason = problem["msg"].removeprefix("Value error, ")
        if problem["type"] != "value_error":
            reason += f", not {_short(problem['input'])}"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{key}: {reason}{more}" if key else f"{reason}{more}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else excerpts.beginning(text, 57) + "..."
