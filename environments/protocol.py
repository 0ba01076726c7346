"""The contract between a trial and the place where its commands run.

Types and the protocol only: no environment, no policy. An environment knows no agent and no
benchmark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal, Protocol, runtime_checkable

from environments.kinds import KINDS as KINDS, Kind as Kind
from environments.listing.listing import Listing as Listing
from environments.promises import Promise as Promise
from trajectories.blobs.spooled import Spooled as Spooled
from trajectories.record.events import Ended, Lowered, Skipped

DIGEST_S = 300
"""Seconds that `digests` takes at most."""
Shell = Literal["fresh", "persistent"]
SHELLS: tuple[Shell, ...] = ("fresh", "persistent")


@dataclass(frozen=True)
class Build:
    """An image that is built on the spot from a Dockerfile."""

    context: Path
    dockerfile: str = "Dockerfile"
    args: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class EnvironmentSpec:
    """What a trial asks of its environment; limits are lowered to the host's, and that is reported."""

    kind: Kind
    image: str | None = None
    """Reference to pull or to build under; docker only."""
    build: Build | None = None
    platform: str | None = None
    workdir: PurePosixPath = PurePosixPath("/workspace")
    user: str | None = None
    """Whom actions run as; None is the image's own user."""
    env: Mapping[str, str] = field(default_factory=dict)
    network: bool = False
    cpus: float | None = None
    memory_bytes: int | None = None
    pids: int | None = 4096
    disk_bytes: int | None = None
    """Size of the container's own file system, where the storage driver can limit it."""
    shm_bytes: int | None = None
    """Size of /dev/shm; None is the environment's own default."""
    ulimits: Mapping[str, int] = field(default_factory=dict)
    """Of each process, by the names of getrlimit(2), lower case without `rlimit_`: `nofile`, `fsize`, `core`."""
    shell: Shell = "fresh"
    """Whether each action has a shell of its own, or all actions of the agent share one on a terminal."""
    cap_drop: tuple[str, ...] = ("SYS_PTRACE",)
    labels: Mapping[str, str] = field(default_factory=dict)
    output_bytes: int = 64 << 20
    """The largest output cap an action of this environment may ask for."""
    keep: bool = False
    """Leave the container behind, stopped, for a look at it."""
    workspace: Path | None = None
    """local and sandbox: the host directory that is the workspace; None makes one and removes it."""


@dataclass(frozen=True)
class Started:
    """What an environment says of itself once it answers."""

    kind: Kind
    workdir: str
    promises: tuple[Promise, ...]
    container: str | None = None
    image: str | None = None
    image_digest: str | None = None
    user: str | None = None
    lost: tuple[str, ...] = ()
    lowered: tuple[Lowered, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Execution:
    """How an action ended. `output` holds the kept bytes, `counted` all that were written.

    Many bytes are kept in a file without a name (`Spooled`); `bytes(output)` takes either into memory.
    """

    ended: Ended
    output: bytes | Spooled
    counted: int
    duration_s: float
    exit_code: int | None = None
    signal: int | None = None
    stderr: bytes | Spooled | None = None
    stderr_counted: int = 0
    cpu_s: float | None = None
    peak_memory_bytes: int | None = None
    left_running: int | None = None
    shell_lost: str | None = None
    """Why a persistent shell's state (directory, variables, functions) is gone after this action; None if it is not."""


@dataclass(frozen=True)
class Export:
    """An archive of the workspace, uid and gid 0, zstd-compressed tar, paths relative to it."""

    bytes: int
    sha256: str
    entries: int
    skipped: tuple[Skipped, ...] = ()


class EnvironmentFault(Exception):
    """Base of what an environment raises; the message names the thing, the value and the way out."""


class EnvironmentUnavailable(EnvironmentFault):
    """This machine cannot give such an environment, or the image cannot be had."""


class MachineLacks(EnvironmentUnavailable):
    """What an environment needs is not there or does not answer: a daemon, bubblewrap."""


class EnvironmentLost(EnvironmentFault):
    """The environment died or no longer answers; the trial cannot go on."""


class SupervisorLost(EnvironmentLost):
    """The environment runs, but what runs actions in it no longer answers."""


class DiskFull(EnvironmentLost):
    """The host has no space left."""


class Environment(Protocol):
    """A place where actions run, one at a time. Start it once, stop it always; stop never raises.

    Relative paths in it are relative to its working directory.
    """

    spec: EnvironmentSpec

    def check(self) -> None:
        """Say before any money is spent that it cannot work here.

        Raises: EnvironmentUnavailable.
        """

    def start(self) -> Started:
        """Make the image available, start, and wait until it answers.

        Raises: EnvironmentUnavailable, EnvironmentLost, DiskFull.
        """

    def execute(
        self,
        script: str,
        *,
        deadline_s: float,
        output_bytes: int | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        as_root: bool = False,
        separate: bool = False,
    ) -> Execution:
        """Run `script` in a fresh login shell and wait until it exits or is ended.

        A time-out, a full output or a killed process is an outcome, not an exception. `as_root`
        runs as the environment's administrator (the harness's own doing, never an agent's).
        Where the spec asks for a persistent shell, it runs in that one instead, unless `cwd`, `env`,
        `as_root` or `separate` is given: such an action always has a shell of its own.

        Raises: EnvironmentLost, DiskFull.
        """

    def put(self, archive: BinaryIO, directory: str) -> None:
        """Unpack a tar stream into `directory` (made if missing), owned by the task's user.

        Raises: EnvironmentLost, DiskFull.
        """

    def get(self, path: str) -> Iterator[bytes]:
        """A tar stream of `path`, in chunks.

        Raises: EnvironmentLost, FileNotFoundError.
        """

    def get_files(self, paths: Sequence[str]) -> Iterator[bytes]:
        """A tar stream of these paths of the workspace (of a `Listing`); directories without their content.

        Members are named `./PATH`, owned by 0:0, each with its own content, also where names are linked.
        What is gone meanwhile or cannot be read is left out.

        Raises: EnvironmentLost.
        """

    def digests(self, paths: Sequence[str]) -> dict[str, str]:
        """The sha256 in hex of the content of these files of the workspace, worked out where they are.

        What is gone, no plain file, not readable, or not done within `DIGEST_S` (a huge sparse file) is not in it.

        Raises: EnvironmentLost.
        """

    def listing(self) -> Listing:
        """What is in the workspace now: a mark, which a later one is compared with (`Listing.since`).

        Raises: EnvironmentLost.
        """

    def export(self, to: Path) -> Export:
        """Write the workspace to `to` as tar.zst, read as administrator, complete or an error.

        Every process that actions left is ended first. Sockets, devices and named pipes are left out and said;
        sparse files stay sparse. Where the environment is lost and its files are not, they are read without it.

        Raises: EnvironmentLost, DiskFull.
        """

    def stop(self) -> None:
        """End everything that runs in it and remove it. May be called twice."""


@runtime_checkable
class Checkpointing(Protocol):
    """An environment that can be kept as a whole, with what is installed outside of the workspace."""

    def checkpoint(self, name: str) -> str:
        """Keep it as an image under a name; the image's reference.

        Raises: EnvironmentUnavailable, EnvironmentLost, DiskFull.
        """
