"""A test script runs as root with files that replace what was there, and only plain result files are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.judging.faults import SubmissionFailed
from benchmarks.judging.system.script_run import RESULT_BYTES, ScriptRun

from .conftest import Judged, suite_of

pytestmark = pytest.mark.docker
Start = Callable[[str], Judged]
REWARD = "/logs/verifier/reward.txt"


def run(script: str, directory: Path | None = None, **changes: object) -> ScriptRun:
    files = {} if directory is None else {"/tests": suite_of(directory, test__sh="cat /tests/data.txt", data__txt="42")}
    options = {"deadline_s": 20.0, "results": (REWARD,), "private": ("/logs/verifier",), "files": files, **changes}
    return ScriptRun(script, **options)  # type: ignore[arg-type]


def test_the_files_replace_the_whole_directory_and_the_result_is_read(judged: Start, tmp_path: Path) -> None:
    container = judged("agent")
    container.root("mkdir -p /tests /elsewhere; touch /tests/old /elsewhere/kept; ln -s /elsewhere /logs")
    result = container.judge(run(f"cd /tests; ls; id -u; read x; echo $?; bash test.sh >{REWARD}", tmp_path))
    assert result.execution.output == b"data.txt\ntest.sh\n0\n1\n"
    assert result.results == {REWARD: b"42"}
    assert result.ended_by(20) is None
    assert container.root("ls /elsewhere; ls -d /.retrace* 2>&1 | grep -c cannot").output == b"kept\n1\n"


def test_a_linked_directory_of_tests_is_replaced_and_its_target_is_kept(judged: Start, tmp_path: Path) -> None:
    container = judged("agent")
    container.root("rm -rf /tests; mkdir -p /mine; echo mine >/mine/data.txt; ln -s /mine /tests")
    assert container.judge(run(f"cp /tests/data.txt {REWARD}", tmp_path)).results[REWARD] == b"42"
    assert container.root("cat /mine/data.txt").output == b"mine\n"


@pytest.mark.parametrize(
    "script",
    [f"ln -s /etc/passwd {REWARD}", f"mkfifo {REWARD}", f"mkdir {REWARD}; touch {REWARD}/x", "true"],
    ids=["link", "pipe", "directory", "missing"],
)
def test_only_a_plain_file_is_a_result(judged: Start, script: str) -> None:
    assert judged("agent").judge(run(script)).results == {}


def test_a_result_that_is_too_large_is_the_submissions_fault(judged: Start) -> None:
    with pytest.raises(SubmissionFailed, match="8 MiB"):
        judged("agent").judge(run(f"truncate -s {RESULT_BYTES + 1} {REWARD}"))


def test_the_end_of_the_script_is_told(judged: Start) -> None:
    container = judged("agent")
    late = container.judge(run("sleep 60 & sleep 60", deadline_s=0.5)).ended_by(0.5)
    assert late is not None
    assert (late.cause, late.reason) == ("time", "the tests had not finished after 0.5 s")
    loud = container.judge(run("yes", output_bytes=1 << 20)).ended_by(20)
    assert loud is not None
    assert loud.cause == "output"
    assert container.judge(run("exit 7")).execution.exit_code == 7
    assert container.agent("cat /proc/[0-9]*/comm | grep -cE '^(sleep|yes)$'").output == b"0\n"


def test_another_user_runs_the_script_and_the_image_gives_its_variables(judged: Start) -> None:
    container = judged("agent")
    result = container.judge(run("echo $(id -un) $HOME $A $(pwd)", user="agent", env={"A": "1"}))
    assert result.execution.output == b"agent /home/agent 1 /workspace\n"
