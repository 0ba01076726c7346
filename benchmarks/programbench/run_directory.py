"""A run directory of ProgramBench, made of trials: what `programbench eval` and `programbench submit` work on.

`<run>/<instance>/{submission.tar.gz, <instance>.traj.json, <instance>.eval.json}` and `_stats/*.json`. Written anew, it
is brought up to date: what is the same stays, also where `submit package` split or uploaded it, and what is not
ours (submission.yaml, README.md, other instances, _stats/score.json) is never touched.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from benchmarks.programbench import instances
from benchmarks.programbench.attempts import Attempt, Passed, choose
from benchmarks.programbench.handover import NAME as SUBMISSION, HandOverError, hand_over
from benchmarks.task.task import TaskError
from trajectories.errors import RecordError
from trajectories.formats.errors import CannotExport
from trajectories.formats.export import export
from trajectories.formats.json_text import json_document
from trajectories.formats.write_file import write_file
from trajectories.reading.runs import directories_named

EVALUATION = "evaluation"
"""Folder of a trial with what the evaluator left."""
STATS = ("calls", "cost", "tokens")
_HOSTED = (".url", ".sha256")
_LOGS = ("message", "text")
"""Of a failed test, what `submit package` moves to `<instance>.eval.log.json`, with the log."""


class InstanceExport(BaseModel):
    """One instance in the run directory. Dollars; output tokens; None is unknown and not in `_stats`."""

    instance: str
    trial: str
    exit: str
    submission_sha256: str
    submission_bytes: int
    withheld: tuple[str, ...] | None
    """Names of files that were left out; None where the submission is the evaluation's own."""
    evaluated: bool
    calls: int | None
    cost: float | None
    tokens: int | None
    notes: list[str] = []


class LeftOut(BaseModel):
    """A trial that is not in the run directory."""

    trial: str
    why: str


class RunExport(BaseModel):
    """What `agent export --format programbench --json` prints."""

    format: str = "programbench"
    output: str
    instances: list[InstanceExport]
    left_out: list[LeftOut]
    notes: list[str]

    def lines(self) -> list[str]:
        """The same for people."""
        found = []
        for one in self.instances:
            found.append(
                f"{one.instance}: {one.trial} ({one.exit}), {'evaluated' if one.evaluated else 'no eval.json'}"
            )
            found += [f"  {note}" for note in one.notes]
        found += [f"left out: {one.trial}: {one.why}" for one in self.left_out]
        return found + self.notes


def export_run(names: Sequence[str], runs: Path, output: Path) -> RunExport:
    """Write trials, or the trials of batches, into a run directory, one an instance.

    Raises: RecordError (CannotExport) if a named trial cannot be handed on, or none can, or a file cannot be written.
    """
    named, of_batches = _meant(names, runs)
    attempts, passed = choose(named, of_batches)
    done: list[InstanceExport] = []
    setups: dict[str, str] = {}
    changed = False
    for attempt in attempts:
        try:
            one, scored_anew = _write(attempt, output / attempt.instance)
        except RecordError as error:
            if attempt.named:
                raise
            passed.append(Passed(attempt.directory, str(error)))
        else:
            done.append(one)
            setups[attempt.summary.entry.setup] = attempt.summary.entry.label
            changed |= scored_anew
    left_out = [LeftOut(trial=str(one.trial), why=one.why) for one in passed]
    if not done:
        raise CannotExport(f"none of {len(left_out)} trials can be handed on; {left_out[0].trial}: {left_out[0].why}")
    _write_stats(output / "_stats", done)
    notes = []
    if len(setups) > 1:
        notes.append(
            f"{len(setups)} setups are mixed here ({'; '.join(sorted(setups.values()))}), and a submission is one "
            "system's: export each to a directory of its own"
        )
    if changed and (output / "_stats" / "score.json").exists():
        notes.append("results changed since this run was packaged: run `programbench submit package` again")
    return RunExport(output=str(output), instances=done, left_out=left_out, notes=notes)


def _meant(names: Sequence[str], runs: Path) -> tuple[list[Path], list[Path]]:
    """The trials that are named, and those that are in batches which are."""
    named: dict[str, Path] = {}
    of_batches: dict[str, Path] = {}
    for name in names:
        directories, found = directories_named([name], runs)
        (of_batches if found else named).update((os.path.realpath(directory), directory) for directory in directories)
    return list(named.values()), [path for real, path in of_batches.items() if real not in named]


def _write(attempt: Attempt, folder: Path) -> tuple[InstanceExport, bool]:
    """Bring an instance's folder up to date; whether its result is another one now."""
    instance, notes = attempt.instance, []
    if not instances.official(instance):
        notes.append("not one of the benchmark's instances: `programbench submit` leaves it out")
    if attempt.variant:
        notes.append(f"ran as the variant {attempt.variant}, which is not the benchmark's own task")
    trajectory = export(attempt.directory, "mini")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".export-", dir=folder.parent) as scratch:
            submission = Path(scratch, SUBMISSION)
            withheld = _submission(attempt, submission, notes)
            sha256, size = _sha256(submission), submission.stat().st_size
            evaluation = _evaluation(attempt, notes)
            if sha256 != _current(folder):
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
        notes.append(f"not in _stats, for the record does not say it: {', '.join(unknown)}")
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


def _submission(attempt: Attempt, to: Path, notes: list[str]) -> tuple[str, ...] | None:
    """Put the submission at `to`: the evaluated one, else one that is made now; the names that were withheld."""
    evaluated = attempt.directory / EVALUATION / SUBMISSION
    if attempt.scored and evaluated.is_file() and attempt.evaluated_submission in (None, _sha256(evaluated)):
        shutil.copyfile(evaluated, to)
        return None
    workspace = attempt.directory / attempt.exported.path
    if not workspace.is_file() or _sha256(workspace) != attempt.exported.sha256:
        raise CannotExport(f"{workspace}: is missing, or not the one that was exported")
    try:
        withheld = set(instances.instance(attempt.instance).clean_hashes)
        if attempt.executable_sha256 is not None:
            withheld.add(attempt.executable_sha256)
        if not withheld:
            notes.append("nothing says the original program's hash, so a copy of it could not be left out")
        return hand_over(workspace, to, withheld).removed
    except (HandOverError, TaskError) as error:
        raise CannotExport(f"{attempt.directory}: {error}") from None


def _evaluation(attempt: Attempt, notes: list[str]) -> bytes | None:
    """The evaluator's result for this workspace; None, and a note, if there is none."""
    event = attempt.evaluated
    if event is None:
        notes.append("this workspace was not evaluated")
        return None
    if not attempt.scored:
        notes.append(f"the evaluation failed: {event.verdict.error if event.verdict else event.why_none}")
        return None
    path = attempt.directory / EVALUATION / f"{attempt.instance}.eval.json"
    try:
        data = path.read_bytes()
        json.loads(data)
    except (OSError, ValueError):
        notes.append(f"the evaluation left no whole {path.name}")
        return None
    return data


def _write_evaluation(folder: Path, instance: str, data: bytes | None) -> bool:
    """Put the result there, unless it is there; whether it was another one, or none."""
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
    """A result without what `submit package` moves out of it."""
    try:
        found = json.loads(data)
        for test in found["test_results"]:
            test["extra"] = {key: value for key, value in (test.get("extra") or {}).items() if key not in _LOGS}
        return {**found, "log": []}
    except (ValueError, KeyError, TypeError, AttributeError):
        return data


def _current(folder: Path) -> str | None:
    """The sha256 of the submission that is there, also of one that was uploaded."""
    if (folder / SUBMISSION).is_file():
        return _sha256(folder / SUBMISSION)
    hosted = folder / f"{SUBMISSION}.sha256"
    if (folder / f"{SUBMISSION}.url").is_file() and hosted.is_file():
        return hosted.read_text(errors="replace").strip()
    return None


def _write_stats(folder: Path, done: Sequence[InstanceExport]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in STATS:
            path = folder / f"{name}.json"
            found = json.loads(path.read_bytes()) if path.exists() else {}
            if not isinstance(found, dict):
                raise ValueError("no object")
            for one in done:
                value = getattr(one, name)
                found.pop(one.instance, None)
                if value is not None:
                    found[one.instance] = value
            write_file(path, json_document(dict(sorted(found.items())), indent=2))
    except ValueError as error:
        raise CannotExport(f"{path}: is no table of figures by instance ({error}); remove it") from None
    except OSError as error:
        raise CannotExport(f"{folder}: cannot be written ({error.strerror or error})") from None


def _cost(attempt: Attempt) -> float | None:
    costs = attempt.summary.cost_usd
    return costs.billed if costs.computed is None else costs.computed


def _tokens(attempt: Attempt) -> int | None:
    """None as soon as one call's are unknown: what is left would be a smaller figure, not this one."""
    return None if attempt.summary.unmetered_calls else attempt.summary.usage.output


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)
