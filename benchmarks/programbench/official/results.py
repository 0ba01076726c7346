"""The result of the official evaluator (`<id>.eval.json`) as cases, and its score as the package computes it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.programbench.instances import Instance
from trajectories.record.verdict import Case, CaseStatus
from trajectories.writing import excerpts

if TYPE_CHECKING:
    from programbench.eval.eval import EvaluationResult

_STATUS: dict[str, CaseStatus] = {
    "passed": "passed",
    "failure": "failed",
    "skipped": "skipped",
    "error": "error",
    "system_error": "error",
    "not_run": "missing",
}
_MESSAGE = 500
"""Longest message of a case, in characters."""
_OUTPUT = 200_000
"""Longest output of a step in feedback, in characters: an eval.json may have hundreds of MiB."""
_NOTES = 10
"""Largest number of the evaluator's warnings that become notes."""
_DISK_FULL = "no space left on device"
"""Message of a full disk. A container can print it, too."""


class Torn(Exception):
    """There is no complete result in the file; the message is one line."""


@dataclass(frozen=True)
class Results:
    """A result as it counts: active branches only, no ignored tests, and the last result of each name."""

    cases: tuple[Case, ...]
    quality: float
    resolved: bool
    """True if all active tests pass."""
    almost: bool
    """True if at least 95 % of the active tests pass."""
    error_code: str | None
    """The package's code for the reason why nothing was tested: `compile_failed`, ..."""
    error_details: str
    branches_failed: tuple[str, ...]
    """Active branches without a result."""
    disk_full: bool
    """True if a failed step reports a full disk."""
    timed_out: bool
    """True if the step that failed had reached its time limit."""
    executable_hash: str
    reruns: str
    """`yes` or `no` if failing tests could or could not be run again, or `not reached`."""
    notes: tuple[str, ...]


def read(path: Path, instance: Instance) -> Results:
    """Return the results in an eval.json, scored with the package's `test_results_map`.

    Raises: Torn (missing, cut off, not in the package's format), OSError.
    """
    from programbench import submission

    result = whole(path)
    data = json.loads((instance.directory / "tests.json").read_bytes())
    counted = submission.test_results_map(path, data)
    last = {test.full_name: test for test in result.test_results}
    cases = tuple(
        Case(
            id=name,
            group=last[name].branch,
            status=_STATUS[last[name].status],
            seconds=_seconds(last[name].extra.get("time")),
            message=_message(last[name].extra),
        )
        for name in counted
    )
    quality = submission.score_from_tests(counted)
    active = instance.branches()
    errors = {branch: errors for branch, errors in result.test_branch_errors.items() if branch in active}
    details = _details(result) if result.error_code else ""
    steps = [step for step in result.log if step.get("step") == "install_rerunfailures"]
    return Results(
        cases=cases,
        quality=quality,
        resolved=quality >= submission.RESOLVED_THRESHOLD,
        almost=quality >= submission.NEAR_RESOLVED_THRESHOLD,
        error_code=result.error_code,
        error_details=details,
        branches_failed=tuple(errors),
        disk_full=any(
            _DISK_FULL in text.lower()
            for text in (details, *(e.error_details for each in errors.values() for e in each))
        ),
        timed_out=details.startswith("Command timed out"),
        executable_hash=result.executable_hash or "",
        reruns=("yes" if steps[-1].get("returncode") == 0 else "no") if steps else "not reached",
        notes=tuple(_notes(result, active)),
    )


def whole(path: Path) -> EvaluationResult:
    """Return an eval.json as the package's own type.

    Raises: Torn, OSError.
    """
    from programbench.eval.eval import EvaluationResult
    from pydantic import ValidationError

    try:
        return EvaluationResult.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise Torn(f"it left no {path.name}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise Torn(f"it left a {path.name} that is cut off or malformed: {first['msg']}") from None


def failed_build(path: Path) -> bytes | None:
    """Return the step of the build that failed, with its output, as an eval.json holds it; None if none did.

    All steps before the tests are steps of the build, in a container without the tests.
    """
    try:
        result = whole(path)
    except (Torn, OSError):
        return None
    return (
        f"{result.error_code}: {_output(_details(result))}\n".encode("utf-8", "replace") if result.error_code else None
    )


def output(path: Path) -> bytes | None:
    """Return what the steps of each branch printed, as an eval.json holds it; None without a complete result."""
    try:
        log = whole(path).log
    except (Torn, OSError):
        return None
    steps = [step for step in log if "branch" in step]
    parts = (f"== {step['branch']}: {step.get('step')} ==\n{_output(step.get('output'))}\n" for step in steps)
    return "\n".join(parts).encode("utf-8", "replace")


def _output(text: object) -> str:
    return excerpts.middle(str(text or ""), _OUTPUT)


def _details(result: EvaluationResult) -> str:
    """Return the output of a failed step; for a step that was cut off, the package keeps it in `exception_info`."""
    last = result.log[-1] if result.log else {}
    return (result.error_details or str(last.get("exception_info") or "")).strip()


def _notes(result: EvaluationResult, active: Iterable[str]) -> list[str]:
    branches = set(active)
    notes = [
        f"branch {branch}: {error.error_code}"
        + (f": {_first_line(error.error_details)}" if error.error_details else "")
        for branch, errors in result.test_branch_errors.items()
        if branch in branches
        for error in errors
    ]
    notes += result.warnings
    if len(notes) > _NOTES:
        notes[_NOTES:] = [f"and {len(notes) - _NOTES} more such lines in the evaluator's own result"]
    return notes


def _message(extra: dict[str, object]) -> str:
    text = extra.get("message") or extra.get("error_details") or extra.get("error_code") or ""
    return excerpts.middle(str(text), _MESSAGE)


def _first_line(text: str) -> str:
    return excerpts.beginning((text.strip().splitlines() or [""])[0], _MESSAGE)


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
