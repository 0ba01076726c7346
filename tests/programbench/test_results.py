"""The evaluator's result as it counts on the leaderboard; its log; and the source of the hidden tests."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from benchmarks.programbench.instances import Instance
from benchmarks.programbench.official import facts, hidden_tests, results
from benchmarks.programbench.official.log_errors import last_error
from tests.programbench.clean_room import CALCULATOR, CALCULATOR_BRANCH

BRANCHES = {
    "aaaaaaaaaaaa": {
        "ignored": False,
        "tests": ["t.one", "t.two", "t.flaky[a b]"],
        "ignored_tests": [{"name": "t.flaky[a b]", "reasons": [{"id": "gold_flaky"}]}],
    },
    "bbbbbbbbbbbb": {"ignored": True, "tests": ["t.three"], "ignored_tests": []},
    "cccccccccccc": {"ignored": False, "tests": [], "ignored_tests": []},
}


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    (tmp_path / "tests.json").write_text(json.dumps({"branches": BRANCHES}))
    return Instance("o__r.1234567", "o/r", "0" * 40, "c", "", (), tmp_path, own=True)


@pytest.fixture
def read(instance: Instance, tmp_path: Path):
    """Return a function that reads an eval.json with these tests (branch, name, status, extra) and fields."""

    def read_result(*tests: tuple[str, str, str, dict[str, Any]], **fields: Any) -> results.Results:
        test_results = [
            {"branch": branch * 12, "name": name, "status": status, "extra": extra}
            for branch, name, status, extra in tests
        ]
        path = tmp_path / "o__r.1234567.eval.json"
        path.write_text(json.dumps({"test_results": test_results, "test_branches": list(BRANCHES), **fields}))
        return results.read(path, instance)

    return read_result


def test_the_last_result_of_each_name_counts_except_ignored_ones(read) -> None:
    result = read(
        ("a", "t.one", "failure", {"message": "once"}),
        ("a", "t.one", "passed", {"time": 0.5}),
        ("a", "t.flaky[a b]", "failure", {}),
        ("a", "t.new", "passed", {}),
        ("b", "t.three", "failure", {}),
        ("c", "t.surprise", "skipped", {}),
        warnings=["branch x: 2 test(s) in JUnit XML not in tests.json"],
    )
    assert {case.id: case.status for case in result.cases} == {
        "aaaaaaaaaaaa/t.one": "passed",
        "aaaaaaaaaaaa/t.new": "passed",
        "cccccccccccc/t.surprise": "skipped",
    }
    assert result.quality == 2 / 3
    assert result.cases[0].seconds == 0.5
    assert result.notes == ("branch x: 2 test(s) in JUnit XML not in tests.json",)


def test_only_the_status_passed_counts_and_messages_are_short(read) -> None:
    result = read(
        ("a", "t.one", "error", {"message": "x" * 10_000}),
        ("a", "t.two", "not_run", {"error_code": "missing_from_junit_xml"}),
        ("a", "t.both", "system_error", {"error_details": "Expected 1 result, got 2"}),
    )
    assert [case.status for case in result.cases] == ["error", "missing", "error"]
    assert len(result.cases[0].message) < 1000
    assert [case.message for case in result.cases[1:]] == ["missing_from_junit_xml", "Expected 1 result, got 2"]
    assert (result.quality, result.resolved, result.almost) == (0.0, False, False)


@pytest.mark.parametrize(("passed", "resolved", "almost"), [(100, True, True), (95, False, True), (94, False, False)])
def test_resolved_is_all_tests_and_almost_is_95_percent(read, passed: int, resolved: bool, almost: bool) -> None:
    result = read(*(("a", f"t.{number}", "passed" if number < passed else "skipped", {}) for number in range(100)))
    assert (result.resolved, result.almost) == (resolved, almost)


def test_active_branches_without_a_result_are_noted(read) -> None:
    error = [{"error_code": "results_read_failed", "error_details": "Could not find the file\nmore"}]
    result = read(("a", "t.one", "passed", {}), test_branch_errors={"aaaaaaaaaaaa": error, "bbbbbbbbbbbb": error})
    assert result.notes == ("branch aaaaaaaaaaaa: results_read_failed: Could not find the file",)


def test_failed_steps_tell_of_a_full_disk_and_of_time(read) -> None:
    def branch_error(details: str) -> dict[str, Any]:
        return {"aaaaaaaaaaaa": [{"error_code": "results_read_failed", "error_details": details}]}

    gone = read(test_branch_errors=branch_error("Error response from daemon: Could not find the file"))
    assert (gone.branches_failed, gone.disk_full) == (("aaaaaaaaaaaa",), False)
    assert read(test_branch_errors=branch_error("open /tmp/x/tmp1.xml: no space left on device")).disk_full
    assert read(error_code="compile_failed", error_details="ld: No space left on device").disk_full
    assert not read(error_code=None, error_details="no space left on device").disk_full
    cut = {"step": "compile", "returncode": -1, "exception_info": "Command timed out after 900s"}
    assert read(error_code="compile_failed", error_details="", log=[cut]).timed_out


def test_reruns_follow_the_installation_step_and_a_cut_off_step_has_a_reason(read) -> None:
    step = {"step": "install_rerunfailures", "returncode": 0}
    assert read(log=[step]).reruns == "yes"
    assert read(log=[{**step, "returncode": 1}]).reruns == "no"
    cut = {"step": "compile", "returncode": -1, "exception_info": "Command timed out after 900s"}
    result = read(error_code="compile_failed", error_details="", log=[cut])
    assert (result.reruns, result.error_details) == ("not reached", "Command timed out after 900s")


@pytest.mark.parametrize("content", ["", '{"test_results": [{"na', '{"other": 1}', "[]"])
def test_a_torn_result_is_an_error(instance: Instance, tmp_path: Path, content: str) -> None:
    path = tmp_path / "o__r.1234567.eval.json"
    path.write_text(content)
    with pytest.raises(results.Torn, match=r"eval\.json that is cut off or malformed"):
        results.read(path, instance)
    path.unlink()
    with pytest.raises(results.Torn, match=r"left no o__r\.1234567\.eval\.json"):
        results.read(path, instance)


# --- the log -----------------------------------------------------------------------------------------------


def test_the_error_is_the_exception_after_the_instance_s_last_failure() -> None:
    log = """Evaluating: 0%
Error evaluating o__r.1: Failed to start container: docker: no

Run 'docker run --help'
Traceback (most recent call last):
  File "container.py", line 62, in __init__
    raise RuntimeError(f"Failed to start container: {result.stderr.strip()}")
RuntimeError: Failed to start container: docker: no

Run 'docker run --help'
   Evaluation Summary
"""
    assert last_error(log) == "RuntimeError: Failed to start container: docker: no"
    assert last_error("No instances to evaluate.\n") == "No instances to evaluate."
    assert last_error("") == "no output"


# --- hidden tests --------------------------------------------------------------------------------------------


def test_the_dataset_s_revision_is_the_commit_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The evaluator gets that very commit, even if `main` has moved."""
    from benchmarks.programbench import instances

    commit = "0123456789abcdef0123456789abcdef01234567"
    cache = tmp_path / "hub" / "datasets--programbench--ProgramBench-Tests"
    archive = cache / "snapshots" / commit / CALCULATOR / "tests" / f"{CALCULATOR_BRANCH}.tar.gz"
    archive.parent.mkdir(parents=True)
    archive.touch()
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text(commit)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("PROGRAMBENCH_BLOB_DIR", raising=False)
    result = hidden_tests.find(instances.instance(CALCULATOR), tmp_path / "log")
    assert result == hidden_tests.HiddenTests(cache / "snapshots" / commit, commit, official=True)
    archive.unlink()
    with pytest.raises(hidden_tests.NoTests, match=rf"there is no .*{CALCULATOR_BRANCH}\.tar\.gz"):
        hidden_tests.find(instances.instance(CALCULATOR), tmp_path / "log")


def test_an_archive_without_its_runner_is_an_error_of_the_evaluator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package would count all its tests as not passed."""
    from benchmarks.programbench import instances

    archive = tmp_path / CALCULATOR / "tests" / f"{CALCULATOR_BRANCH}.tar.gz"
    archive.parent.mkdir(parents=True)
    monkeypatch.setenv("PROGRAMBENCH_BLOB_DIR", str(tmp_path))
    source = tmp_path / "run.sh"
    source.write_text("true\n")
    for name in ("other/eval/run.sh", "./eval/run.sh"):
        with tarfile.open(archive, "w:gz") as tests:
            tests.add(source, name)
        if name.startswith("other"):
            with pytest.raises(hidden_tests.NoTests, match=r"has no eval/run\.sh"):
                hidden_tests.find(instances.instance(CALCULATOR), tmp_path / "log")
    assert not hidden_tests.find(instances.instance(CALCULATOR), tmp_path / "log").official
    archive.write_bytes(archive.read_bytes()[:20])
    with pytest.raises(hidden_tests.NoTests, match=r"is no whole tar\.gz"):
        hidden_tests.find(instances.instance(CALCULATOR), tmp_path / "log")


def test_the_branch_that_is_tested_is_told_with_the_tests_before_it(tmp_path: Path) -> None:
    progress, sizes = tmp_path / "progress", {"first": 1200, "second": 300, "third": 5}
    assert facts.how_far(progress, sizes) == ""
    progress.write_text("first\nsecond\nnonsense\n")
    assert facts.how_far(progress, sizes) == "evaluation: branch 2 of 3, 1,200 of 1,505 tests have run"
