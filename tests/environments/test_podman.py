"""The docker environment over Podman's Docker-compatible socket, to find differences from Docker."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import pytest

from environments.conformance import all_checks, run_checks
from environments.docker import daemon, images
from environments.host import survey
from environments.promises import SHARED_USER
from environments.protocol import Environment, EnvironmentLost, EnvironmentUnavailable, Promise, Started
from tests.conftest import LEFT_OUT

from .conftest import _IMAGE, Place, environment

pytestmark = pytest.mark.podman
LIFE_S = 300
START_S = 60


def left_out(reason: str) -> NoReturn:
    pytest.skip(f"{LEFT_OUT}podman: {reason}")


class Service:
    """`podman system service` with its own storage; it ends by itself after a time."""

    def __init__(self, place: Path, runtime: str, driver: str, user: pwd.struct_passwd | None = None) -> None:
        """`user` runs it rootless."""
        self.host = f"unix://{place}/sock"
        self.command = []
        self.pause = place / "runtime/libpod/tmp/pause.pid"
        """Number of the process that keeps a user's namespace."""
        if user is not None:
            (place / "runtime").mkdir(exist_ok=True)
            for path in (place, place / "runtime"):
                os.chown(path, user.pw_uid, user.pw_gid)
            self.command = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups", "env"]
            self.command += [f"HOME={user.pw_dir}", f"XDG_RUNTIME_DIR={place}/runtime", f"USER={user.pw_name}"]
        self.command += ["podman", "--root", f"{place}/root", "--runroot", f"{place}/run", "--storage-driver", driver]
        self.command += ["--cgroup-manager=cgroupfs", "--runtime", runtime]
        with (place / "log").open("ab") as log:
            self.process = subprocess.Popen(
                ["timeout", "--foreground", str(LIFE_S), *self.command, "system", "service", "--time=0", self.host],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=place,  # conmon leaves a file there after an oom kill
                start_new_session=True,
            )
        until = time.monotonic() + START_S
        while not (place / "sock").exists():
            if time.monotonic() > until or self.process.poll() is not None:
                self.end()
                left_out(f"its service does not start ({(place / 'log').read_text()[-300:]})")
            time.sleep(0.05)

    def podman(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                [*self.command, *words], capture_output=True, timeout=60, check=False, cwd=Path(self.host[7:]).parent
            )
        except subprocess.TimeoutExpired as error:
            left_out(f"it does not answer ({error})")

    def end(self) -> None:
        with suppress(ProcessLookupError):  # after SIGTERM it would wait for the readers of its events
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(120)
        with suppress(OSError, ValueError):
            os.kill(int(self.pause.read_text()), signal.SIGKILL)


def image(place: Path) -> Path:
    """The test image as a file, exported from the Docker daemon that built it."""
    tag = f"{images.BUILT}:{images.content_hash(_IMAGE, None)[:24]}"
    try:
        api = daemon.connect()
        made = environment("docker")
        if images.look_up(api, tag) is None:
            made.start()
            made.stop()
    except EnvironmentUnavailable as error:
        left_out(f"there is no test image for it ({error})")
    saved = subprocess.run(
        ["docker", "save", "-o", str(place / "image.tar"), tag], capture_output=True, timeout=120, check=False
    )
    if saved.returncode:
        left_out(f"there is no test image for it ({saved.stderr.decode()[-300:].strip()})")
    (place / "image.tar").chmod(0o644)
    return place / "image.tar"


@contextmanager
def storage() -> Iterator[Path]:
    """Make a directory for Podman's storage, and remove it when the last of its processes no longer mounts there.

    What cleans up after a container mounts its storage again, even if the service has ended.
    """
    place = Path(tempfile.mkdtemp(prefix="retrace-test-podman-"))
    try:
        yield place
    finally:
        until = time.monotonic() + START_S
        while place.exists():
            for mount in [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()][::-1]:
                if mount.startswith(f"{place}/"):
                    subprocess.run(["umount", "-l", mount], capture_output=True, check=False)
            try:
                shutil.rmtree(place)
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with storage() as place:
        running = None
        try:
            running = working_service(place)
            yield running
        finally:
            if running is not None:
                running.end()


def working_service(place: Path, user: pwd.struct_passwd | None = None) -> Service:
    """Return a service that runs the test image, with the first runtime that can; leave the tests out if none can."""
    tar = image(place)
    reason = "neither crun nor runc is installed"
    for runtime in filter(shutil.which, ("crun", "runc")):  # crun refuses a hybrid of cgroups v1 and v2
        service = Service(place, runtime, "overlay", user)
        loaded = service.podman("load", "-i", str(tar))
        tag = loaded.stdout.decode().split()[-1] if loaded.stdout else "none"
        tried = service.podman(
            *("run", "--rm", "--network=none", "--ulimit=nofile=1024", "--ulimit=nproc=1024"),
            *("--entrypoint=true", tag),
        )
        if tried.returncode == 0:
            service.image = tag  # type: ignore[attr-defined]
            return service
        reason = f"it runs no container here ({tried.stderr.decode()[-300:].strip()})"
        service.end()
        (place / "sock").unlink(missing_ok=True)
    left_out(reason)


@pytest.fixture
def place(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("DOCKER_HOST", service.host)
    made = environment("docker", build=None, image=service.image, memory_bytes=64 << 20)  # type: ignore[attr-defined]
    try:
        yield Place(made, made.start(), "podman")
    finally:
        made.stop()


def rootless_user() -> pwd.struct_passwd:
    """Return a user who may have containers without being root."""
    if os.geteuid() or not shutil.which("newuidmap"):
        left_out("a rootless service needs newuidmap (uidmap), and a test that runs as root")
    for line in Path("/etc/subuid").read_text().splitlines():
        with suppress(KeyError):
            user = pwd.getpwnam(line.split(":")[0])
            if Path(user.pw_dir).is_dir():
                return user
    left_out("no user with a home has an entry in /etc/subuid")


@pytest.fixture(scope="module")
def rootless() -> Iterator[Service]:
    with storage() as place:
        running = working_service(place, rootless_user())
        yield running
        running.end()


LIMITS = {Promise.MEMORY_LIMIT, Promise.PIDS_LIMIT, Promise.OOM_REPORTED, Promise.PEAK_MEMORY}


def kept_limits(service: Service, monkeypatch: pytest.MonkeyPatch) -> tuple[set[Promise], tuple[str, ...]]:
    """Try the limits that are promised; return them, and the lines about what is lost."""
    monkeypatch.setenv("DOCKER_HOST", service.host)

    def make(**changes: object) -> Environment:
        return environment("docker", build=None, image=service.image, **changes)  # type: ignore[attr-defined]

    report = run_checks(make, [check for check in all_checks() if check.promise in LIMITS], name="podman")
    assert report.ok, report.table()
    made = make(memory_bytes=64 << 20, pids=64)
    try:
        started = made.start()
        eaten = made.execute("perl -e '$x = q(a) x 300_000_000'", deadline_s=60)
        forked = made.execute("for i in {1..200}; do sleep 2 & done; jobs -r | wc -l", deadline_s=60)
    finally:
        made.stop()
    promised = LIMITS & set(started.promises)
    assert (eaten.exit_code == 0) == (Promise.MEMORY_LIMIT not in promised)
    assert (eaten.ended == "oom") == (Promise.OOM_REPORTED in promised)
    assert (forked.output == b"200\n") == (Promise.PIDS_LIMIT not in promised)
    return promised, tuple(line for line in started.lost if line != SHARED_USER)


def test_the_limits_that_are_promised_hold(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept_limits(service, monkeypatch) == (LIMITS, ())


def test_limits_that_a_rootless_service_cannot_set_are_not_promised(
    rootless: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    promised, lost = kept_limits(rootless, monkeypatch)
    for promise in LIMITS - promised:
        assert any(promise.value in line for line in lost), (promise, lost)


def test_a_daemon_works_only_after_a_container_has_started_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """crun starts none on a hybrid of cgroups v1 and v2, although the service answers."""
    runtime = next(filter(shutil.which, ("crun", "runc")), None) or left_out("neither crun nor runc is installed")
    with storage() as place:
        tar = image(place)
        running = Service(place, runtime, "overlay")
        try:
            monkeypatch.setenv("DOCKER_HOST", running.host)
            empty = survey().docker
            assert (empty.trouble, empty.version is None) == (None, False)
            assert "there is no image here" in (empty.start_trouble or "")
            tag = running.podman("load", "-i", str(tar)).stdout.decode().split()[-1]
            tried = running.podman("run", "--rm", "--network=none", "--ulimit=nofile=1024", "--entrypoint=true", tag)
            trouble = survey().docker.start_trouble
            assert (trouble is None) == (tried.returncode == 0), (trouble, tried.stderr)
            assert not running.podman("ps", "-aq").stdout
        finally:
            running.end()


def containers(service: Service) -> list[str]:
    return service.podman("ps", "-aq").stdout.decode().split()


def test_start_and_execute(place: Place) -> None:
    started: Started = place.started
    assert {Promise.UNFORGEABLE, Promise.MEMORY_LIMIT, Promise.PIDS_LIMIT, Promise.RESCUE} <= set(started.promises)
    assert place.text('id -un; pwd; echo "$GREETING"; tail -n +3 /proc/net/dev | cut -d: -f1') == (
        "agent\n/workspace\nhello  from the image\n    lo\n"
    )
    assert place.run("exit 7").exit_code == 7
    assert place.run("echo to stderr >&2", separate=True).stderr == b"to stderr\n"
    assert place.run("perl -e '$x = q(a) x 300_000_000'").ended == "oom"
    assert place.run("head -c 3M /dev/zero").counted == 3 << 20


def test_a_deadline_ends_everything(place: Place) -> None:
    marker = f"6{os.getpid()}.{time.monotonic_ns()}"
    action = place.run(f"trap '' TERM; setsid nohup sleep {marker} & echo begun; sleep {marker}", deadline_s=1)
    assert (action.ended, action.output) == ("deadline", b"begun\n")
    assert place.text("cat /proc/[0-9]*/comm | grep -cx sleep || true") == "0\n"
    place.run("kill -9 -1")
    assert place.text("echo on") == "on\n"


def test_archives(place: Place, tmp_path: Path) -> None:
    import io
    import tarfile

    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        member = tarfile.TarInfo("in/it")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"hi\n"))
    place.environment.put(io.BytesIO(data.getvalue()), ".")
    assert place.text("cat in/it; stat -c %U in/it") == "hi\nagent\n"
    with tarfile.open(fileobj=io.BytesIO(b"".join(place.environment.get("in")))) as archive:
        assert archive.getnames() == ["in", "in/it"]
    assert place.environment.export(tmp_path / "usual").entries == 3


def test_a_pause_is_noticed_and_the_workspace_rescued(place: Place, service: Service, tmp_path: Path) -> None:
    place.text("mkdir a; echo x >a/b")
    assert place.started.container is not None
    threading.Timer(0.2, service.podman, ["pause", place.started.container]).start()
    with pytest.raises(EnvironmentLost, match="was paused"):
        place.run("sleep 1000", deadline_s=1000)
    assert place.environment.export(tmp_path / "workspace").entries >= 2


def test_a_stop_leaves_nothing(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", service.host)
    assert not containers(service)
    made: Environment = environment("docker", build=None, image=service.image)  # type: ignore[attr-defined]
    with suppress(EnvironmentLost):
        made.start()
        made.execute("setsid sleep 1000 & sleep 0.05", deadline_s=5)
        assert len(containers(service)) == 1
    made.stop()
    assert not containers(service)
