"""The keys of `task.yaml`, with their types and defaults.

`yaml_file` reads the file strictly: an unknown key, a wrong type, a repeated key, an alias or bytes that are not UTF-8
are errors. `taskdir` checks the paths. No key names the task's solution: it is the directory `solution/`, if there is
one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from benchmarks.task.quantities import count, duration_s, size_bytes
from environments.limits import ULIMITS
from environments.protocol import Kind
from trajectories.record.events import FeedbackForm


def _quantity(parse: Callable[[Any], float]) -> BeforeValidator:
    def parse_quantity(value: object) -> object:
        return parse(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else value

    return BeforeValidator(parse_quantity)


Seconds = Annotated[float, _quantity(duration_s), Field(gt=0)]
Bytes = Annotated[int, _quantity(size_bytes), Field(gt=0)]
Count = Annotated[int, _quantity(count), Field(gt=0)]
Ulimit = Annotated[int, _quantity(size_bytes), Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class BuildPart(_Part):
    """An image to build from a Dockerfile; `context` is relative to the task's directory."""

    context: str = "."
    dockerfile: str = "Dockerfile"
    args: dict[str, str] = {}


class ImagePart(_Part):
    """The task's image. Without `build`, `reference` is pulled; without `reference`, the content gives the name."""

    reference: str | None = Field(default=None, min_length=1)
    build: BuildPart | None = None

    @model_validator(mode="after")
    def _reference_or_build(self) -> ImagePart:
        if self.reference is None and self.build is None:
            raise ValueError("give `reference`, `build` or both")
        return self


class ResourcesPart(_Part):
    """Resources of a container: cores, bytes (`2g`) and processes."""

    cpus: float | None = Field(default=None, gt=0, strict=False)
    memory: Bytes | None = None
    pids: int | None = Field(default=4096, gt=0)
    disk: Bytes | None = None
    """Size of the container's own file system, if the daemon can limit it."""
    shm: Bytes | None = None
    """Size of /dev/shm."""
    ulimits: dict[str, Ulimit] = {}
    """Limits of each process, with the names of getrlimit(2): `nofile: 1024`, `fsize: 1g`."""

    @field_validator("ulimits")
    @classmethod
    def _known_names(cls, ulimits: dict[str, int]) -> dict[str, int]:
        for name in ulimits:
            if name not in ULIMITS:
                raise ValueError(f"{name!r} is not a ulimit; use one of {', '.join(ULIMITS)}")
        return ulimits


class LimitsPart(_Part):
    """The task's own limits; a missing one takes the general default."""

    steps: Count | None = None
    time: Seconds | None = None
    tokens: Count | None = None
    cost: float | None = Field(default=None, gt=0, strict=False)
    command: Seconds | None = None


class EvaluationPart(_Part):
    """The hidden suite, and the preparation of a submission for it."""

    suite: str = "tests"
    cases: int | None = Field(default=None, gt=0)
    """Number of cases in the suite; any other number counts as a failure of the evaluator."""
    program: tuple[str, ...] = Field(default=("{workspace}/executable",), min_length=1, strict=False)
    """Command that `candidate(...)` runs; `{workspace}` stands for the workspace's path."""
    withheld: tuple[str, ...] = Field(default=(), strict=False)
    """Files of the image's workspace that no submission may contain: every file with the same content is removed."""
    remove: tuple[str, ...] = Field(default=(), strict=False)
    """Paths of the submission that are removed before the build, so that the build has to make them."""
    build: str | None = Field(default=None, min_length=1)
    """Script that runs in the workspace, as the task's user, before the suite."""
    build_timeout: Seconds = 300.0
    timeout: Seconds = 600.0
    """Time for all cases together; cases that have not run by then fail."""
    case_timeout: Seconds = 60.0
    feedback: tuple[FeedbackForm, ...] | None = Field(default=None, strict=False)
    """Forms of feedback between turns that the task allows, its default first: `output`, `failing`, `scores`, `paths`.

    By default all, with `output` first, but only `scores` for a task with `withheld`.
    """

    @field_validator("feedback")
    @classmethod
    def _once_each(cls, forms: tuple[FeedbackForm, ...] | None) -> tuple[FeedbackForm, ...] | None:
        if forms is not None and len(set(forms)) != len(forms):
            raise ValueError("each form may be listed only once")
        return forms

    @field_validator("withheld", "remove")
    @classmethod
    def _inside_workspace(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            pure = PurePosixPath(path)
            if pure.is_absolute() or ".." in pure.parts or not pure.parts:
                raise ValueError(f"{path!r} is not a path inside the workspace")
        return paths


class TaskFile(_Part):
    """The complete `task.yaml`."""

    title: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    """Kind of task, for people: from-scratch, repair, rebuild, ..."""
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
    def _consistent(self) -> TaskFile:
        if len(set(self.environments)) != len(self.environments):
            raise ValueError("environments: each may be listed only once")
        if "docker" in self.environments and self.image is None:
            raise ValueError("image: is missing, but environments has docker, which needs an image")
        if self.evaluation is not None:
            if self.user.partition(":")[0] in ("root", "0"):
                raise ValueError(
                    "user: the suite runs as root, so the candidate needs another user, for instance agent"
                )
            if self.evaluation.withheld and self.environments != ("docker",):
                raise ValueError("evaluation.withheld: only docker can withhold a file's content")
        return self
