"""A submission that ends its own evaluation scores 0 with the cause; a failure that none can cause is an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.judging import suite_container, suite_host
from benchmarks.judging.faults import EvaluatorFailed, SubmissionFailed
from benchmarks.judging.suite_run import check_ended
from benchmarks.task.submission import Archive
from environments.choose import make
from environments.protocol import DiskFull, Environment, EnvironmentLost, EnvironmentSpec, Execution, Kind, OutOfMemory
from tests.benchmarks.work import PASSES, Maker, archive
from trajectories.record.verdict import Verdict, VerdictCause

DOCKER = pytest.param("docker", marks=pytest.mark.docker)
SANDBOX = pytest.param("sandbox", marks=pytest.mark.sandbox)
BUILD = "build: bash build.sh, build_timeout: 20s"
PRINTS = (
    "import pytest\n@pytest.mark.parametrize('n', range(12))\ndef test(candidate, n):\n    out = candidate().stdout\n"
)
FLOOD = "#!/bin/sh\nhead -c 8000000 /dev/zero | tr '\\0' 'x'\n"


@pytest.fixture
def task(tmp_path: Path) -> Maker:
    return Maker(tmp_path)


def zero(verdict: Verdict, cause: VerdictCause, cases: int = 1) -> str:
    """Check that this cause decided, and return the reason."""
    assert (verdict.status, verdict.error) == ("scored", ""), verdict.error
    assert (verdict.cause, verdict.quality, verdict.passed) == (cause, 0.0, False), verdict
    assert [case.status for case in verdict.cases] == ["missing"] * cases
    return verdict.notes[-1]


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
@pytest.mark.parametrize(
    ("build", "cause", "reason"),
    [
        ("exit 3", "build", "exit 3"),
        ("sleep 99", "time", "not finished after 2 s"),
        ("yes", "output", "was ended: output_cap"),
        ("f() { f | f & }; f; sleep 9", "time", "not finished after 2 s"),
    ],
    ids=["fails", "hangs", "floods", "forks"],
)
def test_a_build_that_breaks_a_limit_is_its_own_zero(
    task: Maker, kind: Kind, build: str, cause: VerdictCause, reason: str, tmp_path: Path
) -> None:
    loaded = task(settings="resources: {memory: 256m, pids: 100}", evaluation="build: bash build.sh, build_timeout: 2s")
    workspace = archive(tmp_path / "w.tar.zst", ("build.sh", build))
    assert reason in zero(task.adapter.evaluate(loaded, Archive(workspace), kind, tmp_path / "scratch"), cause)


@pytest.mark.docker
def test_a_build_that_needs_more_memory_than_there_is_scores_zero(task: Maker, tmp_path: Path) -> None:
    loaded = task(settings="resources: {memory: 128m}", evaluation=BUILD)
    hog = 'exec python3 -c "x = [bytearray(1 << 20) for _ in range(4000)]"'
    workspace = archive(tmp_path / "w.tar.zst", ("build.sh", hog))
    zero(task.adapter.evaluate(loaded, Archive(workspace), "docker", tmp_path / "scratch"), "memory")


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
def test_a_candidate_cannot_break_the_results_by_their_size(task: Maker, kind: Kind, tmp_path: Path) -> None:
    """Its output is in the messages of failures: in the suite's own output, and in the JUnit XML."""
    loaded = task(f"{PRINTS}    assert out == b'', out.decode()\n", evaluation=BUILD)
    workspace = archive(tmp_path / "w.tar.zst", ("executable", FLOOD), ("build.sh", "chmod +x executable"))
    verdict = task.adapter.evaluate(loaded, Archive(workspace), kind, tmp_path / "scratch")
    zero(verdict, "output" if kind == "docker" else "result", cases=12)


@pytest.mark.docker
def test_a_candidate_cannot_have_the_judge_killed_for_memory(task: Maker, tmp_path: Path) -> None:
    """Judge and candidate share the limit of the container."""
    suite = f"kept = []\n{PRINTS}    kept.append(out * 9)\n"
    loaded = task(suite, settings="resources: {memory: 256m}", evaluation=BUILD)
    workspace = archive(tmp_path / "w.tar.zst", ("executable", FLOOD), ("build.sh", "chmod +x executable"))
    zero(task.adapter.evaluate(loaded, Archive(workspace), "docker", tmp_path / "scratch"), "memory", cases=12)


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
def test_a_candidate_that_makes_the_suite_slow_scores_zero(
    task: Maker, kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A suite that hangs without it is broken: see `test_suite`."""
    for module in (suite_container, suite_host):
        monkeypatch.setattr(module, "_GRACE_S", 1.0)
    loaded = task("import time\ndef test(candidate):\n    time.sleep(int(candidate().stdout))\n", evaluation=BUILD)
    assert loaded.directory is not None
    settings = loaded.directory / "task.yaml"
    settings.write_text(settings.read_text().replace("timeout: 60s", "timeout: 3s"))
    program = ("executable", "#!/bin/sh\necho 60\n")
    workspace = archive(tmp_path / "w.tar.zst", program, ("build.sh", "chmod +x executable"))
    zero(task.adapter.evaluate(loaded, Archive(workspace), kind, tmp_path / "scratch"), "time")


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
def test_a_workspace_that_cannot_be_unpacked_scores_zero(task: Maker, kind: Kind, tmp_path: Path) -> None:
    workspace = archive(tmp_path / "w.tar.zst", ("a", "1"), ("a/b", "2"))
    verdict = task.adapter.evaluate(task(), Archive(workspace), kind, tmp_path / "scratch")
    assert "cannot be unpacked" in zero(verdict, "unpacking")


@pytest.mark.parametrize(
    ("ended", "exit_code", "cause"),
    [
        ("exited", 0, None),
        ("exited", 1, None),
        ("oom", 1, None),
        ("exited", 2, "result"),
        ("exited", 3, "result"),
        ("exited", 71, "processes"),
        ("oom", 137, "memory"),
        ("deadline", None, "time"),
        ("output_cap", None, "output"),
        ("exited", 4, "error"),
        ("exited", 5, "error"),
        ("exited", 70, "error"),
        ("exited", 127, "error"),
        ("exited", 137, "error"),
        ("environment_lost", None, "error"),
    ],
)
def test_the_end_of_the_suite_names_the_cause(ended: Any, exit_code: int | None, cause: str | None) -> None:
    execution = Execution(ended, b"INTERNALERROR", 13, 1.0, exit_code=exit_code)
    if cause is None:
        check_ended(execution)
    elif cause == "error":
        with pytest.raises(EvaluatorFailed):
            check_ended(execution)
    else:
        with pytest.raises(SubmissionFailed) as failure:
            check_ended(execution)
        assert failure.value.fault.cause == cause


class Failing:
    """A real environment in which building fails in a way that needs a special machine."""

    def __init__(self, environment: Environment, error: Exception) -> None:
        self._environment = environment
        self._error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)

    def execute(self, script: str, **options: Any) -> Execution:
        if "build.sh" in script:
            raise self._error
        return self._environment.execute(script, **options)


@pytest.mark.docker
@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (OutOfMemory("container ended for memory"), "memory"),
        (DiskFull("no space left"), "disk"),
        (EnvironmentLost("the daemon is gone"), "host"),
    ],
    ids=["memory", "disk", "daemon"],
)
def test_a_container_that_is_lost_counts_for_the_submission_only_if_it_is_the_cause(
    task: Maker, error: Exception, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing: Callable[[EnvironmentSpec], Any] = lambda spec: Failing(make(spec), error)  # noqa: E731
    from benchmarks.judging.suite import evaluate

    loaded = task(evaluation=BUILD)
    workspace = archive(tmp_path / "w.tar.zst", ("build.sh", "exit 0"))
    verdict = evaluate(loaded, workspace, "docker", tmp_path / "scratch", make=failing)
    if cause == "host":
        assert (verdict.status, verdict.cause) == ("error", "host")
        return
    zero(verdict, cause)  # type: ignore[arg-type]
    if cause == "disk":  # a disk that is full without the submission, too, is the host's
        monkeypatch.setattr(suite_container, "_FREE_BYTES", 1 << 60)
        verdict = evaluate(loaded, workspace, "docker", tmp_path / "scratch", make=failing)
        assert (verdict.status, verdict.cause) == ("error", "host")
        assert "is full" in verdict.error


@pytest.mark.docker
def test_a_broken_suite_stays_an_error_whatever_the_submission(task: Maker, tmp_path: Path) -> None:
    workspace = archive(tmp_path / "w.tar.zst", ("executable", "x"))
    verdict = task.adapter.evaluate(
        task("import nothing_like_this\n" + PASSES), Archive(workspace), "docker", tmp_path / "scratch"
    )
    assert (verdict.status, verdict.cause) == ("error", "evaluator")
