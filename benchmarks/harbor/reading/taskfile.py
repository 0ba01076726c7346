"""The keys of Harbor's `task.toml`, schema 1.4 and older. Unknown keys are ignored, as Harbor ignores them.

Like Harbor, the reader takes a text with a number for a number. Refusing what cannot be run is up to `refusals`.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from benchmarks.harbor.reading.hosts import host
from benchmarks.harbor.reading.paths import artifact_destination, artifact_source, step_name

Network = Literal["public", "no-network", "allowlist"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG])B?", re.IGNORECASE)
_MEGABYTES = {"K": 1 / 1024, "M": 1, "G": 1024}
_TOPOLOGY = re.compile(r"\d+(x\d+)*")


def _user(value: object) -> object:
    """Return a user as text: numbers are allowed."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


User = Annotated[str | None, BeforeValidator(_user)]
Timeout = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class ArtifactPart(_Part):
    """A file or directory that is collected after the agent. In the file it may be just the text of its source."""

    source: str
    destination: str | None = None
    exclude: tuple[str, ...] = ()
    service: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_text(cls, value: object) -> object:
        return {"source": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _places(self) -> ArtifactPart:
        artifact_source(self.source, absolute=self.service not in (None, "main"))
        if self.destination is not None:
            artifact_destination(self.destination)
        return self


class AuthorPart(_Part):
    """An author of a task."""

    name: str
    email: str | None = None


class TaskPart(_Part):
    """The identity of a task as a package."""

    name: str
    version: str | None = Field(default=None, min_length=1)
    description: str = ""
    keywords: tuple[str, ...] = ()
    authors: tuple[AuthorPart, ...] = ()

    @field_validator("name")
    @classmethod
    def _of_two_halves(cls, name: str) -> str:
        if not _NAME.fullmatch(name) or ".." in name:
            raise ValueError(f"must be org/name, of letters, digits, '.', '_' and '-', not {name!r}")
        return name


class _Phase(_Part):
    network_mode: Network | None = None
    allowed_hosts: tuple[str, ...] | None = None

    @field_validator("allowed_hosts")
    @classmethod
    def _hosts(cls, hosts: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if hosts is None else tuple(host(text) for text in hosts)

    @model_validator(mode="after")
    def _hosts_of_allowlist(self) -> _Phase:
        if self.allowed_hosts is not None and self.network_mode not in (None, "allowlist"):
            raise ValueError(f'allowed_hosts needs network_mode = "allowlist", not {self.network_mode!r}')
        return self


class AgentPart(_Phase):
    """The phase of the agent."""

    timeout_sec: Timeout | None = None
    user: User = None


class HealthcheckPart(_Part):
    """A command that succeeds once the environment is ready."""

    command: str
    interval_sec: float = Field(default=5.0, ge=0)
    timeout_sec: Timeout = 30.0
    start_period_sec: float = Field(default=0.0, ge=0)
    start_interval_sec: float = Field(default=5.0, ge=0)
    retries: int = Field(default=3, ge=0)


class TpuPart(_Part):
    """A TPU, which Retrace cannot provide."""

    type: str
    topology: str

    @field_validator("topology")
    @classmethod
    def _like_2x4(cls, topology: str) -> str:
        if not _TOPOLOGY.fullmatch(topology):
            raise ValueError(f'must be like "2x4", not {topology!r}')
        return topology


class McpServerPart(_Part):
    """A tool server, which Retrace does not start."""

    name: str
    transport: Literal["sse", "streamable-http", "http", "stdio"] = "sse"
    url: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    headers: dict[str, str] = {}

    @model_validator(mode="after")
    def _reachable(self) -> McpServerPart:
        if self.transport == "stdio" and self.command is None:
            raise ValueError("command: is missing, but the transport stdio needs it")
        if self.transport != "stdio" and self.url is None:
            raise ValueError(f"url: is missing, but the transport {self.transport} needs it")
        if self.transport == "stdio" and self.headers:
            raise ValueError("headers: only an HTTP transport has them")
        return self


class EnvironmentPart(_Phase):
    """A container: the agent's, or that of a separate verifier."""

    build_timeout_sec: Timeout = 600.0
    docker_image: str | None = Field(default=None, min_length=1)
    os: Annotated[Literal["linux", "windows"], BeforeValidator(_lower)] = "linux"
    cpus: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    memory_mb: int | None = Field(default=None, gt=0)
    storage_mb: int | None = Field(default=None, gt=0)
    gpus: int | None = Field(default=None, ge=0)
    gpu_types: tuple[str, ...] | None = None
    tpu: TpuPart | None = None
    env: dict[str, str] = {}
    workdir: str | None = None
    skills_dir: str | None = None
    healthcheck: HealthcheckPart | None = None
    mcp_servers: tuple[McpServerPart, ...] = ()
    memory: str | None = None
    """Deprecated: `memory_mb`."""
    storage: str | None = None
    """Deprecated: `storage_mb`."""
    allow_internet: bool | None = None
    """Deprecated: `network_mode`."""

    @field_validator("workdir", "skills_dir")
    @classmethod
    def _absolute(cls, path: str | None) -> str | None:
        if path is not None and (not path.startswith("/") or ".." in path.split("/")):
            raise ValueError(f"must be an absolute path without '..', not {path!r}")
        return path

    @field_validator("memory", "storage")
    @classmethod
    def _size(cls, size: str | None) -> str | None:
        if size is not None:
            _megabytes(size)
        return size

    @model_validator(mode="after")
    def _agreeing(self) -> EnvironmentPart:
        for old, new, key in (
            (self.memory, self.memory_mb, "memory"),
            (self.storage, self.storage_mb, "storage"),
        ):
            if old is not None and new is not None and _megabytes(old) != new:
                raise ValueError(f"{key}: {old!r} contradicts {key}_mb: {new}; remove {key}")
        return self

    @property
    def memory_bytes(self) -> int | None:
        """Memory of the container; None is no limit."""
        return _bytes(self.memory_mb, self.memory)

    @property
    def storage_bytes(self) -> int | None:
        """Size of the container's file system; None is no limit."""
        return _bytes(self.storage_mb, self.storage)

    @property
    def network(self) -> Network:
        """Network of all phases that have none of their own."""
        if self.network_mode is not None:
            return self.network_mode
        if self.allowed_hosts is not None:
            return "allowlist"
        return "no-network" if self.allow_internet is False else "public"


class CollectPart(_Part):
    """A command after the agent that dumps state into files."""

    command: str
    service: str = "main"
    timeout_sec: Timeout = 60.0
    user: User = None


class VerifierPart(_Phase):
    """The verifier: how its script is run, and in which container."""

    timeout_sec: Timeout = 600.0
    env: dict[str, str] = {}
    user: User = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: EnvironmentPart | None = None
    collect: tuple[CollectPart, ...] = ()

    @model_validator(mode="after")
    def _one_mode(self) -> VerifierPart:
        if self.environment_mode == "shared" and self.environment is not None:
            raise ValueError(
                'environment_mode: "shared" contradicts the table verifier.environment; remove one of them'
            )
        return self

    @property
    def separate(self) -> bool:
        """True if the verifier has a container of its own."""
        return self.environment_mode == "separate" or self.environment is not None


class SolutionPart(_Part):
    """Variables of the solution."""

    env: dict[str, str] = {}


def _gate(value: object) -> object:
    """Return the least rewards of a step by their keys: a bare number is that of the key `reward`."""
    return {"reward": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


class StepPart(_Part):
    """One step of a multi-step task."""

    name: str
    agent: AgentPart = AgentPart()
    verifier: VerifierPart = VerifierPart()
    min_reward: Annotated[dict[str, float] | None, BeforeValidator(_gate)] = None
    healthcheck: HealthcheckPart | None = None
    artifacts: tuple[ArtifactPart, ...] = ()

    @field_validator("name")
    @classmethod
    def _directory(cls, name: str) -> str:
        return step_name(name)


class TaskFile(_Part):
    """The complete `task.toml`."""

    schema_version: str = "1.4"
    version: str | None = None
    """Name of `schema_version` in older files."""
    source: str | None = None
    artifacts: tuple[ArtifactPart, ...] = ()
    multi_step_reward_strategy: Literal["mean", "final"] | None = None
    task: TaskPart | None = None
    metadata: dict[str, object] = {}
    agent: AgentPart = AgentPart()
    verifier: VerifierPart = VerifierPart()
    environment: EnvironmentPart = EnvironmentPart()
    solution: SolutionPart = SolutionPart()
    steps: tuple[StepPart, ...] = ()

    @field_validator("steps")
    @classmethod
    def _different(cls, steps: tuple[StepPart, ...]) -> tuple[StepPart, ...]:
        names = [step.name.casefold() for step in steps]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise ValueError(f"two steps are named {repeated!r}; their names must differ in more than case")
        return steps

    @property
    def schema(self) -> str:  # type: ignore[override]
        """Version of the schema that the file is written for."""
        return (
            self.version
            if self.version is not None and "schema_version" not in self.model_fields_set
            else self.schema_version
        )


def _megabytes(size: str) -> int:
    match = _SIZE.fullmatch(size.strip())
    if match is None:
        raise ValueError(f'must be like "512M" or "2G", not {size!r}')
    return int(float(match[1]) * _MEGABYTES[match[2].upper()])


def _bytes(megabytes: int | None, old: str | None) -> int | None:
    if megabytes is None and old is not None:
        megabytes = _megabytes(old)
    return None if megabytes is None else megabytes << 20
