"""A failure that no submission can cause is an error with its cause, in each family that judges with scripts."""

from __future__ import annotations

import errno
import os
import shutil
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.harbor import evaluation as harbor
from benchmarks.judging.faults import EvaluatorFailed, HostFailed
from benchmarks.task.published.source import TaskSource
from benchmarks.task.settings import TaskSettings
from benchmarks.task.submission import Image
from benchmarks.task.task import TaskError
from benchmarks.terminalbench import evaluation as terminal_bench
from environments.protocol import DiskFull, Environment, EnvironmentLost, EnvironmentSpec, EnvironmentUnavailable
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

    if family is harbor:
        from benchmarks.harbor.adapter import Harbor

        task = Harbor("sample", HARBOR).load("greeting")
    else:
        from benchmarks.terminalbench.adapter import TerminalBench

        task = TerminalBench("sample", TERMINAL_BENCH).load("count-lines")
    verdict: Verdict = family.evaluate(task, Image("sha256:0"), scratch, make=make)
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
