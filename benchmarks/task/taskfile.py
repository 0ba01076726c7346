"""`task.yaml`: what it may say, read strictly.

An unknown key, a wrong type, a key said twice, an alias, a file that is not UTF-8: each is a
TaskError of one line that names the file, the key and the reason. Paths are checked in `taskdir`. No key names
the task's own solution: it is the directory `solution/`, or there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from benchmarks.task.quantities import count, duration_s, size_bytes
from benchmarks.task.task import TaskError
from environments.limits import ULIMITS
from environments.protocol import Kind
from trajectories.strict_yaml import StrictLoader

FILE_BYTES = 256 << 10
"""A larger task file is refused unread."""


def _reads(parse: Callable[[Any], float]) -> BeforeValidator:
    def read(value: object) -> object:
        return parse(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else value

    return BeforeValidator(read)


Seconds = Annotated[float, _reads(duration_s), Field(gt=0)]
Bytes = Annotated[int, _reads(size_bytes), Field(gt=0)]
Count = Annotated[int, _reads(count), Field(gt=0)]
Ulimit = Annotated[int, _reads(size_bytes), Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class BuildPart(_Part):
    """An image that is built from a Dockerfile; `context` is relative to the task's directory."""

    context: str = "."
    dockerfile: str = "Dockerfile"
    args: dict[str, str] = {}


class ImagePart(_Part):
    """`reference` is pulled, or names what `build` makes; without it the name follows from the content."""

    reference: str | None = Field(default=None, min_length=1)
    build: BuildPart | None = None

    @model_validator(mode="after")
    def _something(self) -> ImagePart:
        if self.reference is None and self.build is None:
            raise ValueError("give `reference`, `build` or both")
        return self


class ResourcesPart(_Part):
    """What a container gets: cores, bytes (`2g`), processes."""

    cpus: float | None = Field(default=None, gt=0, strict=False)
    memory: Bytes | None = None
    pids: int | None = Field(default=4096, gt=0)
    disk: Bytes | None = None
    """Of the container's own file system, where the daemon can limit it."""
    shm: Bytes | None = None
    """Of /dev/shm."""
    ulimits: dict[str, Ulimit] = {}
    """Of each process, by the names of getrlimit(2): `nofile: 1024`, `fsize: 1g`."""

    @field_validator("ulimits")
    @classmethod
    def _known(cls, ulimits: dict[str, int]) -> dict[str, int]:
        for name in ulimits:
            if name not in ULIMITS:
                raise ValueError(f"{name!r} is no ulimit; known are {', '.join(ULIMITS)}")
        return ulimits


class LimitsPart(_Part):
    """The task's own limits; what is left out takes the usual default."""

    steps: Count | None = None
    time: Seconds | None = None
    tokens: Count | None = None
    cost: float | None = Field(default=None, gt=0, strict=False)
    command: Seconds | None = None


class EvaluationPart(_Part):
    """The hidden suite and how the submission is made ready for it."""

    suite: str = "tests"
    cases: int | None = Field(default=None, gt=0)
    """How many cases the suite has; another number is the evaluator's failure."""
    program: tuple[str, ...] = Field(default=("{workspace}/executable",), min_length=1, strict=False)
    """What `candidate(...)` runs; `{workspace}` stands for the workspace's path."""
    withheld: tuple[str, ...] = Field(default=(), strict=False)
    """Files of the image's workspace that no submission may hold: whatever has the same content is removed."""
    remove: tuple[str, ...] = Field(default=(), strict=False)
    """Paths of the submission that are removed before the build, so that the build makes them."""
    build: str | None = Field(default=None, min_length=1)
    """Run in the workspace as the task's user before the suite."""
    build_timeout: Seconds = 300.0
    timeout: Seconds = 600.0
    """For all cases together; what is left then fails."""
    case_timeout: Seconds = 60.0

    @field_validator("withheld", "remove")
    @classmethod
    def _inside(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            pure = PurePosixPath(path)
            if pure.is_absolute() or ".." in pure.parts or not pure.parts:
                raise ValueError(f"{path!r} is not a path inside the workspace")
        return paths


class TaskFile(_Part):
    """The whole of `task.yaml`."""

    title: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    """For people: from-scratch, repair, rebuild, ..."""
    language: str = ""
    environments: tuple[Kind, ...] = Field(min_length=1, strict=False)
    image: ImagePart | None = None
    workdir: str = "/workspace"
    user: str = Field(default="agent", min_length=1)
    env: dict[str, str] = {}
    network: bool = False
    resources: ResourcesPart = ResourcesPart()
    limits: LimitsPart = LimitsPart()
    prompt: str = Field(default="default", min_length=1)
    evaluation: EvaluationPart | None = None

    @field_validator("workdir")
    @classmethod
    def _absolute(cls, path: str) -> str:
        pure = PurePosixPath(path)
        if not pure.is_absolute() or ".." in pure.parts or len(pure.parts) < 2:
            raise ValueError(f"{path!r} is not an absolute path of a directory below /")
        return path

    @model_validator(mode="after")
    def _fits(self) -> TaskFile:
        if len(set(self.environments)) != len(self.environments):
            raise ValueError("environments: says one twice")
        if "docker" in self.environments and self.image is None:
            raise ValueError("image: docker is allowed, so an image is needed")
        if self.evaluation is not None:
            if self.user.partition(":")[0] in ("root", "0"):
                raise ValueError(
                    "user: the suite runs as root, so the candidate needs another user, for instance agent"
                )
            if self.evaluation.withheld and self.environments != ("docker",):
                raise ValueError("evaluation.withheld: only docker can withhold a file's content")
        return self


Model = TypeVar("Model", bound=BaseModel)


def text_of(path: Path, limit: int = FILE_BYTES) -> str:
    """The file's text.

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
    """The file as a model of that type.

    Raises: TaskError.
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
        raise TaskError(f"{path}: must be a mapping of keys, is a {type(content).__name__}")
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise TaskError(f"{path}: {_first(error)}") from None


def _first(error: ValidationError) -> str:
    """One line for the first thing that is wrong: the key and the reason."""
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
    return text if len(text) <= 60 else text[:57] + "..."
