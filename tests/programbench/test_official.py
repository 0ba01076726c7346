"""The package's own evaluator gives the verdict; every failure around it is an error and never a score."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from benchmarks.judging import progress
from benchmarks.programbench import instances
from benchmarks.programbench.adapter import ProgramBench
from benchmarks.programbench.official import evaluator
from benchmarks.task.feedback import FeedbackContent
from benchmarks.task.submission import Archive
from environments.leftovers import owner
from tests.benchmarks.work import Notes
from tests.programbench import clean_room
from tests.programbench.clean_room import ADDS, CALCULATOR, CALCULATOR_BRANCH, COMPILE, calculator
from tests.programbench.conftest import Files
from tests.programbench.daemon_saw import containers_made, left
from trajectories.record.events import FeedbackForm
from trajectories.record.verdict import Verdict

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("offline")]


def statuses(verdict: Verdict) -> dict[str, str]:
    return {case.id.rpartition("_")[2]: case.status for case in verdict.cases}


def fed_back(verdict: Verdict, folder: Path, form: FeedbackForm) -> FeedbackContent:
    benchmark = ProgramBench()
    return benchmark.feedback(benchmark.load(CALCULATOR), verdict, folder / "evaluation", form)


# --- scores ----------------------------------------------------------------------------------------------


def test_a_correct_program_is_resolved_and_the_verdict_has_its_inputs(
    judge: Callable[..., Verdict],
    tmp_path: Path,
    calculator_image: clean_room.CleanRoom,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.05)
    notes = Notes()
    verdict = judge(calculator(), reporter=notes)
    assert notes.lines == [
        "evaluation: building in the clean-room image, at most 900 s",
        "evaluation: the official evaluator builds",
        "evaluation: branch 1 of 1, 0 of 3 tests have run",
    ]
    assert (verdict.status, verdict.passed, verdict.quality) == ("scored", True, 1.0)
    assert verdict.metrics == {"resolved": 1.0, "almost": 1.0, "tests": 3.0}
    assert {case.group for case in verdict.cases} == {CALCULATOR_BRANCH}
    assert verdict.cases[0].id == f"{CALCULATOR_BRANCH}/tests.test_calculator.test_addition"
    inputs = verdict.evaluator.inputs
    assert verdict.evaluator.version == version("programbench")
    assert inputs["image"] == calculator_image.reference
    assert inputs["image_digest"].startswith("sha256:")
    assert inputs["tests"].startswith("local:")
    assert inputs["docker_cpus"] == str(min(10, os.cpu_count() or 1))
    assert (inputs["reruns"], inputs["official"]) == ("no", "no")
    assert any("is local: no registry is known to have it" in note for note in verdict.notes)
    assert sorted(path.name for path in (tmp_path / "evaluation").iterdir()) == [
        "changes.json", "compile.log", "prepared.json", "programbench.log", "submission.tar.gz",
        f"{CALCULATOR}.eval.json",
    ]  # fmt: skip
    assert not left(f"{owner.PID}={os.getpid()}")


def test_a_partial_program_gets_partial_credit_with_messages(judge: Callable[..., Verdict], tmp_path: Path) -> None:
    verdict = judge(calculator(ADDS))
    assert (verdict.passed, verdict.quality) == (False, 1 / 3)
    assert statuses(verdict) == {"addition": "passed", "subtraction": "failed", "multiplication": "failed"}
    assert verdict.cases[1].message.startswith("AssertionError: assert '' == '7'")
    hidden = fed_back(verdict, tmp_path, "scores")
    assert hidden.text == "group 1: 1 of 3 tests passed\nall: 1 of 3 tests passed"
    assert not any(word in repr(hidden) for word in (CALCULATOR_BRANCH, "subtraction", "AssertionError"))
    assert "test_subtraction" in fed_back(verdict, tmp_path, "output").text


@pytest.mark.parametrize(
    ("files", "code", "message"),
    [
        ({}, "compile_failed", "cannot access './compile.sh'"),
        (calculator(compile_sh="#!/bin/sh\necho no such compiler; exit 1\n"), "compile_failed", "no such compiler"),
        ({"compile.sh": "#!/bin/sh\nchmod +x executable\n", "executable": "#!/bin/sh\n"}, "compile_failed", "chmod"),
        (calculator(compile_sh="#!/bin/sh\n"), "copy_executable_failed", "executable"),
    ],
    ids=["nothing", "does not compile", "brings a built program", "makes no executable"],
)
def test_a_submission_that_does_not_build_scores_zero(
    judge: Callable[..., Verdict], files: Files, code: str, message: str, tmp_path: Path
) -> None:
    verdict = judge(files)
    assert (verdict.status, verdict.passed, verdict.quality) == ("scored", False, 0.0)
    assert statuses(verdict) == {"addition": "missing", "subtraction": "missing", "multiplication": "missing"}
    (note,) = [note for note in verdict.notes if note.startswith(code)]
    assert message in note
    content = fed_back(verdict, tmp_path, "scores")
    assert content.text.startswith("The build failed, so no test ran.")
    assert message in content.text
    assert not any(word in repr(content) for word in (CALCULATOR_BRANCH, "subtraction"))


def test_a_build_that_hangs_scores_zero_without_the_official_evaluator(judge: Callable[..., Verdict]) -> None:
    began = time.time()
    verdict = judge(calculator(compile_sh="#!/bin/sh\nsleep 1000\n"), check_s=1)
    assert (verdict.status, verdict.quality, len(verdict.cases)) == ("scored", 0.0, 3)
    assert "had not finished after 1 s; the official evaluator, which gives it 900 s" in verdict.notes[0]
    assert len(containers_made(began)) == 1


def test_output_that_is_not_utf8_counts_as_on_the_leaderboard(judge: Callable[..., Verdict], tmp_path: Path) -> None:
    """The official evaluator crashes without a result, which counts as 0, although the program is correct."""
    verdict = judge(calculator(compile_sh=f"{COMPILE}printf '\\377'\n"))
    assert not (tmp_path / "evaluation" / f"{CALCULATOR}.eval.json").exists()
    assert (verdict.status, verdict.quality, len(verdict.cases)) == ("scored", 0.0, 3)
    assert "not UTF-8" in verdict.notes[0]
    assert "UnicodeDecodeError" in verdict.notes[0]


def test_the_original_under_another_name_is_left_out(
    judge: Callable[..., Verdict], calculator_image: clean_room.CleanRoom
) -> None:
    """The new name has a quote, at which the evaluator's own removal fails; this task's data has no hash."""
    command = ["docker", "run", "--rm", "--network", "none", calculator_image.reference, "cat", "/workspace/executable"]
    program = subprocess.run(command, capture_output=True, check=True).stdout
    cheat = {"it's data.bin": program, "compile.sh": '#!/bin/sh\ncp "it\'s data.bin" executable\n'}
    verdict = judge(cheat)
    assert (verdict.status, verdict.quality) == ("scored", 0.0)
    assert any(note.startswith("left out of the submission") and "it's data.bin" in note for note in verdict.notes)


def test_the_score_of_a_variant_is_not_official(workspace: Callable[..., Path], offline: Path, tmp_path: Path) -> None:
    benchmark = ProgramBench()
    task = benchmark.vary(benchmark.load(CALCULATOR), ("internet",))
    left = Archive(workspace(calculator(compile_sh=None)))
    verdict = benchmark.evaluate(task, left, "docker", tmp_path / "evaluation")
    assert verdict.status == "scored"
    assert f"not an official score: {task.id} was solved as its variant internet" in verdict.notes


# --- errors ----------------------------------------------------------------------------------------------


def test_missing_tests_are_an_error_before_any_container_starts(
    judge: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PROGRAMBENCH_BLOB_DIR", str(tmp_path))
    began = time.time()
    verdict = judge(calculator())
    assert (verdict.status, verdict.quality) == ("error", None)
    assert f"there is no {tmp_path}/{CALCULATOR}/tests/{CALCULATOR_BRANCH}.tar.gz" in verdict.error
    assert containers_made(began) == []


def test_a_failed_download_of_the_tests_is_one_line(
    judge: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PROGRAMBENCH_BLOB_DIR")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "nothing cached"))
    verdict = judge(calculator())
    assert verdict.status == "error"
    assert "cannot be downloaded" in verdict.error
    assert "LocalEntryNotFoundError" in verdict.error
    assert "\n" not in verdict.error


def test_the_error_for_a_container_that_cannot_start_quotes_the_daemon(
    judge: Callable[..., Verdict], tmp_path: Path
) -> None:
    verdict = judge(calculator(), cpus=1000)
    assert (verdict.status, verdict.passed, verdict.quality) == ("error", None, None)
    assert "RuntimeError: Failed to start container" in verdict.error
    assert "Range of CPUs" in verdict.error
    assert "Traceback" in (tmp_path / "evaluation" / evaluator.LOG).read_text()


def test_a_missing_image_is_an_error(judge: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROGRAMBENCH_DOCKER_ORG", "127.0.0.1:1/nobody")
    verdict = judge(calculator())
    assert verdict.status == "error"
    assert "pulling 127.0.0.1:1/nobody/testorg_1776_calculator" in verdict.error


# --- once more -------------------------------------------------------------------------------------------


def test_only_another_submission_is_evaluated_again(judge: Callable[..., Verdict], tmp_path: Path) -> None:
    first = judge(calculator(ADDS))
    began = time.time()
    second = judge(calculator(ADDS))
    assert containers_made(began) == []
    assert (second.cases, second.evaluator, second.notes) == (first.cases, first.evaluator, first.notes)
    # A result torn by a crash does not count, but the preparation is still used.
    result = tmp_path / "evaluation" / f"{CALCULATOR}.eval.json"
    result.write_bytes(result.read_bytes()[:500])
    began = time.time()
    assert judge(calculator(ADDS)).cases[0].status == "passed"
    assert len(containers_made(began)) == 3  # one that compiles, one for the branch, and a look at the image
    assert statuses(judge({})) == {"addition": "missing", "subtraction": "missing", "multiplication": "missing"}


# --- one's own instances -----------------------------------------------------------------------------------


def test_the_evaluator_finds_own_instances_but_none_replaces_one_of_the_package(
    judge: Callable[..., Verdict],
    workspace: Callable[[Files], Path],
    tmp_path: Path,
    offline: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    id = "retrace-test__calculator.0000001"
    source = instances.instance(CALCULATOR).directory
    shutil.copytree(source, tmp_path / "tasks" / id)
    shutil.copytree(source, tmp_path / "tasks" / CALCULATOR)
    (tmp_path / "tasks" / CALCULATOR / "tests.json").write_text('{"branches": {}}')
    shutil.copytree(offline / CALCULATOR, tmp_path / "blobs" / id)
    shutil.copytree(offline / CALCULATOR, tmp_path / "blobs" / CALCULATOR)
    image = clean_room.clean_room(id, {"README.md": clean_room.CALCULATOR_HELP}, clean_room.IMAGE / "calculator.c")
    monkeypatch.setenv("PROGRAMBENCH_DOCKER_ORG", image.organization)
    monkeypatch.setenv("PROGRAMBENCH_BLOB_DIR", str(tmp_path / "blobs"))
    monkeypatch.setenv(instances.TASKS_VARIABLE, str(tmp_path / "tasks"))
    verdict = evaluator.evaluate(instances.instance(id), workspace(calculator()), tmp_path / "own")
    assert (verdict.status, verdict.quality, verdict.passed) == ("scored", 1.0, True), verdict.error
    assert any(f"{id} is not one of the benchmark's" in note for note in verdict.notes)
    verdict = judge({})
    assert (verdict.status, len(verdict.cases)) == ("scored", 3), verdict.error
