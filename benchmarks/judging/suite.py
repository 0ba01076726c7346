"""The evaluator of our own tasks: a hidden pytest suite runs the submission as a program.

This file has the order of the steps and makes the verdict. `suite_container` judges in docker, `suite_host` in the
sandbox or locally; `inside/drive.py` runs beside the candidate.
"""

from __future__ import annotations

import hashlib
import shlex
import tarfile
import time
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from benchmarks.judging import junit
from benchmarks.judging.bundle import PARTS
from benchmarks.judging.faults import EvaluatorFailed, Fault, SubmissionFailed, cause_of
from benchmarks.judging.suite_run import (
    BUILD_LOG as BUILD_LOG,
    SUITE_LOG as SUITE_LOG,
    Judged,
    Make,
    SuiteRun,
)
from benchmarks.task import taskdir, tree
from benchmarks.task.task import TASK_FILE, Task, TaskError
from environments.protocol import Environment, EnvironmentFault, Kind
from environments.reporting import LogReporter, Reporter
from trajectories.record.verdict import Evaluator, Verdict

NAME = "pytest-suite"
VERSION = "1"
"""Increased when the same submission could get another verdict."""
LEFT_BEHIND = (BUILD_LOG, SUITE_LOG, "collected.json", "results.xml")
"""Names of the files that judging writes into `scratch`."""


_LOOK_S = 60.0


class Judge(Protocol):
    """Judging in an environment of some kind, with or without the submission."""

    def __call__(self, run: SuiteRun, fault: Fault | None = None) -> Judged: ...


class Collected(BaseModel):
    """The node ids that `drive.py` collected, and the versions that it ran with."""

    model_config = ConfigDict(strict=True, frozen=True)

    pytest: str
    python: str
    cases: tuple[str, ...]


def evaluate(
    task: Task,
    workspace: Path,
    kind: Kind,
    scratch: Path,
    make: Make | None = None,
    reporter: Reporter | None = None,
) -> Verdict:
    """Judge an exported workspace (tar.zst) in a fresh environment of this kind.

    `make` makes the environment, by default `environments.choose.make`; `reporter` shows how far the evaluation is. A
    failure of the evaluator itself is a verdict with status "error". A submission that fails to build, or that ends its
    own evaluation, scores 0 with every case missing and the `cause`.
    """
    started = time.monotonic()
    inputs = {"task": task.digest}
    isolation = "none: nothing ran"
    version = VERSION
    try:
        run = _suite_run(task, workspace, kind, scratch, make, reporter or LogReporter())
        inputs["suite"] = tree.digest(tree.scan(_suite(run), taskdir.CACHES))
        inputs["judge"] = hashlib.sha256(b"".join(part.read_bytes() for part in PARTS)).hexdigest()
        inputs["workspace"] = tree.file_sha256(workspace)
        if kind == "docker":
            from benchmarks.judging.suite_container import judge
        else:
            from benchmarks.judging.suite_host import judge
        try:
            judged = judge(run)
            collected, results = _results(scratch, judged)
        except SubmissionFailed as failure:
            judged = _without_submission(judge, run, failure.fault)
            collected, results = _results(scratch, judged)
        isolation = judged.isolation
        inputs.update(judged.inputs)
        inputs.update(python=collected.python)
        version = f"{VERSION}+pytest-{collected.pytest}"
        cases = junit.cases(collected.cases, results, judged.fault.reason if judged.fault else "")
        evaluation = run.source.file.evaluation
        expected = evaluation.cases if evaluation else None
        if not cases or (expected is not None and expected != len(cases)):
            raise EvaluatorFailed(f"the suite has {len(cases)} cases, {TASK_FILE} says {expected}")
        passed = sum(case.status == "passed" for case in cases)
        return Verdict(
            status="scored",
            passed=passed == len(cases),
            quality=passed / len(cases),
            cases=cases,
            evaluator=Evaluator(name=NAME, version=version, inputs=inputs),
            isolation=isolation,
            seconds=time.monotonic() - started,
            notes=judged.notes + ((judged.fault.reason,) if judged.fault else ()),
            cause=judged.fault.cause if judged.fault else None,
        )
    except (EvaluatorFailed, EnvironmentFault, TaskError, OSError, tarfile.TarError) as error:
        return Verdict(
            status="error",
            cause=cause_of(error),
            evaluator=Evaluator(name=NAME, version=version, inputs=inputs),
            isolation=isolation,
            seconds=time.monotonic() - started,
            error=(str(error) or type(error).__name__).splitlines()[0],
        )


def lacking(task: Task, environment: Environment) -> tuple[str, ...]:
    """Return the programs that judging needs in the task's image and that a started environment of it does not have.

    Outside of docker the suite runs on the host with our own pytest, and needs nothing.

    Raises: EnvironmentLost.
    """
    if environment.spec.kind != "docker" or task.directory is None or not task.evaluable:
        return ()
    evaluation = taskdir.read(task.directory, Path("/")).file.evaluation
    if evaluation is None:
        return ()
    missing = []
    find = "import importlib.util, sys; sys.exit(0 if importlib.util.find_spec('pytest') else 3)"
    script = f'command -v python3 >/dev/null || exit 4; python3 -I -c "{find}" >/dev/null 2>&1 || exit 3'
    status = environment.execute(script, deadline_s=_LOOK_S, cwd="/", as_root=True).exit_code
    if status == 4:
        missing.append("python3")
    elif status != 0:
        missing.append("pytest for python3")
    program = evaluation.program[0]
    if "{workspace}" not in program and program != "python3":
        script = f"command -v {shlex.quote(program)} >/dev/null"
        if environment.execute(script, deadline_s=_LOOK_S, cwd="/").exit_code != 0:
            missing.append(program)
    return tuple(missing)


def _without_submission(judge: Judge, run: SuiteRun, fault: Fault) -> Judged:
    """List the tests again in a fresh environment, without the submission.

    Raises: EvaluatorFailed if that fails as well: then the suite or its environment is broken, not the submission.
    """
    for name in ("collected.json", "results.xml"):
        (run.scratch / name).unlink(missing_ok=True)
    try:
        return judge(run, fault)
    except SubmissionFailed as failure:
        raise EvaluatorFailed(str(failure)) from None


def _suite_run(
    task: Task, workspace: Path, kind: Kind, scratch: Path, make: Make | None, reporter: Reporter
) -> SuiteRun:
    if task.directory is None or not task.evaluable:
        raise EvaluatorFailed(f"{task.id} has no hidden suite, so nothing can be evaluated")
    if kind not in task.kinds:
        raise EvaluatorFailed(f"{task.id} is not evaluated in {kind}, only in {', '.join(task.kinds)}")
    source = taskdir.read(task.directory, Path("/"))  # loading it checked where its parts may lie
    if make is None:
        from environments.choose import make as make_environment

        make = make_environment
    scratch.mkdir(parents=True, exist_ok=True)
    for name in LEFT_BEHIND:  # files of an interrupted evaluation must not be taken for this one's
        (scratch / name).unlink(missing_ok=True)
    return SuiteRun(task, source, workspace, kind, scratch, make, reporter)


def _suite(run: SuiteRun) -> Path:
    if run.source.suite is None:
        raise EvaluatorFailed(f"{run.task.id} has no hidden suite any more")
    return run.source.suite


def _results(scratch: Path, judged: Judged) -> tuple[Collected, dict[tuple[str, str], junit.CaseResult]]:
    try:
        collected = Collected.model_validate_json((scratch / "collected.json").read_bytes())
        if judged.fault:
            return collected, {}
        return collected, _parsed(scratch / "results.xml")
    except FileNotFoundError as error:
        raise EvaluatorFailed(f"the suite left no {Path(error.filename).name}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"]))
        problem = f"{key}: {first['msg']}" if key else first["msg"]
        raise EvaluatorFailed(f"the suite left a collected.json that is no list of cases: {problem}") from None


def _parsed(path: Path) -> dict[tuple[str, str], junit.CaseResult]:
    """Return the results in a file of a suite that ran to its end.

    Raises: SubmissionFailed if it is missing or is not usable JUnit XML: only a submission that fills the disk, or that
    prints something, can bring that about.
    """
    try:
        with path.open("rb") as file:
            return junit.parse(file.read(junit.XML_BYTES + 1))
    except FileNotFoundError:
        raise SubmissionFailed("result", f"the suite left no {path.name}") from None
    except junit.JUnitError as error:
        raise SubmissionFailed("result", str(error)) from None
