"""The part that all environments share: one supervisor behind one channel.

A kind of environment only implements how its supervisor is started, examined and removed.
"""

from __future__ import annotations

import contextlib
import logging
import math
import posixpath
import shlex
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from environments import limits
from environments.archives import archive as tar, exporting, left_out
from environments.archives.chunks import read_chunks
from environments.listing.lister import Lister, whole
from environments.listing.listing import Listing
from environments.promises import Promise
from environments.protocol import (
    DIGEST_S,
    PROTECTED,
    WORKSPACE,
    DiskFull,
    EnvironmentFault,
    EnvironmentLost,
    EnvironmentSpec,
    EnvironmentUnavailable,
    Execution,
    Export,
    Started,
)
from environments.wire import digests
from environments.wire.channel import Channel, Ready

if TYPE_CHECKING:
    from environments.wire.persistent import PersistentShell
    from environments.wire.terminal import Spawn

START_S = 60.0
CHUNK_BYTES = 4 << 20
FREE_BYTES = 128 << 20
"""Free disk space below which a trial ends, before it damages its own record."""

_log = logging.getLogger(__name__)


class Supervised(ABC):
    """An environment whose actions a supervisor runs. See `environments.protocol.Environment`."""

    def __init__(self, spec: EnvironmentSpec) -> None:
        self.spec = spec
        self.workdir = str(spec.workdir or WORKSPACE)
        self._output_bytes = spec.output_bytes
        self._channel: Channel | None = None
        self._ready: Ready | None = None
        self._shell: PersistentShell | None = None
        self._stopped = False
        self._lister = Lister()

    # --- what a kind implements ----------------------------------------------------------------------------

    @abstractmethod
    def check(self) -> None:
        """Check that it can work on this machine.

        Raises: EnvironmentUnavailable.
        """

    @abstractmethod
    def _open(self, channel: Channel) -> Ready:
        """Start the supervisor, connect the channel to it, and wait until it is ready.

        Raises: EnvironmentUnavailable, EnvironmentLost.
        """

    @abstractmethod
    def _started(self, ready: Ready) -> Started: ...

    @abstractmethod
    def trouble(self) -> EnvironmentLost | None:
        """Return the reason for which the supervisor may not answer, not raised, or None if it seems to run."""

    @abstractmethod
    def _rescue(self) -> exporting.Archive:
        """Read the workspace without the supervisor. Whatever still runs is ended or held first.

        Raises: EnvironmentLost if its files are gone too.
        """

    @abstractmethod
    def _remove(self) -> None:
        """End and remove everything. Never raises; may be called after a start that failed halfway."""

    @abstractmethod
    def _terminal(self, command: Sequence[str]) -> Spawn:
        """Open a terminal for a persistent shell; run `command` on it unless the supervisor opens the device (`tty`).

        Raises: EnvironmentUnavailable.
        """

    def _watched(self) -> Sequence[Path]:
        """Return host directories on the file systems that actions fill."""
        return ()

    def _judged(self, execution: Execution, channel: Channel) -> Execution:
        """Return the outcome of an action, corrected by what its supervisor could not see."""
        return execution

    # --- the protocol --------------------------------------------------------------------------------

    def start(self) -> Started:
        if self._channel or self._stopped:
            raise EnvironmentLost("an environment is started once")
        try:
            self.guard()
            self._channel = Channel(self)
            self._ready = self._open(self._channel)
            started = self._started(self._ready)
            return self._with_shell(started) if self.spec.shell == "persistent" else started
        except BaseException as error:
            self.stop()
            if isinstance(error, OSError):
                raise exporting.full(error) or EnvironmentUnavailable(
                    f"the {self.spec.kind} environment: {error}"
                ) from error
            if isinstance(error, EnvironmentLost) and not isinstance(error, DiskFull):
                raise EnvironmentUnavailable(f"the {self.spec.kind} environment did not start: {error}") from error
            raise

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
        self.guard()
        channel, own = self._open_channel(), cwd is not None or env or as_root or separate
        cap = min(output_bytes or self._output_bytes, self._output_bytes)
        if self._shell and not own:
            return self._judged(self._shell.run(_encoded(script), deadline_s=deadline_s, cap=cap), channel)
        execution = channel.run(
            _encoded(script),
            cwd=self._inside(cwd or "."),
            exports="".join(f"export {name}={shlex.quote(value)}\n" for name, value in (env or {}).items()),
            deadline_s=deadline_s,
            cap=cap,
            as_root=as_root,
            separate=separate,
        )
        return self._judged(execution, channel)

    def put(self, archive: BinaryIO, directory: str, *, as_root: bool = False) -> None:
        self._put_through(self._open_channel(), archive, directory, as_root=as_root)

    def _put_through(self, channel: Channel, archive: BinaryIO, directory: str, *, as_root: bool) -> None:
        missing: list[bytes] = []
        self.guard()
        members = self._owned(archive, missing.append, as_root=as_root)
        target = self._protected(directory) if as_root else self._inside(directory)
        try:
            channel.put(_gathered(members), target, missing, as_root=as_root)
        except OSError as error:
            raise exporting.full(error) or EnvironmentFault(f"unpacking into {directory} failed: {error}") from error

    def _owned(self, archive: BinaryIO, implied: Callable[[bytes], None], *, as_root: bool) -> Iterator[bytes]:
        """Yield a tar stream whose members stay inside its directory and belong to the task's user or to root."""
        judge = tar.inside_only(implied)
        judge = tar.plain_only(judge) if as_root else judge
        return tar.filtered(read_chunks(archive), judge, self._owner(as_root=as_root))

    def _owner(self, *, as_root: bool) -> tuple[int, int]:
        """Return uid and gid of files that are put."""
        if self._ready is None:
            raise EnvironmentLost("the environment was not started")
        return (0, 0) if as_root else (self._ready.uid, self._ready.gid)

    def _protected(self, directory: str) -> str:
        """Return the absolute name of a directory for files that belong to root.

        Raises: EnvironmentFault if it is not below /feedback.
        """
        path = self._inside(directory)
        if not PurePosixPath(path).is_relative_to(PROTECTED):
            raise EnvironmentFault(f"files are put as root only below {PROTECTED}, and {path} is not; choose another")
        return path

    def get(self, path: str) -> Iterator[bytes]:
        chunks = self._open_channel().get(self._inside(path), whole=False)
        status, complaints = yield from chunks
        if status:
            raise EnvironmentFault(f"reading {path} failed: {complaints.strip().splitlines()[-1:]}")

    def get_files(self, paths: Sequence[str]) -> Iterator[bytes]:
        if paths:
            end = yield from self._open_channel().read("f", paths)
            _, rest = left_out.complaints(end.complaints)
            unexpected = [line for line in rest if not left_out.is_tolerable(line)]
            if end.status > 2 or unexpected:
                raise EnvironmentFault(f"files of the workspace cannot be read: {'; '.join(unexpected[:3])}")

    def digests(self, paths: Sequence[str], within_s: float = DIGEST_S) -> dict[str, str]:
        if not paths:
            return {}
        seconds = max(1, math.ceil(within_s))
        stream = self._open_channel().read("h", paths, seconds, within_s=seconds + START_S)
        return digests.of_lines(whole(stream)[0])

    def listing(self) -> Listing:
        return self._lister.listing(self._open_channel())

    def export(self, to: Path) -> Export:
        return self._written(self._open_channel().get(self.workdir, whole=True), to)

    def _written(self, archive: exporting.Archive, to: Path) -> Export:
        """Write an archive of the workspace; without a supervisor if that is lost meanwhile."""
        try:
            return exporting.write(archive, to)
        except (DiskFull, exporting.TooLarge):
            raise
        except EnvironmentLost as lost:
            if self._ready is None or self._stopped:
                raise
            try:
                return exporting.write(self._rescue(), to)
            except EnvironmentLost as gone:
                same = str(gone) == str(lost)
                raise EnvironmentLost(f"{lost}" if same else f"{lost}; its files cannot be had: {gone}") from None

    def stop(self) -> None:
        if self._stopped:
            return
        self._stopped = True
        try:
            if self._channel:
                self._channel.close()
            if self._shell:
                self._shell.close()
        finally:
            try:
                self._remove()
            except Exception:
                _log.warning("removing the %s environment failed", self.spec.kind, exc_info=True)

    # --- inside --------------------------------------------------------------------------------------

    def _settings(self) -> dict[str, str]:
        ulimits, _ = limits.for_bash(self.spec.ulimits)
        return {
            "workdir": self.workdir,
            "user": "",
            "home": "",
            "drop": "",
            "memory_kb": "0",
            "pids": "0",
            "tty": "",
            "ulimits": ulimits,
            "cgroup": "/sys/fs/cgroup",
            "limited": "",
        }

    def _resources(self, ready: Ready) -> tuple[list[Promise], list[str]]:
        """Return the promises about ulimits and peak memory, which are the same in every kind, and what is lost."""
        _, lost = limits.for_bash(self.spec.ulimits)
        promises: list[Promise] = []
        if self.spec.ulimits and not lost and not any(line.startswith("ulimit ") for line in ready.lost):
            promises.append(Promise.ULIMITS)
        if ready.peak:
            promises.append(Promise.PEAK_MEMORY)
        return promises, [*lost, *ready.lost]

    def _with_shell(self, started: Started) -> Started:
        from environments.wire.persistent import PersistentShell, with_persistent_shell

        self._shell = PersistentShell(self._open_channel(), self._run_directory(), self._terminal)
        self._shell.open()
        return with_persistent_shell(started)

    def _run_directory(self) -> str:
        """Return the supervisor's own directory, as the supervisor sees it."""
        return "/run/retrace"

    def _inside(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self.workdir, path))

    def _open_channel(self) -> Channel:
        if self._channel is None:
            raise EnvironmentLost("the environment was not started")
        return self._channel

    def guard(self) -> None:
        """Check the space on the harness's own file systems.

        Raises: DiskFull.
        """
        for directory in self._watched():
            with contextlib.suppress(OSError):
                free = shutil.disk_usage(directory).free
                if free < FREE_BYTES:
                    shortage = f"only {free >> 20} MiB left on its file system, {FREE_BYTES >> 20} are needed"
                    raise DiskFull(f"{directory}: {shortage}")


def command_environment(spec: EnvironmentSpec, home: str, path: str) -> dict[str, str]:
    """Return the variables that actions see without an image: none of the harness's own."""
    return {**spec.env_defaults, "HOME": home, "PATH": path, "LANG": "C.UTF-8", **spec.env}


def _gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Join pieces into chunks that are large enough for one process each on the other side."""
    ready: list[bytes] = []
    size = 0
    for piece in pieces:
        ready.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            yield b"".join(ready)
            ready, size = [], 0
    if ready:
        yield b"".join(ready)


def _encoded(script: str) -> bytes:
    try:
        return script.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # other lone surrogates, which a model's JSON may hold
        return script.encode("utf-8", "surrogatepass")
