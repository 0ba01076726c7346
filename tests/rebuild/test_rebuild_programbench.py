"""`agent tasks make rebuild programbench`: errors are one line, and a test that the original fails does not count.

tests/programbench/offline uses such instances with the official evaluator.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.rebuild.containers import ROOT, make_rebuild

NUMBER = ROOT / "tests" / "programbench" / "number"
IMAGE = "retrace-test-no-such-image:1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((str(NUMBER), IMAGE, "--organization", "programbench"), "would hide the benchmark's own"),
        ((str(NUMBER), IMAGE, "--owner", "Re__trace"), "--owner: 'Re__trace' cannot be part of an id"),
        ((str(ROOT / "docs"), IMAGE), "no group has a test_*.py"),
    ],
)
def test_a_usage_error_is_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    process = make_rebuild("programbench", *arguments, "--output", str(tmp_path))
    assert (process.status, process.out) == (2, "")
    assert message in process.err
    assert process.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.docker
def test_a_missing_image_is_named_in_one_line(tmp_path: Path) -> None:
    process = make_rebuild("programbench", str(NUMBER), IMAGE, "--output", str(tmp_path))
    assert process.status == 2
    assert IMAGE in process.err
    assert process.err.count("\n") == 1


@pytest.mark.docker
def test_a_test_that_the_original_fails_is_listed_as_ignored(tmp_path: Path) -> None:
    base = make_rebuild("image", "bsdgames", "/usr/games/number").out.strip()
    task = tmp_path / "a number" / "number"
    shutil.copytree(NUMBER, task)
    cases = task / "tests" / "numbers" / "cases.json"
    cases.write_text(cases.read_text().replace('"one million."', '"one billion."', 1))
    shutil.rmtree(task / "tests" / "lines")
    organization = f"retrace-test-{os.getpid()}"
    process = make_rebuild(
        "programbench", str(task), base, "--output", str(tmp_path / "to"), "--organization", organization
    )
    try:
        assert process.status == 0, process.err
        exports = dict(word.split("=", 1) for word in shlex.split(process.out) if "=" in word)
        (instance,) = Path(exports["RETRACE_PROGRAMBENCH_TASKS"]).iterdir()
        (branch,) = json.loads((instance / "tests.json").read_text())["branches"].values()
        assert len(branch["tests"]) == 28
        (ignored,) = branch["ignored_tests"]
        assert ignored["reasons"] == [{"id": "gold_fail"}]
        assert ignored["name"].startswith("eval.tests.numbers.test_numbers.test_numbers[")
        assert ignored["name"] in process.err
        assert (instance / "solution" / "number.c").is_file()
    finally:
        image = f"{organization}/{instance.name.replace('__', '_1776_')}:task_cleanroom_v6"
        subprocess.run(["docker", "rmi", image], capture_output=True)
