"""The clean-room image of a task is pulled, from a registry on the loopback, and its digest is in the verdict."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.local_registry import local_registry
from tests.programbench.offline.conftest import Number
from tests.programbench.offline.test_whole import scored

pytestmark = pytest.mark.docker


def docker(*argv: str) -> str:
    return subprocess.run(["docker", *argv], check=True, capture_output=True, text=True).stdout.strip()


def test_a_task_is_solved_and_evaluated_in_the_image_of_a_registry(number: Number, tmp_path: Path) -> None:
    with local_registry(tmp_path) as address:
        organisation = f"{address}/programbench"
        image = f"{organisation}/{number.image.partition('/')[2]}"
        docker("tag", number.image, image)
        try:
            digest = docker("push", "--quiet", image) and docker(
                "inspect", "--format", "{{index .RepoDigests 0}}", image
            )
            docker("rmi", image)
            done = number.solve(tmp_path, "nop", PROGRAMBENCH_DOCKER_ORG=organisation)
            verdict = scored(done)
            assert verdict["quality"] == 0.0
            inputs = json.loads((done.trial / "verdict.json").read_text())["evaluator"]["inputs"]
            assert digest.rpartition("@")[2] in json.dumps(inputs)
            assert "pull" in done.err.lower()
        finally:
            subprocess.run(["docker", "rmi", "-f", image], check=False, capture_output=True)


def test_an_image_that_the_registry_does_not_have(number: Number, tmp_path: Path) -> None:
    with local_registry(tmp_path) as address:
        done = number.solve(tmp_path, "nop", PROGRAMBENCH_DOCKER_ORG=f"{address}/programbench")
    assert done.status == 1
    assert f"{address}/programbench/{number.image.partition('/')[2]}" in done.err
    assert "Traceback" not in done.err
