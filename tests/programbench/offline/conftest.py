"""`number`, a program of Debian, as an instance of ProgramBench made with `agent tasks make rebuild`."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.making.rebuild import programbench
from tests.solve.command import CommandResult, agent

ROOT = Path(__file__).resolve().parents[3]
TASK = ROOT / "tests" / "programbench" / "number"
OFFLINE = {"HF_HUB_OFFLINE": "1"}


@dataclass(frozen=True)
class Number:
    """The instance, and the variables with which Retrace and the package find it."""

    id: str
    image: str
    variables: Mapping[str, str]

    def solve(self, folder: Path, model: str, *options: str, **extra: str) -> CommandResult:
        """Run a trial through the command line."""
        argv = ("solve", "--task", f"programbench/{self.id}", "--model", model, "--json", *options)
        return agent(folder, *argv, timeout=170, **{**OFFLINE, **self.variables, **extra})


def rebuild(step: str, *argv: str) -> str:
    """Run `agent tasks make rebuild STEP`, and return its output."""
    result = agent(ROOT, "tasks", "make", "rebuild", step, *argv, timeout=900)
    assert result.status == 0, result.out + result.err
    return result.out.strip()


@pytest.fixture(scope="session")
def number_image() -> str:
    """Return the image with the original, built with `agent tasks make rebuild image`."""
    return rebuild("image", "bsdgames", "/usr/games/number")


@pytest.fixture(scope="session")
def number(number_image: str, tmp_path_factory: pytest.TempPathFactory) -> Number:
    """Return the instance. The name of its image has a hash of its content, so that checkouts do not collide."""
    inspect = ["docker", "image", "inspect", "--format", "{{.Id}}", number_image]
    base = subprocess.run(inspect, capture_output=True, check=True).stdout
    content = hashlib.sha256(base + (programbench.CLEANROOM / "Dockerfile").read_bytes())
    organization = f"retrace-test-{content.hexdigest()[:12]}"
    to = tmp_path_factory.mktemp("number")
    exports = rebuild("programbench", str(TASK), number_image, "--output", str(to), "--organization", organization)
    variables = dict(line.removeprefix("export ").split("=", 1) for line in exports.splitlines())
    (directory,) = (to / "tasks").iterdir()
    image = f"{organization}/{directory.name.replace('__', '_1776_')}:task_cleanroom_v6"
    return Number(directory.name, image, variables)
