"""Whole batches on a Ray cluster of two nodes, with the real command, real workers and the provider of a study."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.batches.ray_nodes import RayNodes, ray_nodes
from tests.batches.running import BUSY, Study
from tests.solve.command import environment
from tests.wire.study.running import Running

pytest.importorskip("ray", reason="needs the extra ray")
pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(400)]

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
