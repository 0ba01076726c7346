"""Workers on a Ray cluster of two nodes: records arrive while trials run, and a loss costs no finished call."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.batches.ray.ray_nodes import RayNodes, ray_nodes
from tests.batches.ray.ray_runs import Run

pytest.importorskip("ray", reason="needs the extra ray")

SECRET = "sk-planted-0123456789abcdef"
TWO = '{"trial": 2}'


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    environment = {"PLANTED_API_KEY": SECRET, "PYTHONPATH": str(Path(__file__).parents[3])}
    with ray_nodes(environment, head=TWO, other=TWO) as started:
        yield started


def test_records_of_both_nodes_come_to_the_batch_while_trials_run(nodes: RayNodes, tmp_path: Path) -> None:
    run = Run(tmp_path, nodes.address, calls=4)
    try:
        run.start()
        run.until_each_has(1)
        assert sorted(run.machines.values()) == [2, 2]
        assert len(run.left) == 4  # none has ended
        run.to_the_end()
        run.check_records()
        assert set(run.paid().values()) == {1}
    finally:
        run.engine.close(20)
    assert not list(nodes.folder.glob("retrace-ray-*")), "folders of workers are left on the nodes"


def test_a_killed_worker_process_costs_nothing_that_was_recorded(nodes: RayNodes, tmp_path: Path) -> None:
    run = Run(tmp_path, nodes.address, calls=5)
    try:
        run.start()
        run.until_each_has(2)
        os.kill(_pid(run.lines(1)[0]), signal.SIGKILL)
        run.to_the_end()
        run.check_records()
    finally:
        run.engine.close(20)
    assert len(run.lost) == 1
    assert "its process ended" in run.lost[0].reason
    _check_bill(run)


def test_a_killed_actor_costs_nothing_at_all(nodes: RayNodes, tmp_path: Path) -> None:
    run = Run(tmp_path, nodes.address, calls=5)
    try:
        run.start()
        run.until_each_has(2)
        worker = run.running[next(unit for unit, number in run.units.items() if number == 1)]
        os.kill(_actor_of(nodes, _pid(run.lines(1)[0])), signal.SIGKILL)
        run.to_the_end()
        run.check_records()
    finally:
        run.engine.close(20)
    assert [lost.worker for lost in run.lost] == [worker]
    _check_bill(run)


def test_a_killed_worker_of_the_coordinator_changes_nothing_any_more(nodes: RayNodes, tmp_path: Path) -> None:
    run = Run(tmp_path, nodes.address, count=1, calls=50)
    try:
        run.start()
        run.until_each_has(2)
        [worker] = run.running.values()
        run.engine.kill(worker)
        before = run.lines(1)
        run.until(lambda: bool(run.lost))
        assert run.lost[0].worker == worker
        assert run.at_loss[next(iter(run.units))] == len(before)
    finally:
        run.engine.close(20)


def test_no_key_of_driver_or_nodes_is_in_what_ray_keeps(
    nodes: RayNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-of-the-driver-fedcba9876543210"
    monkeypatch.setenv("DRIVER_API_KEY", key)
    run = Run(tmp_path, nodes.address)
    try:
        run.start()
        run.to_the_end()
        for place, content in _what_ray_keeps(nodes):
            assert key.encode() not in content, place
            assert SECRET.encode() not in content, place
    finally:
        run.engine.close(20)


@pytest.mark.slow
def test_a_lost_node_costs_at_most_the_calls_in_flight(nodes: RayNodes, tmp_path: Path) -> None:
    nodes.start("third", '{"trial": 4}')
    run = Run(tmp_path, nodes.address, count=6, calls=6, slots=8)
    try:
        run.start()
        run.until_each_has(2)
        nodes.kill("third")
        run.to_the_end()
        run.check_records()
    finally:
        run.engine.close(20)
    assert {lost.reason.rpartition(": ")[2] for lost in run.lost} == {"its node died"}
    assert run.at_loss
    _check_bill(run)


@pytest.mark.slow
def test_a_node_that_joins_later_is_used(nodes: RayNodes, tmp_path: Path) -> None:
    run = Run(tmp_path, nodes.address, slots=8)
    try:
        run.start()
        run.until_each_has(1)
        assert sum(run.machines.values()) == 4
        nodes.start("fourth", '{"trial": 4}', wait=False)
        run.until(lambda: sum(run.machines.values()) == 8)
    finally:
        run.engine.close(20)


@pytest.mark.slow
def test_a_node_with_other_code_gets_no_work(nodes: RayNodes, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for package in ("agent", "benchmarks", "environments", "prompts", "scoring", "trajectories"):
        shutil.copytree(Path(__file__).parents[3] / package, other / package)
    (other / "agent" / "added.py").touch()
    nodes.start("old", '{"trial": 8}', PYTHONPATH=str(other))
    run = Run(tmp_path, nodes.address, count=12, slots=12)
    try:
        run.start()
        run.to_the_end()
        run.check_records()
    finally:
        run.engine.close(20)
        nodes.kill("old")
    assert run.lost
    assert all("other code of Retrace" in lost.reason for lost in run.lost)


def _check_bill(run: Run) -> None:
    """A call is paid twice only if it was not in the batch yet when its worker was lost: the call in flight."""
    for line, times in run.paid().items():
        trial, _, call = line.rpartition(" ")
        number = int(trial.rpartition(".")[2])
        unit = run.configuration.unit(number)
        if times > 1:
            assert times == 2
            assert int(call) == run.at_loss[unit], f"{line} was paid twice, and was in the batch already"


def _pid(line: str) -> int:
    return int(line.rpartition('"pid": ')[2].rstrip("}"))


def _actor_of(nodes: RayNodes, worker: int) -> int:
    """Return the actor whose pipe the worker reads from."""
    pipe = os.readlink(f"/proc/{worker}/fd/0")
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) not in (worker, os.getpid()):
            try:
                pipes = {os.readlink(f"/proc/{entry}/fd/{fd}") for fd in os.listdir(f"/proc/{entry}/fd")}
            except OSError:
                continue
            if pipe in pipes:
                return int(entry)
    raise AssertionError("the worker has no actor")


def _what_ray_keeps(nodes: RayNodes) -> Iterator[tuple[str, bytes]]:
    """Yield the files of Ray's session directory, and the memory of its object stores."""
    for path in (nodes.folder / "r").rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield str(path), path.read_bytes()
    stores = 0
    for entry in os.listdir("/proc"):
        try:
            if not entry.isdigit() or b"raylet" not in Path(f"/proc/{entry}/cmdline").read_bytes():
                continue
            for fd in Path(f"/proc/{entry}/fd").iterdir():
                if "plasma" in os.readlink(fd):
                    stores += 1
                    yield str(fd), fd.read_bytes()
        except OSError:
            continue
    assert stores
