"""The clean-room image of a task is pulled from a registry on this machine, and its digest is in the verdict."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks.programbench import check
from environments.docker import daemon
from tests.local_registry import local_registry
from tests.programbench import clean_room
from tests.programbench.offline.conftest import OFFLINE
from tests.programbench.offline.test_whole import scored
from tests.solve.command import CommandResult, agent

pytestmark = pytest.mark.docker
NAME = f"{clean_room.CALCULATOR.replace('__', '_1776_')}:{clean_room.TAG}"


def docker(*argv: str) -> str:
    return subprocess.run(["docker", *argv], check=True, capture_output=True, text=True).stdout.strip()


def solve(folder: Path, address: str) -> CommandResult:
    """Run a trial of the package's fixture, with the registry as the organization."""
    return agent(
        folder,
        *("solve", "--task", f"programbench/{clean_room.CALCULATOR}", "--model", "nop", "--json"),
        timeout=170,
        PROGRAMBENCH_DOCKER_ORG=f"{address}/programbench",
        PROGRAMBENCH_BLOB_DIR=str(clean_room.calculator_blobs(folder / "blobs")),
        **OFFLINE,
    )


def test_a_task_is_solved_and_evaluated_in_the_image_of_a_registry(tmp_path: Path) -> None:
    with local_registry(tmp_path) as address:
        image = f"{address}/programbench/{NAME}"
        docker("tag", clean_room.calculator_image().reference, image)
        try:
            docker("push", "--quiet", image)
            pushed = docker("inspect", "--format", "{{json .RepoDigests}}", image)
            (digest,) = [name for name in json.loads(pushed) if name.startswith(f"{address}/")]
            api = daemon.connect()
            assert check._in_registry(api, image, digest.rpartition("@")[2])
            assert not check._in_registry(api, image, "sha256:" + "0" * 64), "an image of this machine's own"
            assert not check._in_registry(api, f"{image}-other", digest.rpartition("@")[2])
            docker("rmi", image)
            result = solve(tmp_path, address)
        finally:
            subprocess.run(["docker", "rmi", "-f", image], check=False, capture_output=True)
    assert f"pulling {image}" in result.err
    verdict = scored(result)
    assert (verdict["passed"], verdict["quality"]) == (False, 0.0)
    evaluator = json.loads((result.trial / "verdict.json").read_text())["evaluator"]
    assert evaluator["inputs"]["image"] == image
    assert evaluator["inputs"]["image_digest"] == digest.rpartition("@")[2]
    assert evaluator["inputs"]["official"] == "no", "it is not the benchmark's own registry"


def test_an_image_that_the_registry_lacks_is_an_error(tmp_path: Path) -> None:
    with local_registry(tmp_path) as address:
        result = solve(tmp_path, address)
    assert result.status == 1
    assert f"{address}/programbench/{NAME}" in result.err
    assert "Traceback" not in result.err
