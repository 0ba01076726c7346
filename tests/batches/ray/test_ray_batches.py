"""Whole batches on a Ray cluster of two nodes, with the real command, real workers and the provider of a study."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.batches.ray.ray_nodes import RayNodes, ray_nodes
from tests.batches.whole import running
from tests.batches.whole.running import BUSY, Study, alive, interrupt
from tests.solve.command import environment
from tests.wire.study.running import Running

pytest.importorskip("ray", reason="needs the extra ray")
pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(900)]

TWO = '{"trial": 2}'


@contextmanager
def on_ray(folder: Path, *words: str, spec: str) -> Iterator[tuple[Study, RayNodes]]:
    """A study whose provider, keys and configuration only the nodes know."""
    with Running(*words) as provider:
        study = Study(folder, provider, spec)
        variables = environment(folder, **provider.environment())
        with ray_nodes(variables, head=TWO, other=TWO) as nodes:
            yield study, nodes


def test_a_batch_on_two_nodes_has_the_records_and_the_bill_of_a_local_one(tmp_path: Path) -> None:
    with on_ray(tmp_path, "--busy", "4", "--latency", "0.2", spec=f"{BUSY}\nattempts: 4\nworkers: 4\n") as (
        study,
        nodes,
    ):
        without_keys = {"OPENAI_API_KEY": "", "OPENAI_API_BASE": ""}
        status, state, err = study.run("--engine", "ray", "--address", nodes.address, **without_keys)
        assert status == 0, err
        assert (state["done"], state["judged"], state["failed"]) == (4, 4, {})
        study.check_bill()
        assert [(result.state, result.steps) for result in study.results()] == [("finished", 4)] * 4
        status, state, err = study.run()
        assert (status, state["done"]) == (0, 4), err
        assert study.provider.state()["requests"] == 16


@pytest.mark.slow
def test_a_killed_worker_a_lost_node_and_a_killed_coordinator_pay_for_no_finished_call_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "WAIT_S", 400.0)  # every process of Ray takes seconds to start
    spec = f"{BUSY}\nattempts: 6\nworkers: 4\n"
    with on_ray(tmp_path, "--busy", "8", "--latency", "0.5", spec=spec) as (study, nodes):
        nodes.start("third", TWO)
        options = ("--engine", "ray", "--address", nodes.address)
        process = study.start(*options)
        study.wait_for_requests(8, process)
        process.kill()
        process.communicate()
        process = study.start(*options)
        study.wait_for_requests(16, process)
        os.kill(_a_worker(nodes), signal.SIGKILL)
        study.wait_for_requests(28, process)
        nodes.kill("third")
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert [(result.state, result.steps) for result in study.results()] == [("finished", 8)] * 6
        names = [folder.name for folder in study.directory.iterdir() if (folder / "events.jsonl").exists()]
        assert len(names) == len(set(names)) >= 6
        study.check_bill()
        open_calls = sum(len(result.open_calls) for result in study.results())
        assert study.provider.state()["requests"] <= 6 * 8 + open_calls


def _a_worker(nodes: RayNodes) -> int:
    for file in nodes.folder.glob("retrace-ray-*/*/*/worker.pid"):
        pid = int(file.read_text().split()[0])
        if alive(pid):
            return pid
    raise AssertionError("no worker runs")


@pytest.mark.slow
def test_a_second_ctrl_c_closes_the_records_on_all_nodes(tmp_path: Path) -> None:
    spec = f"{BUSY}\nattempts: 4\nworkers: 4\n"
    with on_ray(tmp_path, "--busy", "30", "--latency", "0.5", spec=spec) as (study, nodes):
        process = study.start("--engine", "ray", "--address", nodes.address)
        study.wait_for_requests(12, process)
        workers = nodes.workers()
        assert len(workers) >= 2
        interrupt(process)
        assert process.stderr is not None
        while "no more trials begin" not in process.stderr.readline():
            assert process.poll() is None
        interrupt(process)
        process.communicate(timeout=120)
        assert process.returncode == 130
        assert not any(map(alive, workers))
        results = study.results()
        assert {result.state for result in results} == {"interrupted"}
        assert all(not result.open_calls for result in results), "calls in flight were finished, not cut off"
        study.check_bill()
