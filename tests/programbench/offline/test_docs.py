"""The commands in docs/howto/programbench.md work, or at least exist."""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programbench.offline.conftest import OFFLINE, ROOT
from tests.solve.command import environment

DOC = ROOT / "docs" / "howto" / "programbench.md"
BLOCKS = re.findall(r"(<!-- executed by [^\n]*-->\n)?```sh\n(.*?)```", DOC.read_text(), re.S)
COMMANDS = [line for marked, block in BLOCKS if not marked for line in block.splitlines() if line.strip()]
AGENT = "import sys; sys.argv[0] = 'agent'; from agent.cli.main import main; main()"
OFFICIAL = "from programbench.cli.main import app; app()"


@functools.cache
def usage(*words: str) -> str:
    code = AGENT if words[0] == "agent" else OFFICIAL
    command = [sys.executable, "-c", code, *words[1:], "--help"]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"}, cwd=ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize("line", COMMANDS)
def test_the_commands_and_options_exist(line: str) -> None:
    words = shlex.split(line)
    verbs = 3 if words[:2] in (["agent", "tasks"], ["programbench", "submit"]) else 2
    help_text = usage(*words[:verbs])
    for option in (word for word in words if word.startswith("--")):
        assert re.search(rf"{option}\b", help_text), f"{' '.join(words[:verbs])} has no {option}"


@pytest.mark.docker
def test_the_example_without_internet_works(number_image: str, tmp_path: Path) -> None:
    (script,) = (block for marked, block in BLOCKS if marked)
    for name in ("scripts", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "agent").write_text(f'#!/bin/sh\nexec {sys.executable} -m agent.cli.main "$@"\n')
    (tmp_path / "bin" / "agent").chmod(0o755)
    variables = environment(tmp_path, PATH=f"{tmp_path}/bin:{os.environ['PATH']}", **OFFLINE)
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "solution: yes" in result.stdout
    assert "verdict: passed, quality 1.000" in result.stdout
