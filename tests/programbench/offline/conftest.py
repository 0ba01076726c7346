"""`number`, a program of Debian's, as an instance of ProgramBench that this project's own scripts made."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.solve.command import Done, agent

ROOT = Path(__file__).resolve().parents[3]
TASK = ROOT / "tests" / "programbench" / "number"
OFFLINE = {"HF_HUB_OFFLINE": "1"}


@dataclass(frozen=True)
class Number:
    """The instance, and the variables that make everybody find it."""

    id: str
    image: str
    variables: Mapping[str, str]

    def solve(self, folder: Path, model: str, *options: str, **extra: str) -> Done:
        """One trial through the command line."""
        argv = ("solve", "--task", f"programbench/{self.id}", "--model", model, "--json", *options)
        return agent(folder, *argv, timeout=170, **{**OFFLINE, **self.variables, **extra})


def made(name: str, *argv: str) -> str:
    """What `scripts/rebuild-NAME` prints."""
    command = [sys.executable, "-m", f"scripts.rebuild.{name}", *argv]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="session")
def number_image() -> str:
    """The image of the builder in scripts/, with the original in it."""
    return made("image", "bsdgames", "/usr/games/number")


@pytest.fixture(scope="session")
def number(number_image: str, tmp_path_factory: pytest.TempPathFactory) -> Number:
    """The instance. Its image's name holds the hash of what it is made of, so that two checkouts do not meet."""
    inspect = ["docker", "image", "inspect", "--format", "{{.Id}}", number_image]
    base = subprocess.run(inspect, capture_output=True, check=True).stdout
    content = hashlib.sha256(base + (ROOT / "scripts" / "rebuild" / "cleanroom" / "Dockerfile").read_bytes())
    organisation = f"retrace-test-{content.hexdigest()[:12]}"
    to = tmp_path_factory.mktemp("number")
    exports = made("programbench", str(TASK), number_image, "--to", str(to), "--organisation", organisation)
    variables = dict(line.removeprefix("export ").split("=", 1) for line in exports.splitlines())
    (directory,) = (to / "tasks").iterdir()
    image = f"{organisation}/{directory.name.replace('__', '_1776_')}:task_cleanroom_v6"
    return Number(directory.name, image, variables)
