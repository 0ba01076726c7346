"""The contract between a trial and the place where its commands run: types and a protocol, no policy.

An environment knows neither agents nor benchmarks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol, runtime_checkable

from environments.build import Build as Build
from environments.kinds import KINDS as KINDS, SHELLS as SHELLS, Kind as Kind, Shell as Shell
from environments.listing.listing import Listing as Listing
from environments.promises import Promise as Promise
from environments.services import Member, Service
from trajectories.blobs.spooled import Spooled as Spooled
from trajectories.record.events import Ended, Lowered, Skipped

DIGEST_S = 300.0
"""Seconds that `digests` takes at most if its caller does not say otherwise."""
WORKSPACE = PurePosixPath("/workspace")
"""Directory of the workspace unless something else is named."""
PROTECTED = PurePosixPath("/feedback")
"""Directory of the files that the harness shows to actions and protects from them (`Environment.put` as root)."""


@dataclass(frozen=True)
class EnvironmentSpec:
    """The environment that a trial requests. Limits above the host's are lowered to them, and that is reported."""

    kind: Kind
    image: str | None = None
    """Reference of the image to pull, or the name under which it is built; docker only."""
    build: Build | None = None
    platform: str | None = None
    workdir: PurePosixPath | None = WORKSPACE
    """Directory of the workspace; None is the image's own WORKDIR, or `WORKSPACE` if that is not set or is the root."""
    user: str | None = None
    """User that actions run as; None is the image's own user."""
    env: Mapping[str, str] = field(default_factory=dict)
    env_defaults: Mapping[str, str] = field(default_factory=dict)
    """Variables that are set unless `env`, the image or the environment itself sets them."""
    network: bool = False
    cpus: float | None = None
    memory_bytes: int | None = None
    pids: int | None = 4096
    disk_bytes: int | None = None
    """Size of the container's own file system, if the storage driver can limit it."""
    shm_bytes: int | None = None
    """Size of /dev/shm; None is the environment's own default."""
    ulimits: Mapping[str, int] = field(default_factory=dict)
    """Limits of each process, by names of getrlimit(2) in lower case without `rlimit_`: `nofile`, `fsize`, `core`."""
    shell: Shell = "fresh"
    """`fresh`: each action has a shell of its own. `persistent`: the agent's actions share one on a terminal."""
    cap_drop: tuple[str, ...] = ("SYS_PTRACE",)
    labels: Mapping[str, str] = field(default_factory=dict)
    output_bytes: int = 64 << 20
    """The largest output cap that an action of this environment may request."""
    services: tuple[Service, ...] = ()
    """Containers beside the one in which actions run, on a private network; docker only."""
    member: Member = field(default_factory=Member)
    """Place of the container in which actions run among the services; without services it has no meaning."""
    keep: bool = False
    """Leave the container behind, stopped, for inspection."""
    workspace: Path | None = None
    """Host directory that is the workspace; None makes one and removes it afterwards. local and sandbox only."""


@dataclass(frozen=True)
class Started:
    """Facts that an environment reports about itself once it has started."""

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
    """The outcome of an action."""

    ended: Ended
    output: bytes | Spooled
    """The bytes that were kept. Many bytes are kept in a file (`Spooled`); `bytes(output)` loads either into memory."""
    counted: int
    """The number of bytes that were written, kept or not."""
    duration_s: float
    exit_code: int | None = None
    signal: int | None = None
    stderr: bytes | Spooled | None = None
    stderr_counted: int = 0
    cpu_s: float | None = None
    peak_memory_bytes: int | None = None
    left_running: int | None = None
    left_pids: tuple[int, ...] = ()
    """Process ids, as an action sees them, of up to 5 processes that it left running; empty if they are not known."""
    services_lost: tuple[str, ...] = ()
    """A line for each service that is noticed after this action to have failed."""
    shell_lost: str | None = None
    """Reason if the state of the persistent shell (directory, variables, functions) is lost after this action."""


@dataclass(frozen=True)
class Export:
    """An archive of the workspace: zstd-compressed tar, uid and gid 0, paths relative to the workspace."""

    bytes: int
    sha256: str
    entries: int
    skipped: tuple[Skipped, ...] = ()


class EnvironmentFault(Exception):
    """Base class of what environments raise. The message names the thing, the value and the way out."""


class EnvironmentUnavailable(EnvironmentFault):
    """This machine cannot provide such an environment, or the image is not available."""


class MachineLacks(EnvironmentUnavailable):
    """A program that an environment needs is missing or does not answer: a daemon, bubblewrap."""


class ImageUnusable(EnvironmentUnavailable):
    """The image cannot be built or pulled, or nothing can run in it. The same order would fail again."""


class EnvironmentPaused(EnvironmentFault):
    """The environment is paused, so nothing can run in it. It is whole, and usable after `unpause`."""


class EnvironmentLost(EnvironmentFault):
    """The environment died or no longer answers; the trial cannot continue."""


class SupervisorLost(EnvironmentLost):
    """The environment runs, but its supervisor no longer answers."""


class OutOfMemory(EnvironmentLost):
    """The environment ended because what ran in it took all of the memory that its spec allows.

    Only what ran in it can cause this. A shortage of the host ends an environment with a plain `EnvironmentLost`.
    """


class DiskFull(EnvironmentLost):
    """The host has no space left."""


class Environment(Protocol):
    """A place where actions run, one at a time. Start it once and always stop it; stop never raises.

    Relative paths are relative to its working directory.
    """

    spec: EnvironmentSpec

    def check(self) -> None:
        """Check, before any money is spent, that it can work on this machine.

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

        A timeout, a full output or a killed process is an outcome, not an exception. With `as_root` the script runs
        as the environment's administrator, for actions of the harness itself and never for those of an agent. With
        `separate`, standard error is kept apart from standard output.

        If the spec requests a persistent shell, the script runs in that one, unless `cwd`, `env`, `as_root` or
        `separate` is given: such an action always has a shell of its own.

        Raises: EnvironmentLost, DiskFull.
        """

    def put(self, archive: BinaryIO, directory: str, *, as_root: bool = False) -> None:
        """Unpack a tar stream into `directory` (made if missing), owned by the task's user.

        With `as_root` its files belong to root and keep the archive's modes, so that actions can read but not change
        them (`Promise.PROTECTED_FILES`). It may then hold only plain files and directories, and `directory` has to be
        `PROTECTED` or below it. The local environment rejects `as_root`.

        Raises: EnvironmentLost, DiskFull, BadArchive.
        """

    def get(self, path: str) -> Iterator[bytes]:
        """Yield a tar stream of `path`, in chunks.

        Raises: EnvironmentLost, FileNotFoundError.
        """

    def get_files(self, paths: Sequence[str]) -> Iterator[bytes]:
        """Yield a tar stream of these paths of the workspace (of a `Listing`); directories without their content.

        Members are named `./PATH` and owned by 0:0. Each has its own content, hard links too. Paths that no longer
        exist or cannot be read are left out.

        Raises: EnvironmentLost.
        """

    def digests(self, paths: Sequence[str], within_s: float = DIGEST_S) -> dict[str, str]:
        """Return the sha256 in hex of the content of these files of the workspace, computed inside the environment.

        It lacks paths that no longer exist, are not plain files or cannot be read, and those that were not finished
        in time (huge sparse files).

        Raises: EnvironmentLost.
        """

    def listing(self) -> Listing:
        """List the workspace as it is now. A later listing can be compared with it (`Listing.since`).

        Raises: EnvironmentLost.
        """

    def export(self, to: Path) -> Export:
        """Write the complete workspace to `to` as tar.zst, read as administrator.

        Every process that actions left running is ended first. Sockets, devices and named pipes are left out and
        reported; sparse files stay sparse. If the environment is lost but its files still exist, they are read
        without it.

        Raises: EnvironmentLost, DiskFull.
        """

    def stop(self) -> None:
        """End everything that runs in the environment and remove it. May be called twice."""


@runtime_checkable
class Checkpointing(Protocol):
    """An environment that can be kept as a whole, with everything installed outside of the workspace."""

    def checkpoint(self, name: str) -> str:
        """Keep the environment as an image of this name; return the image's reference.

        Raises: EnvironmentUnavailable, EnvironmentLost, DiskFull.
        """


@runtime_checkable
class Pausable(Protocol):
    """An environment that can be held still: no process of an action runs between `pause` and `unpause`.

    While it is paused, `export` ends no process, `put` and `checkpoint` work, and `stop` ends it at once. Everything
    else raises `EnvironmentPaused`. Processes that actions have stopped themselves stay stopped.
    """

    def pause(self) -> None:
        """Hold every process. Pausing a paused environment does nothing.

        Raises: EnvironmentLost, EnvironmentUnavailable if this machine cannot do that.
        """

    def unpause(self) -> None:
        """Let the processes go on that `pause` has held. Without a pause this does nothing.

        Raises: EnvironmentLost, also if it died while it was paused.
        """
