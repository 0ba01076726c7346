"""The life of an environment: started once and always stopped; nothing is left, even if the harness dies first."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import pytest

from environments import supervised
from environments.leftovers import owner
from environments.protocol import DiskFull, EnvironmentLost, EnvironmentUnavailable

from .conftest import ALL, SANDBOX, Place, environment


def api() -> object:
    import docker

    return docker.from_env().api


def containers(**labels: str) -> list[dict[str, object]]:
    wanted = [f"{name}={value}" for name, value in labels.items()]
    return api().containers(all=True, filters={"label": wanted})  # type: ignore[attr-defined,no-any-return]


def processes(marker: str) -> list[int]:
    """Return the processes of this machine, except this one, that have a text in their command line."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in path.read_bytes() and path.parent.name != str(os.getpid()):
                pids.append(int(path.parent.name))
        except OSError:
            pass
    return pids


def wait_for(condition: object, seconds: float = 60) -> bool:
    until = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("shell", ["fresh", "persistent"])
@pytest.mark.parametrize("label", ALL)
def test_a_stopped_environment_leaves_no_open_file_and_no_thread(label: str, shell: str) -> None:
    """It does not wait for garbage collection: hundreds may be stopped before that."""
    environment(label, shell=shell).check()
    gc.collect()
    gc.disable()
    try:
        used = [environment(label, shell=shell) for _ in range(3)]
        held = []
        for used_environment in used:
            used_environment.start()
            used_environment.execute("true", deadline_s=20)
            used_environment.stop()
            assert wait_for(lambda: not any("terminal" in thread.name for thread in threading.enumerate()))
            held.append(len(os.listdir("/proc/self/fd")))
    finally:
        gc.enable()
    assert held == held[:1] * 3


@pytest.mark.parametrize("label", ALL)
def test_stop_is_quick_ends_everything_and_can_be_repeated(start: object, label: str) -> None:
    marker = f"7{os.getpid()}.{time.monotonic_ns()}"
    place: Place = start(label)  # type: ignore[operator]
    place.run(f"trap '' TERM; setsid sleep {marker} & sleep {marker} & sleep 0.05")
    assert processes(marker)
    place.environment.stop()
    assert wait_for(lambda: not processes(marker))
    place.environment.stop()
    with pytest.raises(EnvironmentLost):
        place.run("true")
    with pytest.raises(EnvironmentLost):
        place.environment.start()


HARNESS = """
    import json, sys, time
    from tests.environments.conftest import environment
    place = environment({label!r}, labels={{"retrace.test": {marker!r}}})
    started = place.start()
    place.execute("setsid sleep {marker} & sleep 0.05", deadline_s=10)
    print(json.dumps({{"container": started.container, "workdir": started.workdir}}), flush=True)
    {then}
"""


def harness(label: str, marker: str, then: str) -> subprocess.Popen[str]:
    script = textwrap.dedent(HARNESS.format(label=label, marker=marker, then=then))
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True)


@pytest.mark.parametrize("label", ALL)
@pytest.mark.parametrize("busy", [False, True])
def test_a_harness_that_is_killed_leaves_nothing(label: str, busy: bool) -> None:
    marker = f"8{os.getpid()}.{time.monotonic_ns()}"
    then = 'place.execute("trap : TERM; sleep 1000", deadline_s=1000)' if busy else "time.sleep(1000)"
    process = harness(label, marker, then)
    assert process.stdout is not None
    json.loads(process.stdout.readline())
    assert processes(marker)
    time.sleep(0.2)
    process.kill()
    process.wait()
    process.stdout.close()
    assert wait_for(lambda: not processes(marker))
    assert wait_for(lambda: not list(Path("/dev/shm").glob(f"retrace-{process.pid}-*")))
    if label == "docker":
        assert wait_for(lambda: not containers(**{"retrace.test": marker}))


@pytest.mark.parametrize("label", ALL)
def test_an_interrupt_from_the_terminal_reaches_only_the_harness(label: str) -> None:
    marker = f"9{os.getpid()}.{time.monotonic_ns()}"
    then = """
    try:
        place.execute("echo begun; sleep 1000", deadline_s=1000)
    except KeyboardInterrupt:
        done = place.execute("echo still here", deadline_s=10)
        print(done.output.decode(), end="", flush=True)
    place.stop()
    """.strip()
    process = harness(label, marker, then)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=120)[0] == "still here\n"
    assert process.returncode == 0
    assert wait_for(lambda: not processes(marker))


@pytest.mark.docker
@pytest.mark.parametrize(
    ("how", "message"),
    [("kill", "ended with status 137"), ("pause", "was paused"), ("remove_container", "was removed|ended")],
)
def test_the_reason_for_a_lost_container_is_reported(start: object, how: str, message: str) -> None:
    import threading

    place: Place = start("docker", keep=how == "kill")  # type: ignore[operator]
    options = {"force": True} if how == "remove_container" else {}
    threading.Timer(0.5, lambda: getattr(api(), how)(place.started.container, **options)).start()
    with pytest.raises(EnvironmentLost, match=message):
        place.run("sleep 1000", deadline_s=1000)
    with pytest.raises(EnvironmentLost, match=message):
        place.run("true")
    place.environment.stop()
    if how == "kill":
        api().remove_container(place.started.container)  # type: ignore[attr-defined]


@pytest.mark.parametrize("label", ["local", SANDBOX])
def test_a_killed_supervisor_is_reported(start: object, label: str) -> None:
    place: Place = start(label)  # type: ignore[operator]
    place.environment._link.process.kill()  # type: ignore[attr-defined]
    with pytest.raises(EnvironmentLost, match="ended with status"):
        place.run("sleep 5")


@pytest.mark.docker
def test_labels_name_the_owner_of_a_container(start: object) -> None:
    place: Place = start("docker", labels={"retrace.trial": "t1", "other": "x"})  # type: ignore[operator]
    labels = api().inspect_container(place.started.container)["Config"]["Labels"]  # type: ignore[attr-defined]
    assert labels["retrace.trial"] == "t1"
    assert labels["other"] == "x"
    assert owner.Owner.of(labels) == owner.this_process()
    assert owner.Owner.of(labels).alive  # type: ignore[union-attr]


@pytest.mark.docker
def test_a_container_that_is_kept_is_stopped(start: object) -> None:
    place: Place = start("docker", keep=True)  # type: ignore[operator]
    place.text("echo kept >kept")
    place.environment.stop()
    client = api()
    state = client.inspect_container(place.started.container)["State"]  # type: ignore[attr-defined]
    assert (state["Running"], state["Status"]) == (False, "exited")
    client.remove_container(place.started.container)  # type: ignore[attr-defined]


@pytest.mark.docker
def test_the_container_is_confined(start: object) -> None:
    place: Place = start("docker")  # type: ignore[operator]
    facts = api().inspect_container(place.started.container)  # type: ignore[attr-defined]
    host = facts["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["CapDrop"] == ["SYS_PTRACE"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert not host["Binds"]
    assert not facts["Mounts"]
    assert not host["Privileged"]
    assert host["LogConfig"]["Type"] == "none"


def test_a_nearly_full_disk_is_reported_before_it_is_full(start: object, monkeypatch: pytest.MonkeyPatch) -> None:
    place: Place = start("local")  # type: ignore[operator]
    monkeypatch.setattr(supervised, "FREE_BYTES", 1 << 60)
    with pytest.raises(DiskFull, match="MiB left"):
        place.run("true")
    monkeypatch.undo()
    assert place.text("echo on") == "on\n"


@pytest.mark.parametrize("label", ["local", SANDBOX])
@pytest.mark.parametrize("full", ["workspace", "home"])
def test_with_a_workspace_of_the_user_the_disk_of_home_is_watched_too(
    start: object, label: str, full: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Path(tempfile.mkdtemp())  # where also another user gets to
    request.addfinalizer(workspace.rmdir)
    if os.geteuid() == 0:
        os.chown(workspace, 65534, 65534)
    place: Place = start(label, workspace=workspace)  # type: ignore[operator]
    usage = shutil.disk_usage

    def filled(where: Path) -> object:
        return usage(where)._replace(free=1 if (where == workspace) == (full == "workspace") else 1 << 40)

    monkeypatch.setattr(supervised.shutil, "disk_usage", filled)
    with pytest.raises(DiskFull, match="MiB left"):
        place.run("true")


@pytest.mark.parametrize("label", ["local", SANDBOX])
def test_a_workspace_that_is_missing(label: str, tmp_path: Path) -> None:
    made = environment(label, workspace=tmp_path / "none")
    with pytest.raises(EnvironmentUnavailable, match=f"{tmp_path}/none is not a directory"):
        made.check()
    with pytest.raises(EnvironmentUnavailable):
        made.start()
    made.stop()
