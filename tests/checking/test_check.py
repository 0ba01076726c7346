"""`agent tasks check`, on small tasks of our own format in environments of this machine."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent.checking.check import check_task
from agent.checking.findings import Finding, Report
from agent.checking.proofs import _of_sets
from agent.cli.main import app
from agent.errors import MachineError, UserError
from agent.trial.options import Options
from benchmarks.task.task import Benchmark, Task
from tests.demo_images import demo_image
from trajectories.record.verdict import Case, Evaluator, Verdict

TASK = "title: Count\nkind: repair\nenvironments: [sandbox, local]\nlimits: {steps: 5}\nevaluation: {timeout: 30}\n"
TEST = "def test_answer(candidate):\n    assert candidate().stdout.strip() == b'42'\n"
SOLUTION = "#!/bin/sh\necho 42\n"
pytestmark = pytest.mark.sandbox


def make_task(folder: Path, files: dict[str, str]) -> Path:
    """Write a task whose suite looks at one file, with these files replaced or added."""
    everything = {
        "task.yaml": TASK,
        "instruction.md": "Write 42.",
        "tests/test_it.py": TEST,
        "solution/executable": SOLUTION,
    }
    for name, text in {**everything, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def statuses(report: Report) -> dict[str, str]:
    return {finding.check: finding.status for finding in report.findings}


def details(report: Report) -> dict[str, str]:
    return {finding.check: finding.detail for finding in report.findings}


def check(folder: Path, fast: bool = False) -> Report:
    return check_task(Options(model="nop", task=str(folder)), fast=fast)


def test_a_good_task_passes_every_check(tmp_path: Path) -> None:
    task = make_task(tmp_path / "good", {})
    result = CliRunner().invoke(app, ["tasks", "check", str(task), "--json"], prog_name="agent", standalone_mode=False)
    assert result.exception is None
    (report,) = json.loads(result.stdout)["tasks"]
    assert (report["task"], report["format"], report["usable"]) == ("path/good", "retrace", True)
    assert {finding["check"]: finding["status"] for finding in report["findings"]} == dict.fromkeys(
        ["task file", "environment", "programs", "hidden tests", "nop", "oracle", "same result"], "passed"
    )
    assert not list(tmp_path.glob("runs*"))


def test_tests_that_prove_nothing_and_are_visible_are_reported(tmp_path: Path) -> None:
    test = "def test_answer():\n    assert 'everybody' > 'can pass this test'\n"
    task = make_task(tmp_path / "bad", {"tests/test_it.py": test, "workspace/docs/example.txt": test})
    report = check(task)
    assert not report.usable
    assert statuses(report)["nop"] == statuses(report)["hidden tests"] == "failed"
    assert details(report)["nop"] == "doing nothing passes, so the tests prove nothing"
    assert "docs/example.txt is tests/test_it.py" in details(report)["hidden tests"]


def test_a_wrong_solution_is_reported(tmp_path: Path) -> None:
    test = TEST + "\n\ndef test_nothing():\n    pass\n"
    task = make_task(tmp_path / "wrong", {"tests/test_it.py": test, "solution/executable": "#!/bin/sh\n"})
    report = check(task)
    assert statuses(report)["oracle"] == "failed"
    assert details(report)["oracle"].startswith("the solution fails (1 of 2 tests pass): ")


def test_a_suite_that_is_not_the_same_each_time_is_reported(tmp_path: Path) -> None:
    """It passes the oracle, whose evaluation is the second one after that of nop, and fails afterwards."""
    count = tmp_path / "count"
    test = TEST + (
        f"    count = __import__('pathlib').Path({str(count)!r})\n"
        "    count.write_text((count.read_text() if count.exists() else '') + '.')\n"
        "    assert count.stat().st_size < 2\n"
    )
    report = check(make_task(tmp_path / "flaky", {"tests/test_it.py": test}))
    assert statuses(report) | {"oracle": "passed", "same result": "failed"} == statuses(report)
    assert details(report)["same result"] == (
        "two evaluations of one submission differ in passed, quality, test_it.py::test_answer"
    )


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        (
            {"f2p_pass": 0.0, "f2p_step": 0.2, "p2p_pass": 1.0},
            {"F2P at the start": "passed", "P2P at the start": "passed"},
        ),
        ({"f2p_pass": 1.0, "p2p_pass": 0.0}, {"F2P at the start": "failed", "P2P at the start": "failed"}),
        ({"f2p_pass": 0.0}, {"F2P at the start": "passed"}),
        ({}, {}),
    ],
)
def test_the_untouched_start_fails_f2p_and_passes_p2p(metrics: dict[str, float], expected: dict[str, str]) -> None:
    verdict = Verdict(
        status="scored",
        passed=False,
        quality=0.0,
        metrics=metrics,
        evaluator=Evaluator(name="e", version="1"),
        isolation="-",
    )
    assert {finding.check: finding.status for finding in _of_sets(verdict)} == expected


def test_the_sets_of_our_own_format_are_its_groups_of_that_name() -> None:
    statuses = {"F2P/a::x": "failed", "P2P/b::y": "passed", "P2P/b::z": "failed", "other/c::z": "failed"}
    cases = tuple(Case(id=id, group=id.partition("/")[0], status=status) for id, status in statuses.items())
    verdict = Verdict(
        status="scored",
        passed=False,
        quality=0.25,
        cases=cases,
        evaluator=Evaluator(name="e", version="1"),
        isolation="-",
    )
    f2p, p2p = _of_sets(verdict)
    assert (f2p.check, f2p.status) == ("F2P at the start", "passed")
    assert (p2p.check, p2p.status) == ("P2P at the start", "failed")
    assert p2p.detail == "step score of the untouched repository: 0.5; the untouched repository fails P2P/b::z"


def test_the_files_of_programbench_have_no_format_of_ours() -> None:
    report = check_task(Options(model="nop", task="programbench/ffmpeg"), fast=True)
    assert (report.format, statuses(report)) == ("", {"task file": "passed"})


def test_a_task_that_cannot_be_read_is_a_failed_check_with_all_mistakes(tmp_path: Path) -> None:
    task = make_task(tmp_path / "typo", {"task.yaml": TASK.replace("title", "titel"), "instruction.md": ""})
    result = CliRunner().invoke(app, ["tasks", "check", str(task), "--fast"], prog_name="agent")
    assert result.exit_code == 1
    assert f"failed  task file: {task}/task.yaml: title: is missing; line 1: titel: unknown key" in result.output
    assert "instruction.md: is empty" in result.output


def test_a_name_that_no_task_has_is_a_usage_error(tmp_path: Path) -> None:
    for name in ("demo/ledgr", str(tmp_path), str(tmp_path / "nothing")):
        with pytest.raises(UserError):
            check_task(Options(model="nop", task=name), fast=True)


def test_an_unknown_name_is_refused_before_anything_is_checked(tmp_path: Path) -> None:
    task = make_task(tmp_path / "good", {})
    result = CliRunner().invoke(app, ["tasks", "check", str(task), "demo/ledgr", "x/y", "--fast"], prog_name="agent")
    assert isinstance(result.exception, UserError)
    assert "unknown task 'demo/ledgr'" in str(result.exception)
    assert "unknown task 'x/y'" in str(result.exception)
    assert result.stdout == ""


def test_the_results_before_a_failure_of_the_machine_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [str(make_task(tmp_path / name, {})) for name in ("first", "second")]

    def started(benchmark: Benchmark, task: Task, kind: str) -> Iterator[Finding]:
        yield Finding(check="programs", status="failed")
        if task.id == "path/second":
            raise MachineError("the daemon is gone")

    monkeypatch.setattr("agent.checking.check._started", started)
    result = CliRunner().invoke(app, ["tasks", "check", *tasks, "--json"], prog_name="agent")
    assert isinstance(result.exception, MachineError)
    assert [report["task"] for report in json.loads(result.stdout)["tasks"]] == ["path/first"]


@pytest.mark.docker
@pytest.mark.slow
def test_published_layouts_are_proved_in_containers_and_leave_no_image(tmp_path: Path) -> None:
    from environments.docker import daemon
    from tests.families.harbor_samples import BASE, HARBOR
    from tests.families.terminalbench_samples import BASES, LONGCLI, TERMINAL_BENCH

    def commits() -> set[str]:
        return {tag for image in api.images("retrace-checkpoint") for tag in image["RepoTags"] or ()}

    image = demo_image("ledger")
    assert image is not None
    api = daemon.connect()
    bases = dict.fromkeys((*BASES, BASE), image)
    samples = ((TERMINAL_BENCH / "count-lines", set()), (LONGCLI / "greet", {"F2P at the start"}))
    for folder, sets in (*samples, (HARBOR / "pipeline", set())):
        name = f"{folder.name}-{os.getpid()}"
        shutil.copytree(folder, tmp_path / name)
        report = check_task(Options(model="nop", task=str(tmp_path / name), base_images=bases), fast=False)
        assert report.usable, report
        assert sets | {"oracle", "nop", "same result"} <= statuses(report).keys()
        assert not [tag for tag in commits() if f":{name}." in tag]
    api.close()
