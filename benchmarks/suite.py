"""The evaluator of our own tasks: a hidden pytest suite drives the submission as a program.

The order of things and the verdict live here. `suite_container` and `suite_host` know how to do it
in docker, and in the sandbox or locally; `judge/drive.py` is what runs beside the candidate.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from benchmarks import junit, taskdir, tree
from benchmarks.judge.config import PARTS
from benchmarks.task import Task, TaskError
from environments.protocol import Environment, EnvironmentFault, EnvironmentSpec, Execution, Kind
from trajectories.text import cut_middle
from trajectories.verdict import Evaluator, Verdict

NAME = "pytest-suite"
VERSION = "1"
"""Raised when the same submission could get another verdict."""
Make = Callable[[EnvironmentSpec], Environment]


class EvaluatorFailed(Exception):
    """The evaluator, not the submission, failed; one line."""


@dataclass(frozen=True)
class Order:
    """What is to be judged, and where."""

    task: Task
    found: taskdir.TaskDirectory
    workspace: Path
    kind: Kind
    scratch: Path
    """Logs and results are written here."""
    make: Make


@dataclass(frozen=True)
class Judged:
    """What came out: the suite's files are in `scratch`."""

    isolation: str
    build_failed: str = ""
    inputs: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def evaluate(task: Task, workspace: Path, kind: Kind, scratch: Path, make: Make | None = None) -> Verdict:
    """Judge an exported workspace (tar.zst) in a fresh environment of this kind.

    `make` makes the environment, by default `environments.choose.make`. The evaluator's own failure
    is a verdict with status "error"; a build that fails is a score of 0 with every case missing.
    """
    started = time.monotonic()
    inputs = {"task": task.digest}
    isolation = "none: nothing ran"
    version = VERSION
    try:
        order = _order(task, workspace, kind, scratch, make)
        inputs["suite"] = tree.digest(tree.scan(_suite(order), taskdir.CACHES))
        inputs["judge"] = hashlib.sha256(b"".join(part.read_bytes() for part in PARTS)).hexdigest()
        inputs["workspace"] = _sha256(workspace)
        if kind == "docker":
            from benchmarks import suite_container as where
        else:
            from benchmarks import suite_host as where  # type: ignore[no-redef]
        judged = where.judge(order)
        isolation = judged.isolation
        inputs.update(judged.inputs)
        collected, results = _results(scratch, judged)
        inputs.update(python=collected["python"])
        version = f"{VERSION}+pytest-{collected['pytest']}"
        cases = junit.cases(collected["cases"], results, judged.build_failed)
        expected = order.found.file.evaluation.cases if order.found.file.evaluation else None
        if not cases or (expected is not None and expected != len(cases)):
            raise EvaluatorFailed(f"the suite has {len(cases)} cases, {taskdir.TASK_FILE} says {expected}")
        passed = sum(case.status == "passed" for case in cases)
        return Verdict(
            status="scored",
            passed=passed == len(cases),
            quality=passed / len(cases),
            cases=cases,
            evaluator=Evaluator(name=NAME, version=version, inputs=inputs),
            isolation=isolation,
            seconds=time.monotonic() - started,
            notes=judged.notes + ((judged.build_failed,) if judged.build_failed else ()),
        )
    except (EvaluatorFailed, EnvironmentFault, TaskError, junit.JUnitError, OSError, tarfile.TarError) as error:
        return _error(str(error) or type(error).__name__, version, inputs, isolation, started)


@contextmanager
def submission(order: Order) -> Iterator[BinaryIO]:
    """The exported workspace as a tar stream. Whether it may be unpacked is for `Environment.put` to judge.

    Raises: EvaluatorFailed where it is no zstd.
    """
    import zstandard

    try:
        with (
            order.workspace.open("rb") as raw,
            zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as plain,
        ):
            yield cast(BinaryIO, plain)
    except zstandard.ZstdError as error:
        raise EvaluatorFailed(f"{order.workspace.name} is no whole tar.zst: {error}") from None


def build_failure(execution: Execution, deadline_s: float) -> str:
    """Why a build counts as failed, or ''."""
    if execution.ended in ("exited", "oom") and execution.exit_code == 0:
        return ""
    if execution.ended == "deadline":
        how = f"had not finished after {deadline_s:g} s"
    elif execution.ended == "exited":
        how = f"exit {execution.exit_code}" if execution.signal is None else f"signal {execution.signal}"
    else:
        how = f"was ended: {execution.ended}"
    said = cut_middle(execution.output.decode("utf-8", "replace").strip(), 1000)
    return f"the build failed: {how}" + (f": {said}" if said else "")


def _order(task: Task, workspace: Path, kind: Kind, scratch: Path, make: Make | None) -> Order:
    if task.directory is None or not task.evaluable:
        raise EvaluatorFailed(f"{task.id} has no hidden suite, so nothing can be evaluated")
    if kind not in task.kinds:
        raise EvaluatorFailed(f"{task.id} is not evaluated in {kind}, only in {', '.join(task.kinds)}")
    found = taskdir.read(task.directory, Path("/"))  # where its parts may lie was checked when it was loaded
    if make is None:
        from environments.choose import make as make_environment

        make = make_environment
    scratch.mkdir(parents=True, exist_ok=True)
    return Order(task, found, workspace, kind, scratch, make)


def _suite(order: Order) -> Path:
    if order.found.suite is None:
        raise EvaluatorFailed(f"{order.task.id} has no hidden suite any more")
    return order.found.suite


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _results(scratch: Path, judged: Judged) -> tuple[dict[str, str], dict[tuple[str, str], junit.Result]]:
    try:
        collected = json.loads((scratch / "collected.json").read_bytes())
        if judged.build_failed:
            return collected, {}
        return collected, junit.parse((scratch / "results.xml").read_bytes())
    except FileNotFoundError as error:
        raise EvaluatorFailed(f"the suite left no {Path(error.filename).name}") from None


def _error(why: str, version: str, inputs: dict[str, str], isolation: str, started: float) -> Verdict:
    return Verdict(
        status="error",
        evaluator=Evaluator(name=NAME, version=version, inputs=inputs),
        isolation=isolation,
        seconds=time.monotonic() - started,
        error=why.splitlines()[0],
    )
