"""`scripts/rebuild-programbench`: mistakes are one line, and a test that the original fails does not count.

That what it makes works is shown by tests/programbench/offline, through the official evaluator.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.rebuild.containers import ROOT, script

NUMBER = ROOT / "tests" / "programbench" / "number"
IMAGE = "retrace-test-no-such-image:1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((str(NUMBER), IMAGE, "--organisation", "programbench"), "would stand before the real one"),
        ((str(NUMBER), IMAGE, "--owner", "Re__trace"), "--owner: 'Re__trace' cannot be part of an id"),
        ((str(ROOT / "docs"), IMAGE), "no group has a test_*.py"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = script("programbench", *arguments, "--to", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.docker
def test_an_image_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = script("programbench", str(NUMBER), IMAGE, "--to", str(tmp_path))
    assert done.returncode == 2
    assert IMAGE in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.docker
def test_a_test_that_the_original_fails_is_listed_as_ignored(tmp_path: Path) -> None:
    base = script("image", "bsdgames", "/usr/games/number").stdout.strip()
    task = tmp_path / "a number" / "number"
    shutil.copytree(NUMBER, task)
    cases = task / "tests" / "numbers" / "cases.json"
    cases.write_text(cases.read_text().replace('"one million."', '"one billion."', 1))
    shutil.rmtree(task / "tests" / "lines")
    organisation = f"retrace-test-{os.getpid()}"
    done = script("programbench", str(task), base, "--to", str(tmp_path / "to"), "--organisation", organisation)
    try:
        assert done.returncode == 0, done.stderr
        exports = dict(word.split("=", 1) for word in shlex.split(done.stdout) if "=" in word)
        (made,) = Path(exports["RETRACE_PROGRAMBENCH_TASKS"]).iterdir()
        (branch,) = json.loads((made / "tests.json").read_text())["branches"].values()
        assert len(branch["tests"]) == 28
        (ignored,) = branch["ignored_tests"]
        assert ignored["reasons"] == [{"id": "gold_fail"}]
        assert ignored["name"].startswith("eval.tests.numbers.test_numbers.test_numbers[")
        assert ignored["name"] in done.stderr
        assert (made / "solution" / "number.c").is_file()
    finally:
        image = f"{organisation}/{made.name.replace('__', '_1776_')}:task_cleanroom_v6"
        subprocess.run(["docker", "rmi", image], capture_output=True)
