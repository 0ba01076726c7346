"""The folder of one instance in a run directory: `submission.tar.gz`, `<id>.traj.json` and `<id>.eval.json`.

A file that is still the same stays, even if `submit package` split it or it was uploaded.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from benchmarks.programbench import instances
from benchmarks.programbench.attempts import Attempt
from benchmarks.programbench.handover import SUBMISSION, HandOverError, hand_over
from benchmarks.task.task import TaskError
from benchmarks.task.tree import file_sha256
from trajectories.formats.errors import CannotExport
from trajectories.formats.export import export
from trajectories.formats.write_file import write_file
from trajectories.record.layout import TrialFolder

STATS = ("calls", "cost", "tokens")
"""Figures of an instance that go into files of `_stats`."""
_HOSTED = (".url", ".sha256")
"""Suffixes of the files that replace an uploaded file."""
_LOGS = ("message", "text")
"""Fields of a failed test that `submit package` moves to `<instance>.eval.log.json`, together with the log."""


class InstanceExport(BaseModel):
    """An instance in the run directory. Cost in dollars; output tokens; None is unknown and not in `_stats`."""

    instance: str
    trial: str
    exit: str
    submission_sha256: str
    submission_bytes: int
    withheld: tuple[str, ...] | None
    """Names of files that were left out; None if the submission is the evaluated one."""
    evaluated: bool
    calls: int | None
    cost: float | None
    tokens: int | None
    notes: list[str] = []


def write_instance(attempt: Attempt, folder: Path) -> tuple[InstanceExport, bool]:
    """Bring an instance's folder up to date; return its description, and True if its result changed.

    Raises: RecordError (CannotExport).
    """
    instance = attempt.instance
    notes: list[str] = []
    if attempt.variant:
        notes.append(f"ran as the variant {attempt.variant}, which is not the benchmark's own task")
    trajectory = export(attempt.directory, "mini")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".export-", dir=folder.parent) as scratch:
            submission = Path(scratch, SUBMISSION)
            withheld = _write_submission(attempt, submission, notes)
            sha256, size = file_sha256(submission), submission.stat().st_size
            evaluation = _evaluation(attempt, notes)
            if sha256 != _current_submission(folder):
                _remove(folder, SUBMISSION, f"{SUBMISSION}.url", f"{SUBMISSION}.sha256", "submission.ref.yaml")
                submission.replace(folder / SUBMISSION)
        changed = _write_evaluation(folder, instance, evaluation)
        write_file(folder / f"{instance}.traj.json", trajectory)
    except OSError as error:
        raise CannotExport(f"{folder}: cannot be written ({error.strerror or error})") from None
    calls = _count(json.loads(trajectory)["info"]["model_stats"]["api_calls"])
    cost, tokens = _cost(attempt), _tokens(attempt)
    unknown = [name for name, value in zip(STATS, (calls, cost, tokens), strict=True) if value is None]
    if unknown:
        notes.append(f"not in _stats, because the record does not have it: {', '.join(unknown)}")
    return InstanceExport(
        instance=instance,
        trial=str(attempt.directory),
        exit=f"{attempt.summary.exit.reason}: {attempt.summary.exit.cause}" if attempt.summary.exit else "",
        submission_sha256=sha256,
        submission_bytes=size,
        withheld=withheld,
        evaluated=evaluation is not None,
        calls=calls,
        cost=cost,
        tokens=tokens,
        notes=notes,
    ), changed


def _write_submission(attempt: Attempt, to: Path, notes: list[str]) -> tuple[str, ...] | None:
    """Write the submission: the evaluated one (return None), or a new one (return the names that were withheld)."""
    evaluated = TrialFolder(attempt.directory).evaluation / SUBMISSION
    if attempt.scored and evaluated.is_file() and attempt.evaluated_submission in (None, file_sha256(evaluated)):
        shutil.copyfile(evaluated, to)
        return None
    workspace = attempt.directory / attempt.exported.path
    if not workspace.is_file() or file_sha256(workspace) != attempt.exported.sha256:
        raise CannotExport(f"{workspace}: is missing, or not the one that was exported")
    try:
        withheld = set(instances.instance(attempt.instance).clean_hashes)
        if attempt.executable_sha256 is not None:
            withheld.add(attempt.executable_sha256)
        if not withheld:
            notes.append("the hash of the original program is unknown, so a copy of it could not be left out")
        return hand_over(workspace, to, withheld).removed
    except (HandOverError, TaskError) as error:
        raise CannotExport(f"{attempt.directory}: {error}") from None


def _evaluation(attempt: Attempt, notes: list[str]) -> bytes | None:
    """Return the evaluator's result for this workspace, or None after adding a note with the reason."""
    event = attempt.evaluated
    if event is None:
        notes.append("this workspace was not evaluated")
        return None
    if not attempt.scored:
        notes.append(f"the evaluation failed: {event.verdict.error if event.verdict else event.why_none}")
        return None
    path = TrialFolder(attempt.directory).evaluation / f"{attempt.instance}.eval.json"
    try:
        data = path.read_bytes()
        json.loads(data)
    except (OSError, ValueError):
        notes.append(f"the evaluation left no complete {path.name}")
        return None
    return data


def _write_evaluation(folder: Path, instance: str, data: bytes | None) -> bool:
    """Write or remove the result, unless it is up to date; return True if it changed."""
    path, log = folder / f"{instance}.eval.json", f"{instance}.eval.log.json"
    before = path.read_bytes() if path.is_file() else None
    if before is None and data is None:
        return False
    if before is not None and data is not None and _essence(before) == _essence(data):
        return False
    _remove(folder, path.name, log, *(f"{log}{suffix}" for suffix in _HOSTED))
    if data is not None:
        write_file(path, data)
    return True


def _essence(data: bytes) -> Any:
    """Return a result without the parts that `submit package` moves to another file."""
    try:
        result = json.loads(data)
        for test in result["test_results"]:
            test["extra"] = {key: value for key, value in (test.get("extra") or {}).items() if key not in _LOGS}
        return {**result, "log": []}
    except (ValueError, KeyError, TypeError, AttributeError):
        return data


def _current_submission(folder: Path) -> str | None:
    """Return the sha256 of the folder's submission, even if it was uploaded; None if there is none."""
    if (folder / SUBMISSION).is_file():
        return file_sha256(folder / SUBMISSION)
    hosted = folder / f"{SUBMISSION}.sha256"
    if (folder / f"{SUBMISSION}.url").is_file() and hosted.is_file():
        return hosted.read_text(errors="replace").strip()
    return None


def _cost(attempt: Attempt) -> float | None:
    costs = attempt.summary.cost_usd
    return costs.billed if costs.computed is None else costs.computed


def _tokens(attempt: Attempt) -> int | None:
    """Return the output tokens; None if those of any call are unknown, because the sum would be too small."""
    return None if attempt.summary.unmetered_calls else attempt.summary.usage.output


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _remove(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)
