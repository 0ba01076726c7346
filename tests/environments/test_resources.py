"""Limits that hold, limits that cannot be enforced, and actions that reach a limit."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from environments.docker import watch
from environments.docker.control_group import CHECKED, ControlGroup
from environments.docker.environment import DockerEnvironment
from environments.protocol import Promise

from .conftest import ALL, DOCKER, SANDBOX, Place, environment


def api() -> object:
    import docker

    return docker.from_env().api


EAT = "perl -e '$x = q(a) x 300_000_000'"


@pytest.mark.parametrize("label", [DOCKER, SANDBOX])
def test_shm_has_the_requested_size(start: object, label: str) -> None:
    place: Place = start(label, shm_bytes=8 << 20)  # type: ignore[operator]
    assert Promise.SHM_LIMIT in place.started.promises
    assert place.text("df -k --output=size /dev/shm | tail -1").strip() == str(8 << 10)
    action = place.run("head -c 20M /dev/zero >/dev/shm/x")
    assert b"No space left" in action.output
    assert place.text("rm /dev/shm/x; echo y >/dev/shm/y; cat /dev/shm/y") == "y\n"


@pytest.mark.parametrize("label", ALL)
def test_ulimits_hold_for_actions_and_not_for_the_supervisor(start: object, label: str) -> None:
    requested = {"nofile": 100, "fsize": 64 << 10, "core": 0, "cpu": 77, "stack": 4 << 20}
    place: Place = start(label, ulimits=requested)  # type: ignore[operator]
    assert Promise.ULIMITS in place.started.promises
    assert place.text("ulimit -n -f -c -t -s | sed 's/.* //'") == "100\n64\n0\n77\n4096\n"
    assert place.text("ulimit -H -n") == "100\n"
    assert place.run("head -c 100K /dev/zero >x; ls -l x | cut -d' ' -f5").output.split()[-1] == b"65536"
    assert place.run("head -c 1M /dev/zero").counted == 1 << 20


@pytest.mark.parametrize("label", ALL)
def test_ulimits_that_cannot_be_set_are_reported(start: object, label: str) -> None:
    place: Place = start(label, ulimits={"nonsense": 1, "nofile": 1 << 40, "fsize": 1 << 20})  # type: ignore[operator]
    assert Promise.ULIMITS not in place.started.promises
    lost = [line for line in place.started.lost if line.startswith("ulimit")]
    assert [line.partition(":")[0] for line in lost] == ["ulimit nonsense", "ulimit nofile"]
    assert place.text("ulimit -f") == "1024\n"


@pytest.mark.docker
def test_a_disk_limit_is_set_or_reported_as_lost(start: object) -> None:
    place: Place = start("docker", disk_bytes=1 << 30)  # type: ignore[operator]
    lost = [line for line in place.started.lost if line.startswith("disk_bytes")]
    assert (Promise.DISK_LIMIT in place.started.promises) == (not lost)
    assert place.text("echo on") == "on\n"


@pytest.mark.parametrize("label", ["local", SANDBOX])
def test_limits_that_only_a_container_can_enforce_are_reported(start: object, label: str) -> None:
    place: Place = start(label, disk_bytes=1 << 30)  # type: ignore[operator]
    assert any(line.startswith("disk_bytes") for line in place.started.lost)
    assert Promise.DISK_LIMIT not in place.started.promises


@pytest.mark.parametrize("label", ALL)
def test_the_kernel_prefers_an_action_to_the_supervisor(start: object, label: str) -> None:
    place: Place = start(label)  # type: ignore[operator]
    own = int(place.text("cat /proc/self/oom_score_adj"))
    assert own == 500
    assert place.text("sleep 1 & cat /proc/$!/oom_score_adj; kill $!") == "500\n"
    if label != "shared":
        assert int(place.text("cat /proc/1/oom_score_adj")) < own


def memory_group(pid: int) -> Path:
    """The directory of a process's memory control group, for writing its member processes."""
    if os.geteuid():
        pytest.skip("only root can put a process into a container's control group")
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        root = Path("/sys/fs/cgroup", "memory" if names else "")
        if names in ("memory", "") and (root / path.lstrip("/") / "cgroup.procs").exists():
            return root / path.lstrip("/")
    pytest.skip("the container's control group is not visible from here")


@pytest.mark.docker
def test_a_supervisor_that_needs_memory_when_no_action_is_left_to_kill_is_not_killed(
    start: object,
) -> None:
    """The kernel must choose among the supervisor and its helpers, as it does while a killed action is vanishing."""
    place: Place = start("docker", memory_bytes=64 << 20)  # type: ignore[operator]
    state = api().inspect_container(place.started.container)["State"]  # type: ignore[attr-defined]
    group = memory_group(state["Pid"])
    descriptor, name = tempfile.mkstemp(dir="/dev/shm")
    os.close(descriptor)
    filler = Path(name)

    def kills() -> int:
        text = "".join(
            (group / name).read_text() for name in ("memory.oom_control", "memory.events") if (group / name).exists()
        )
        return int(text.split("oom_kill ", 1)[1].split()[0])

    process = subprocess.Popen(
        ["sh", "-c", f"echo $$ >{group}/cgroup.procs; exec cat >{filler}"], stdin=subprocess.PIPE
    )
    assert process.stdin is not None
    try:
        for _ in range((96 << 20) // 4096):
            if kills():
                break
            os.write(process.stdin.fileno(), bytes(4096))
        process.stdin.close()
        assert process.wait(20) == 0, "the filler is not what was killed"
        assert kills() == 1
    finally:
        filler.unlink()
        process.kill()
    assert place.text("echo alive") == "alive\n"
    assert place.run(EAT).ended == "oom"
    assert scores(place).count("400 cat") == 1, "the spare was started again"


@pytest.mark.docker
def test_the_order_in_which_the_kernel_kills_for_memory(start: object) -> None:
    limited: Place = start("docker", memory_bytes=64 << 20)  # type: ignore[operator]
    assert scores(limited) == ["0 supervisor", "200 cat", "400 cat", "500 action"]
    unlimited: Place = start("docker")  # type: ignore[operator]
    assert scores(unlimited) == ["0 supervisor", "200 cat", "500 action"]


def scores(place: Place) -> list[str]:
    """Return the score of each process for the kernel's choice, and its name."""
    script = """
    for process in /proc/[0-9]*; do
      read -r name <$process/comm; read -r score <$process/oom_score_adj
      case ${process#/proc/} in 1) name=supervisor;; $$) name=action;; esac
      echo $score $name
    done"""
    return sorted(place.text(script).splitlines())


@pytest.mark.docker
def test_an_action_that_runs_out_of_memory_is_reported(start: object) -> None:
    place: Place = start("docker", memory_bytes=64 << 20)  # type: ignore[operator]
    assert {Promise.MEMORY_LIMIT, Promise.OOM_REPORTED} <= set(place.started.promises)
    action = place.run(EAT)
    assert (action.ended, action.exit_code) == ("oom", 137)
    assert place.run(f"{EAT}; echo went on").ended == "oom"
    assert place.run("exit 137").ended == "exited"
    # What a background process of an earlier action does between two actions is not the later one's.
    place.text(f"(sleep 0.3; {EAT}) >/dev/null 2>&1 &")
    time.sleep(1.5)
    assert place.run("true").ended == "exited"


class Blind(DockerEnvironment):
    """An environment whose supervisor cannot read the control group's files, as on hosts that hide them."""

    def _settings(self) -> dict[str, str]:
        return super()._settings() | {"cgroup": "/nonexistent"}


@pytest.mark.docker
def test_the_daemon_s_event_reports_oom_if_the_control_group_cannot_be_read() -> None:
    made = Blind(environment("docker", memory_bytes=64 << 20).spec)
    try:
        started = made.start()
        assert Promise.OOM_REPORTED in started.promises
        assert Promise.PEAK_MEMORY not in started.promises
        assert made.execute(EAT, deadline_s=20).ended == "oom"
        # Never booked on a later action, also if it comes right behind.
        assert made.execute("kill -9 $$", deadline_s=20).ended == "exited"
        time.sleep(0.6)
        began = time.monotonic()
        assert made.execute("true", deadline_s=20).ended == "exited"
        innocent_s = time.monotonic() - began
        assert made.execute("exit 137", deadline_s=20).ended == "exited"
        assert innocent_s < (time.monotonic() - began - innocent_s) / 2, "only a suspicious status waits for the event"
        assert made.execute(f"{EAT}; exit 137", deadline_s=20).ended == "oom"
    finally:
        made.stop()


class Ignoring(DockerEnvironment):
    """An environment whose daemon accepts every limit and sets none, as rootless Podman with cgroups of version 1."""

    def _create(self, *arguments: Any) -> str:
        asked = self._limits.options
        self._limits.options = {"shm_size": asked["shm_size"]}
        try:
            return super()._create(*arguments)
        finally:
            self._limits.options = asked


class BlindAndIgnoring(Blind, Ignoring):
    """The same, on a host that hides the control group's files in containers."""


@pytest.mark.docker
@pytest.mark.parametrize("kind", [Ignoring, BlindAndIgnoring], ids=["read inside", "read outside"])
def test_limits_that_the_daemon_ignores_are_not_promised(kind: type[DockerEnvironment]) -> None:
    made = kind(environment("docker", memory_bytes=64 << 20, pids=64, cpus=0.5, shm_bytes=1 << 20).spec)
    try:
        started = made.start()
        ignored = {Promise.MEMORY_LIMIT, Promise.PIDS_LIMIT, Promise.CPU_LIMIT}
        assert not ignored & set(started.promises)
        for promise in ignored:
            assert any(line.startswith(f"{promise.value}: the daemon accepted") for line in started.lost), started.lost
        assert made.execute(EAT, deadline_s=60).ended == "exited", "300 MB fit, so nothing was promised wrongly"
    finally:
        made.stop()


GROUPS = {
    "version 2": ("memory.max 67108864\nmemory.swap.max 0\npids.max 64\ncpu.max 50000 100000\nswap 9", True),
    "version 2 without swap": ("memory.max 67108864\npids.max 64\ncpu.max 50000 100000\nswap 0", True),
    "version 2, swapping": ("memory.max 67108864\nmemory.swap.max max\npids.max 65\ncpu.max max 100000\nswap 9", False),
    "version 1": (
        "memory.limit_in_bytes 67108864\nmemory.memsw.limit_in_bytes 67108864\npids.max 64\n"
        "cpu.cfs_quota_us 50000\ncpu.cfs_period_us 100000\nswap 9",
        True,
    ),
    "version 1, rootless": ("memory.limit_in_bytes 9223372036854771712\ncpu.cfs_quota_us -1\nswap 0", False),
    "hidden": ("swap 0", False),
    "limits of all together": ("memory.max 8589934592\npids.max 99999\ncpu.max 200000 100000\nswap 0", False),
}


@pytest.mark.parametrize("name", GROUPS)
def test_a_limit_is_proven_only_by_a_control_group_that_is_as_strict(name: str) -> None:
    text, holds = GROUPS[name]
    group = ControlGroup(text, "abc")
    options = {"mem_limit": 64 << 20, "pids_limit": 64, "nano_cpus": 500_000_000}
    assert group.proven(options) == (set(CHECKED) if holds else set())
    assert group.is_own(options) == holds
    assert ControlGroup(f"{text}\ngroup 0::/docker/abc", "abc").is_own(options)
    assert len(group.unproven(CHECKED)) == 3


def test_a_late_event_is_not_charged_to_a_later_action() -> None:
    """The times that are compared are those of the daemon and of the container, which share one clock."""
    heard = watch.Watched()
    heard.hear("oom", {"timeNano": 1_000_200_000_000})
    assert heard.ooms == [1000.2]
    assert heard.wait(lambda seen: any(at >= 1000.1 for at in seen.ooms), 0)
    assert not heard.wait(lambda seen: any(at >= 1000.3 for at in seen.ooms), 0)


@pytest.mark.docker
def test_an_action_s_peak_of_memory(start: object) -> None:
    place: Place = start("docker", memory_bytes=512 << 20)  # type: ignore[operator]
    if Promise.PEAK_MEMORY not in place.started.promises:
        assert place.run("true").peak_memory_bytes is None
        pytest.skip("this kernel shows no high-water mark of memory")
    big = place.run("perl -e '$x = q(a) x 100_000_000'").peak_memory_bytes
    assert big is not None
    assert 100_000_000 < big < 300_000_000
    assert place.run("perl -e '$x = q(a) x 10_000_000'").peak_memory_bytes is None
    bigger = place.run("perl -e '$x = q(a) x 180_000_000'").peak_memory_bytes
    assert bigger is not None
    assert bigger > big


@pytest.mark.docker
@pytest.mark.parametrize("where", ["/dev/shm/x", "/run/retrace/out"])
def test_memory_that_is_filled_by_files_does_not_end_the_environment(start: object, where: str) -> None:
    place: Place = start("docker", memory_bytes=64 << 20, shm_bytes=256 << 20, output_bytes=16 << 20)  # type: ignore[operator]
    assert [lowered.limit for lowered in place.started.lowered] == ["output_bytes", "shm_bytes"]
    script = "yes" if "retrace" in where else f"head -c 200M /dev/zero >{where}"
    action = place.run(script, deadline_s=30)
    assert action.ended in ("oom", "output_cap") or b"No space left" in action.output, action
    assert place.text("echo alive") == "alive\n"
    assert place.run(EAT).ended == "oom"
    assert place.text("rm -f /dev/shm/*; echo alive") == "alive\n"
