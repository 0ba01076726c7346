"""The tutorial works when its commands are typed in order."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/tutorial/first-trial.md"


@pytest.mark.docker
def test_the_commands_of_the_tutorial_work_in_order(tmp_path: Path) -> None:
    blocks = re.findall(
        r"<!-- executed by tests/packaging/test_tutorial.py -->\n```sh\n(.*?)```", PAGE.read_text(), re.S
    )
    assert len(blocks) == PAGE.read_text().count("```sh")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "agent"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m agent.cli.main "$@"\n')
    program.chmod(0o755)
    variables = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    command = ["bash", "-euo", "pipefail", "-c", "\n".join(blocks)]
    result = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("verdict: passed, quality 1.000") >= 2
    assert "the workspace is equal" in result.stdout
