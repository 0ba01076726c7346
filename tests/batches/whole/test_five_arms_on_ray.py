"""The documented study on a Ray cluster of two nodes has the table of one machine, whatever is killed on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.batches.ray.ray_nodes import ray_nodes
from tests.batches.whole.five_arms import TABLE, FiveArms, kill
from tests.solve.command import environment

pytest.importorskip("ray", reason="needs the extra ray")
pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(1200)]

TWO = '{"trial": 2}'


def test_the_table_is_that_of_one_machine(tmp_path: Path) -> None:
    with FiveArms(tmp_path, attempts=1) as study:
        variables = environment(tmp_path, **study.variables)
        with ray_nodes(variables, head=TWO, other=TWO) as nodes:
            study.finish("--engine", "ray", "--address", nodes.address)
        assert study.table() == TABLE
        assert study.check_bill() == 0
        assert len(study.workers()) == 2, "both nodes worked"


def test_the_table_survives_the_loss_of_a_worker_a_node_and_the_coordinator(tmp_path: Path) -> None:
    with FiveArms(tmp_path, attempts=1) as study:
        variables = environment(tmp_path, **study.variables)
        with ray_nodes(variables, head=TWO, other=TWO) as nodes:
            ray = ("--engine", "ray", "--address", nodes.address)
            process = study.start(*ray)
            study.wait_for_bill(12, process)
            kill(nodes.workers()[0])
            study.wait_for_bill(30, process)
            nodes.kill("other")
            study.wait_for_bill(50, process)
            process.kill()
            process.wait()
            study.finish(*ray)
        assert study.table() == TABLE
        assert {result.state for result in study.results()} == {"finished"}
        study.check_bill()
        study.check_no_call_twice()
