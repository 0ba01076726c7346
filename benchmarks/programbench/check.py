"""The clean-room compile check: does the submission build where nothing but the image is?

One fresh container of the instance's image through our own environments, network off. It also tells the hash of the
image's original executable, which the hand-over needs. What it finds is a forecast: the official evaluator's word
counts.
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
from trajectories.record.text import cut_middle

if TYPE_CHECKING:
    from docker import APIClient

COMPILE_S = 900.0
"""The official evaluator's own limit."""
CPUS = 10
"""What the official evaluator gives a container, where the host has as many."""
_STEP_S = 300.0
_SAID = 1000

# As the evaluator does it: a shipped `.git` stays, without one there is a commit.
_SEED = """if [ ! -d .git ]; then
  git -c init.defaultBranch=gold init -q && git -c user.email=gold@local -c user.name=gold add -A &&
  git -c user.email=gold@local -c user.name=gold -c commit.gpgsign=false commit -q --allow-empty -m gold
fi"""
# `docker exec IMAGE bash -lc` is what the evaluator uses: /etc/profile sets PATH anew, the image's own is lost.
_COMPILE = "exec bash -lc 'chmod +x ./compile.sh && ./compile.sh'"


@dataclass(frozen=True)
class Image:
    """The clean-room image as it is on this daemon."""

    reference: str
    id: str
    digest: str
    """The registry's, else the image's own id."""
    published: bool
    """Whether it has a digest of the repository that its name says: a local image under that name has none."""
    daemon_cpus: int


@dataclass(frozen=True)
class Check:
    """What became of compiling: `builds` is None where that could not be found out."""

    builds: bool | None
    why: str = ""
    """Why not, or why it is not known."""
    hangs: bool = False
    """Whether the deadline ended it."""
    utf8: bool = True
    """Whether what it printed is UTF-8: the official evaluator dies of anything else."""
    seconds: float = 0.0


class CleanRoom:
    """The container of the check, to be used as a context."""

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
        """sha256 of the image's own `executable`; None if it has none."""

    def __enter__(self) -> Self:
        """Pull the image if it is not here, start, and hash the original before anything else happens.

        Raises: EnvironmentFault.
        """
        started = self._environment.start()
        try:
            self._workdir = started.workdir
            self.image = look_up(self._reference)
            said = self._run("test ! -f executable || sha256sum < executable", "hashing the original executable")
            found = re.match(r"([0-9a-f]{64})\b", said)
            self.original = found[1] if found else None
        except BaseException:
            self._environment.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._environment.stop()

    def compile(self, submission: Path, deadline_s: float, log: Path) -> Check:
        """Put a submission (tar.gz) in place of the workspace and build it; what it printed goes to `log`.

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
            done = self._execute(_COMPILE, deadline_s)
            streams = [bytes(done.output), bytes(done.stderr or b"")]
            log.write_bytes(b"".join(streams))
            why = _failure(done, deadline_s, streams)
            if not why and not self._run("sha256sum <executable || :", "looking for the executable").strip():
                why = "compile.sh made no ./executable"
            return Check(
                builds=None if done.ended in ("output_cap", "supervisor_lost", "environment_lost") else not why,
                why=why,
                hangs=done.ended == "deadline",
                utf8=all(map(_is_utf8, streams)),
                seconds=time.monotonic() - began,
            )
        except (EnvironmentFault, EOFError) as error:
            lost = isinstance(error, (EnvironmentLost, EnvironmentUnavailable))
            return Check(None if lost else False, str(error), seconds=time.monotonic() - began)

    def _execute(self, script: str, deadline_s: float) -> Execution:
        return self._environment.execute(
            script, deadline_s=deadline_s, cwd=self._workdir, env={"HOME": "/root"}, as_root=True, separate=True
        )

    def _run(self, script: str, what: str) -> str:
        """What a step of our own printed.

        Raises: EnvironmentFault if it fails.
        """
        done = self._execute(script, _STEP_S)
        if done.ended != "exited" or done.exit_code != 0:
            said = bytes(done.stderr or b"").decode("utf-8", "replace").strip().splitlines() or [done.ended]
            raise EnvironmentFault(f"{what} failed: {said[-1][:_SAID]}")
        return bytes(done.output).decode("utf-8", "replace")


def look_up(reference: str) -> Image:
    """An image that is there, and the daemon it is on.

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
    """Whether the daemon keeps its images in containerd: there a locally built one has a digest under its name too.

    https://docs.docker.com/engine/storage/containerd/
    """
    return ["driver-type", "io.containerd.snapshotter.v1"] in (daemon.facts(api).get("DriverStatus") or [])


def _in_registry(api: APIClient, reference: str, digest: str) -> bool:
    """Whether the registry that the name says has this very image; False also where it does not answer."""
    try:
        with daemon.reported(f"asking the registry for {reference}"):
            facts = api.inspect_distribution(reference)  # type: ignore[no-untyped-call]
    except EnvironmentUnavailable:
        return False
    return bool(facts["Descriptor"]["digest"] == digest)


def _failure(done: Execution, deadline_s: float, streams: list[bytes]) -> str:
    """Why compiling counts as failed, or ''."""
    if done.ended == "deadline":
        how = f"had not finished after {deadline_s:g} s"
    elif done.ended not in ("exited", "oom"):
        how = f"was ended: {done.ended}"
    elif done.exit_code != 0:
        how = f"exit {done.exit_code}" if done.signal is None else f"signal {done.signal}"
    else:
        return ""
    said = cut_middle(b"".join(streams).decode("utf-8", "replace").strip(), _SAID)
    return f"compile.sh failed: {how}" + (f": {said}" if said else "")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
