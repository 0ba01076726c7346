"""A failure that no submission can cause is an error with its cause, in each family that judges with scripts."""

from __future__ import annotations

import errno
import os
import shutil
import tarfile
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest

from benchmarks.harbor import evaluation as harbor
from benchmarks.judging.faults import EvaluatorFailed, HostFailed
from benchmarks.judging.system import solving
from benchmarks.judging.system.script_run import ScriptResult
from benchmarks.task.published.source import TaskSource
from benchmarks.task.settings import TaskSettings
from benchmarks.task.submission import Image
from benchmarks.task.task import Task, TaskError
from benchmarks.terminalbench import evaluation as terminal_bench
from environments.protocol import (
    DiskFull,
    Ended,
    Environment,
    EnvironmentLost,
    EnvironmentSpec,
    EnvironmentUnavailable,
    Execution,
    ImageUnusable,
    Started,
)
from tests.families.harbor_samples import HARBOR
from trajectories.record.verdict import Verdict, VerdictCause

TERMINAL_BENCH = Path(__file__).parent / "tasks" / "terminal-bench"
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
FAILURES: list[tuple[Exception, VerdictCause]] = [
    (EvaluatorFailed("the evaluator is broken"), "evaluator"),
    (TaskError("a file is missing"), "evaluator"),
    (PermissionError(errno.EACCES, "Permission denied"), "evaluator"),
    (tarfile.ReadError("unexpected end of data"), "evaluator"),
    (HostFailed("the machine is broken"), "host"),
    (EnvironmentUnavailable("the daemon does not answer"), "host"),
    (EnvironmentLost("the container is gone"), "host"),
    (DiskFull("no space left"), "host"),
    (FULL, "host"),
    (OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)), "host"),
    (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "host"),
]


def judged(family: ModuleType, scratch: Path, failure: Exception) -> Verdict:
    """Return the verdict of an evaluation whose environment cannot be made."""

    def make(spec: EnvironmentSpec) -> Environment:
        raise failure

    verdict: Verdict = family.evaluate(family_task(family), Image("sha256:0"), scratch, make=make)
    return verdict


@pytest.mark.parametrize("family", [harbor, terminal_bench], ids=["harbor", "terminal-bench"])
@pytest.mark.parametrize(("failure", "cause"), FAILURES, ids=lambda value: type(value).__name__)
def test_failure_that_no_submission_can_cause_is_an_error_with_its_cause(
    family: ModuleType, failure: Exception, cause: VerdictCause, tmp_path: Path
) -> None:
    verdict = judged(family, tmp_path, failure)
    assert (verdict.status, verdict.cause) == ("error", cause)
    assert verdict.error == str(failure)
    assert verdict.passed is None
    assert verdict.quality is None
    assert verdict.comparable is None
    assert verdict.evaluator.inputs["task"]


def test_copy_of_a_folder_tells_a_full_disk_from_a_file_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = TaskSource.of(HARBOR / "greeting", TaskSettings())
    source.copy("tests", tmp_path / "copy")
    assert (tmp_path / "copy/test.sh").is_file()
    for failure, kind in ((FULL, OSError), (PermissionError(errno.EACCES, "Permission denied"), TaskError)):

        def fail(*_: object, failure: OSError = failure, **__: object) -> None:
            raise failure

        monkeypatch.setattr(shutil, "copyfile", fail)
        with pytest.raises(kind):
            source.copy("tests", tmp_path / kind.__name__)


# The outcomes of a test script: what it did, and what its tests left.
PASSED = {
    harbor: (b"", {"/logs/verifier/reward.txt": b"1"}),
    terminal_bench: (b"===== short test summary info =====\nPASSED tests/test_outputs.py::test_a\n", {}),
}
NOT_UTF_8 = {
    harbor: (b"\xff\xfe", {"/logs/verifier/reward.txt": b"\xff"}),
    terminal_bench: (b"\xff\xfe\n===== short test summary info =====\n\xff\xff\n", {}),
}
NOTHING = {harbor: (b"Traceback: boom\n", {}), terminal_bench: (b"Traceback: boom\n", {})}
NO_CASE = {
    harbor: (b"", {"/logs/verifier/reward.json": b"{}"}),
    terminal_bench: (b"===== short test summary info =====\n", {}),
}
Ends = tuple[Ended, int | None]
AT_END: Ends = ("exited", 0)
OUTCOMES: list[tuple[str, Ends, object, VerdictCause]] = [
    ("crashes", ("exited", 1), NOTHING, "result"),
    ("hangs", ("deadline", None), NOTHING, "time"),
    ("prints what is not UTF-8", AT_END, NOT_UTF_8, "result"),
    ("has no case", AT_END, NO_CASE, "result"),
    ("prints without end", ("output_cap", None), NOTHING, "output"),
    ("takes all memory", ("oom", 137), NOTHING, "memory"),
    ("loses its processes", ("supervisor_lost", None), NOTHING, "processes"),
]


class Container(Environment):
    """An environment in which nothing runs; the evaluation's scripts have given outcomes."""

    def __init__(self, spec: EnvironmentSpec) -> None:
        self.spec = spec

    def start(self) -> Started:
        return Started(kind="docker", workdir="/app", promises=(), container="c" * 64, user="root")

    def execute(self, *_: object, **__: object) -> Execution:
        return Execution(ended="exited", output=b"", counted=0, duration_s=0, exit_code=0)

    def stop(self) -> None:
        pass


def family_task(family: ModuleType) -> Task:
    if family is harbor:
        from benchmarks.harbor.adapter import Harbor

        return Harbor("sample", HARBOR).load("greeting")
    from benchmarks.terminalbench.adapter import TerminalBench

    return TerminalBench("sample", TERMINAL_BENCH).load("count-lines")


def results(family: ModuleType, ends: Ends, left: object) -> ScriptResult:
    output, files = cast("dict[ModuleType, tuple[bytes, dict[str, bytes]]]", left)[family]
    ended, exit_code = ends
    return ScriptResult(Execution(ended, output, len(output), 0.1, exit_code), files)


@pytest.mark.parametrize("family", [harbor, terminal_bench], ids=["harbor", "terminal-bench"])
@pytest.mark.parametrize(("name", "ends", "left", "cause"), OUTCOMES, ids=[row[0] for row in OUTCOMES])
def test_tests_without_a_result_are_a_zero_only_if_the_submission_can_be_the_cause(
    family: ModuleType,
    name: str,
    ends: Ends,
    left: object,
    cause: VerdictCause,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = family_task(family)
    assert task.solve is not None
    bad, good = results(family, ends, left), results(family, AT_END, PASSED)
    solved = results(family, AT_END, NOTHING)  # the script of the solution
    for outcomes, status, expected in (
        ([bad, solved, good], "scored", cause),
        ([bad, solved, bad], "error", "evaluator"),
        ([good], "scored", None),  # an evaluation after an error counts
    ):
        runs = iter(outcomes)
        for module in (family, solving):
            monkeypatch.setattr(module, "run_script", lambda *_, runs=runs: next(runs))
        verdict: Verdict = family.evaluate(task, Image("sha256:0"), tmp_path, make=Container)
        assert (verdict.status, verdict.cause) == (status, expected), verdict
        assert verdict.passed is {"scored": expected is None, "error": None}[status]
        if status == "error":
            assert "; with the task's own solution: " in verdict.error
            assert "\n" not in verdict.error
        assert list(runs) == []


@pytest.mark.parametrize("family", [harbor, terminal_bench], ids=["harbor", "terminal-bench"])
def test_an_image_that_does_not_build_is_an_error_with_its_last_lines(family: ModuleType, tmp_path: Path) -> None:
    class Unbuilt(Container):
        def start(self) -> Started:
            raise ImageUnusable("building the image failed: RUN false; pip: no such package")

    verdict: Verdict = family.evaluate(family_task(family), Image("sha256:0"), tmp_path, make=Unbuilt)
    assert (verdict.status, verdict.cause, verdict.passed) == ("error", "evaluator", None)
    assert "pip: no such package" in verdict.error
