"""After any end of an evaluation, its containers and its committed image are removed, or `agent clean` finds them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.programbench.official import running, sweep
from environments.docker import daemon
from environments.leftovers import cleaning, owner
from tests.alone import alone
from tests.programbench import clean_room
from tests.programbench.clean_room import CALCULATOR, CALCULATOR_BRANCH, calculator
from tests.programbench.conftest import Files
from tests.programbench.daemon_saw import left
from trajectories.record.verdict import Verdict

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("offline")]

ROOT = Path(__file__).resolve().parents[2]
HANGING = """if True:
    import sys
    from pathlib import Path
    from benchmarks.programbench import instances
    from benchmarks.programbench.official.evaluator import evaluate
    from trajectories import interrupts
    interrupts.install()
    with interrupts.interruptible():
        evaluate(instances.instance(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
    """


@pytest.fixture
def evaluating(workspace: Callable[[Files], Path], tmp_path: Path):
    """Start a process that is in the middle of an evaluation: the tests of a branch run in the committed image."""
    blobs = tmp_path / "hanging"
    clean_room.branch_archive(blobs, CALCULATOR, CALCULATOR_BRANCH, {"eval/run.sh": "#!/bin/sh\nsleep 1000\n"})
    command = [sys.executable, "-c", HANGING, CALCULATOR, workspace(calculator()), tmp_path / "evaluation"]
    process = subprocess.Popen(
        command, env={**os.environ, "PROGRAMBENCH_BLOB_DIR": str(blobs), "PYTHONPATH": str(ROOT)}
    )
    label = f"{owner.PID}={process.pid}"
    try:
        until = time.monotonic() + 60
        while not _hangs(label):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.2)
        yield process
    finally:
        process.kill()
        process.wait()
        api = daemon.connect()
        for container in api.containers(all=True, filters={"label": label}):
            api.remove_container(container["Id"], force=True)
        for image in api.images(filters={"label": [label, sweep.LABEL]}):
            api.remove_image(image["Id"], force=True)
        api.close()


def _hangs(label: str) -> bool:
    """Return True if a container of a committed image runs the tests."""
    api = daemon.connect()
    try:
        return any(
            container["Image"].startswith(sweep.COMPILED) and "sleep 1000" in str(api.top(container["Id"])["Processes"])
            for container in api.containers(filters={"label": label})
        )
    finally:
        api.close()


def gone(label: str, within_s: float) -> bool:
    until = time.monotonic() + within_s
    while left(label):
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


def test_an_interrupt_ends_the_evaluation_at_once_and_leaves_nothing(evaluating: subprocess.Popen[bytes]) -> None:
    """The package itself would wait for the running branch, up to an hour."""
    evaluating.send_signal(signal.SIGINT)
    assert evaluating.wait(120) != 0
    assert left(f"{owner.PID}={evaluating.pid}") == []


def test_the_evaluator_and_its_containers_end_when_the_harness_is_killed(
    evaluating: subprocess.Popen[bytes],
) -> None:
    evaluating.kill()
    evaluating.wait()
    assert gone(f"{owner.PID}={evaluating.pid}", 15)


def test_a_time_limit_ends_a_command(tmp_path: Path) -> None:
    command = running.run(["--help"], tmp_path / "log", 0.01, {})
    assert (command.status, (tmp_path / "log").read_bytes()) == (None, b"")
    assert running.run(["--help"], tmp_path / "log", 60, {}).status == 0
    assert b"Usage: programbench" in (tmp_path / "log").read_bytes()


def test_agent_clean_removes_what_a_power_cut_leaves(evaluating: subprocess.Popen[bytes]) -> None:
    """The branch's container has all labels of its image, which is also ours; both are removed."""
    label = f"{owner.PID}={evaluating.pid}"
    (evaluator,) = _children(evaluating.pid)
    os.killpg(evaluator, signal.SIGSTOP)  # prevents its cleanup
    evaluating.kill()
    evaluating.wait()
    os.killpg(evaluator, signal.SIGKILL)
    assert len(left(label)) == 2
    with alone():
        result = cleaning.clean()
    assert {"container", "image"} <= {
        entry.kind for entry in result.removed if entry.owner and entry.owner.pid == evaluating.pid
    }
    assert left(label) == []


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_evaluator_uses_the_user_s_own_docker(
    judge: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"
    mine = tmp_path / "my docker"
    mine.write_text(f'#!/bin/sh\necho "$@" >>"{calls}"\necho my docker will not >&2\nexit 1\n')
    mine.chmod(0o755)
    monkeypatch.setenv("PROGRAMBENCH_DOCKER_EXECUTABLE", str(mine))
    verdict = judge(calculator())
    assert "RuntimeError: Failed to start container: my docker will" in verdict.error
    (run,) = [line for line in calls.read_text().splitlines() if line.startswith("run ")]
    assert f"--label {owner.PID}={os.getpid()} " in run
    assert f"--label {sweep.LABEL}=" in run
