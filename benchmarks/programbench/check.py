"""The clean-room compile check: building the submission in a fresh container of the instance's image.

The container has no network and comes from our own environments. The check also finds the hash of the image's original
executable, which the hand-over needs. Its result is a forecast: the official evaluator's result counts.
"""

from __future__ import annotations

import gzip
import re
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self, cast

from benchmarks.programbench.instances import Instance
from environments.choose import make
from environments.docker import daemon
from environments.protocol import (
    Environment,
    EnvironmentFault,
    EnvironmentLost,
    EnvironmentSpec,
    EnvironmentUnavailable,
    Execution,
)
from trajectories.record.words import Ended
from trajectories.writing import excerpts

if TYPE_CHECKING:
    from docker import APIClient

COMPILE_S = 900.0
"""Time limit of the official evaluator, in seconds."""
CPUS = 10
"""CPUs that the official evaluator gives a container, if the host has as many."""
_STEP_S = 300.0
"""Time limit of a step of the check itself, in seconds."""
_OUTPUT_CHARACTERS = 1000
"""Longest output in a reason."""

# As in the evaluator: an existing `.git` stays; without one, everything is committed.
_SEED = """if [ ! -d .git ]; then
  git -c init.defaultBranch=gold init -q && git -c user.email=gold@local -c user.name=gold add -A &&
  git -c user.email=gold@local -c user.name=gold -c commit.gpgsign=false commit -q --allow-empty -m gold
fi"""
# The evaluator uses `docker exec IMAGE bash -lc`, so /etc/profile replaces the image's own PATH.
_COMPILE = "exec bash -lc 'chmod +x ./compile.sh && ./compile.sh'"


@dataclass(frozen=True)
class Image:
    """The clean-room image on this daemon."""

    reference: str
    id: str
    digest: str
    """Digest in the registry, or the image's own id if it has none."""
    published: bool
    """True if it has a digest of the repository in its name; a local image under that name has none."""
    daemon_cpus: int


@dataclass(frozen=True)
class Check:
    """The result of compiling. `builds` is None if the check could not find out."""

    builds: bool | None
    reason: str = ""
    """The reason if it does not build, or if that is unknown."""
    hangs: bool = False
    """True if the deadline ended it."""
    utf8: bool = True
    """True if its output is UTF-8: the official evaluator crashes otherwise."""
    ended: Ended | None = None
    """End of compile.sh; None if it was not started."""
    written_bytes: int = 0
    """Size of what the container held in the end, besides its image."""
    seconds: float = 0.0


class CleanRoom:
    """The container of the check, used as a context manager."""

    def __init__(self, instance: Instance, cpus: int = CPUS) -> None:
        spec = EnvironmentSpec(
            kind="docker",
            image=instance.image,
            user="0",  # as the evaluator compiles
            cpus=float(cpus),
            pids=None,
            cap_drop=(),
        )
        self._environment: Environment = make(spec)
        self._reference = instance.image
        self.image: Image
        self.original: str | None = None
        """sha256 of the image's own `executable`, or None if it has none."""

    def __enter__(self) -> Self:
        """Start a container, after pulling the image if necessary, and hash the original before any other step.

        Raises: EnvironmentFault.
        """
        started = self._environment.start()
        try:
            self._workdir = started.workdir
            self._container = started.container
            self.image = look_up(self._reference)
            output = self._run("test ! -f executable || sha256sum < executable", "hashing the original executable")
            digest = re.match(r"([0-9a-f]{64})\b", output)
            self.original = digest[1] if digest else None
        except BaseException:
            self._environment.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._environment.stop()

    def compile(self, submission: Path, deadline_s: float, log: Path) -> Check:
        """Replace the workspace with a submission (tar.gz) and build it; the output goes to `log`.

        Raises: OSError (the log or the submission).
        """
        began = time.monotonic()
        log.write_bytes(b"")
        try:
            self._run("rm -rf ./* ./.[!.]*", "wiping the workspace")
            with gzip.open(submission) as plain:
                self._environment.put(cast(BinaryIO, plain), self._workdir)
            self._run(f"rm -f ./executable\n{_SEED}", "preparing the submission")
            if self._run("test -e compile.sh || echo missing", "looking for compile.sh"):
                return Check(False, "there is no compile.sh", seconds=time.monotonic() - began)
            execution = self._execute(_COMPILE, deadline_s)
            streams = [bytes(execution.output), bytes(execution.stderr or b"")]
            log.write_bytes(b"".join(streams))
            reason = _failure(execution, deadline_s, streams)
            if not reason and not self._run("sha256sum <executable || :", "looking for the executable").strip():
                reason = "compile.sh made no ./executable"
            return Check(
                builds=None if execution.ended in ("output_cap", "supervisor_lost", "environment_lost") else not reason,
                reason=reason,
                hangs=execution.ended == "deadline",
                utf8=all(map(_is_utf8, streams)),
                ended=execution.ended,
                written_bytes=self._written_bytes(),
                seconds=time.monotonic() - began,
            )
        except (EnvironmentFault, EOFError) as error:
            lost = isinstance(error, (EnvironmentLost, EnvironmentUnavailable))
            return Check(None if lost else False, str(error), seconds=time.monotonic() - began)

    def _written_bytes(self) -> int:
        """Return the size of the container's own files, 0 if the daemon does not know it."""
        api = daemon.connect()
        try:
            with daemon.reported("asking for the size of a container"):
                listed = api.containers(all=True, size=True, filters={"id": self._container})
            return max((int(container.get("SizeRw") or 0) for container in listed), default=0)
        except EnvironmentUnavailable:
            return 0
        finally:
            api.close()

    def _execute(self, script: str, deadline_s: float) -> Execution:
        return self._environment.execute(
            script, deadline_s=deadline_s, cwd=self._workdir, env={"HOME": "/root"}, as_root=True, separate=True
        )

    def _run(self, script: str, step: str) -> str:
        """Run a step of the check itself, and return its output.

        Raises: EnvironmentFault if it fails.
        """
        execution = self._execute(script, _STEP_S)
        if execution.ended != "exited" or execution.exit_code != 0:
            lines = bytes(execution.stderr or b"").decode("utf-8", "replace").strip().splitlines() or [execution.ended]
            raise EnvironmentFault(f"{step} failed: {excerpts.beginning(lines[-1], _OUTPUT_CHARACTERS)}")
        return bytes(execution.output).decode("utf-8", "replace")


def look_up(reference: str) -> Image:
    """Return a local image, with facts about its daemon.

    Raises: EnvironmentUnavailable.
    """
    api = daemon.connect()
    try:
        with daemon.reported(f"looking up image {reference}"):
            facts = api.inspect_image(reference)  # type: ignore[no-untyped-call]
        repository = reference.rpartition(":")[0]
        digests = dict(name.removeprefix("docker.io/").split("@") for name in facts.get("RepoDigests") or [])
        cpus = int(daemon.facts(api).get("NCPU") or 1)
        digest = digests.get(repository)
        published = digest is not None and (not _names_local_images(api) or _in_registry(api, reference, digest))
        return Image(reference, facts["Id"], digest or facts["Id"], published, cpus)
    finally:
        api.close()


def _names_local_images(api: APIClient) -> bool:
    """Return True if the daemon keeps images in containerd, where a locally built image, too, has a digest.

    https://docs.docker.com/engine/storage/containerd/
    """
    return ["driver-type", "io.containerd.snapshotter.v1"] in (daemon.facts(api).get("DriverStatus") or [])


def _in_registry(api: APIClient, reference: str, digest: str) -> bool:
    """Return True if the registry in the name has this very image; False also if it does not answer."""
    try:
        with daemon.reported(f"asking the registry for {reference}"):
            facts = api.inspect_distribution(reference)  # type: ignore[no-untyped-call]
    except EnvironmentUnavailable:
        return False
    return bool(facts["Descriptor"]["digest"] == digest)


def _failure(execution: Execution, deadline_s: float, streams: list[bytes]) -> str:
    """Return the reason if compiling counts as failed, otherwise ''."""
    if execution.ended == "deadline":
        ending = f"had not finished after {deadline_s:g} s"
    elif execution.ended not in ("exited", "oom"):
        ending = f"was ended: {execution.ended}"
    elif execution.exit_code != 0:
        ending = f"exit {execution.exit_code}" if execution.signal is None else f"signal {execution.signal}"
    else:
        return ""
    output = excerpts.middle(b"".join(streams).decode("utf-8", "replace").strip(), _OUTPUT_CHARACTERS)
    return f"compile.sh failed: {ending}" + (f": {output}" if output else "")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
