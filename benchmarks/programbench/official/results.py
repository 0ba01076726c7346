"""What the official evaluator wrote (`<id>.eval.json`), as cases and a score of the package's own making."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.programbench.instances import Instance
from trajectories.record.text import cut_middle
from trajectories.record.verdict import Case, CaseStatus

if TYPE_CHECKING:
    from programbench.eval.eval import EvaluationResult, TestBranchError

_STATUS: dict[str, CaseStatus] = {
    "passed": "passed",
    "failure": "failed",
    "skipped": "skipped",
    "error": "error",
    "system_error": "error",
    "not_run": "missing",
}
_MESSAGE = 500
_NOTES = 10
_UNREACHABLE = re.compile(r"^(?:docker: )?(?:Cannot connect to the Docker daemon|error during connect)", re.M)
"""Nothing in a container can bring that about."""
_NO_EXEC = re.compile(r"^(?:docker: )?(?:Error response from daemon|OCI runtime exec failed): ", re.M)
"""The daemon would not run a step. That the submission can: by killing the container's first process, for instance."""


class Torn(Exception):
    """There is no result in the file; one line."""


@dataclass(frozen=True)
class Results:
    """A result as it counts: of active branches, without ignored tests, the last of each name."""

    cases: tuple[Case, ...]
    quality: float
    resolved: bool
    """All active tests pass."""
    almost: bool
    """At least 95 % do."""
    error_code: str | None
    """Why nothing was tested, the package's word: `compile_failed`, ..."""
    error_details: str
    cut_off: tuple[str, ...]
    """Branches that count and have no result because the daemon could not be reached, or no disk could take it."""
    executable_hash: str
    reruns: str
    """Whether failing tests could be run again: yes, no, or `not reached`."""
    notes: tuple[str, ...]

    def infrastructure(self, builds: bool | None) -> bool:
        """Whether something was not tested for a reason that is not the submission's.

        Wiping the workspace comes before the submission is there. A later step's words may be the submission's own:
        that the daemon cannot be reached is believed unless the clean-room check found it at fault too, and that it
        would not run the step only if it built there.
        """
        if self.error_code == "wipe_workspace_failed" or self.cut_off:
            return True
        if self.error_code is None or builds is False:
            return False
        return bool(_UNREACHABLE.search(self.error_details) or (builds and _NO_EXEC.search(self.error_details)))


def read(path: Path, instance: Instance) -> Results:
    """The results in an eval.json, scored with the package's `test_results_map`.

    Raises: Torn (not there, cut off, not in the package's format), OSError.
    """
    from programbench import submission

    result = whole(path)
    data = json.loads((instance.directory / "tests.json").read_bytes())
    counted = submission.test_results_map(path, data)
    last = {one.full_name: one for one in result.test_results}
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
    cut_off = (
        branch
        for branch, errors in result.test_branch_errors.items()
        if branch in active and any(_is_cut_off(one) for one in errors)
    )
    steps = [one for one in result.log if one.get("step") == "install_rerunfailures"]
    return Results(
        cases=cases,
        quality=quality,
        resolved=quality >= submission.RESOLVED_THRESHOLD,
        almost=quality >= submission.NEAR_RESOLVED_THRESHOLD,
        error_code=result.error_code,
        error_details=_details(result),
        cut_off=tuple(cut_off),
        executable_hash=result.executable_hash or "",
        reruns=("yes" if steps[-1].get("returncode") == 0 else "no") if steps else "not reached",
        notes=tuple(_notes(result, active)),
    )


def whole(path: Path) -> EvaluationResult:
    """An eval.json as the package's own type.

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


def _is_cut_off(error: TestBranchError) -> bool:
    """Whether a branch failed by the machine; reading results is `docker cp` into our own TMPDIR."""
    full = error.error_code == "results_read_failed" and "no space left on device" in error.error_details
    return full or _UNREACHABLE.search(error.error_details) is not None


def _details(result: EvaluationResult) -> str:
    """What a failed step said; one that was cut off says so elsewhere."""
    last = result.log[-1] if result.log else {}
    return (result.error_details or str(last.get("exception_info") or "")).strip()


def _notes(result: EvaluationResult, active: Iterable[str]) -> list[str]:
    branches = set(active)
    notes = [
        f"branch {branch}: {one.error_code}" + (f": {_first_line(one.error_details)}" if one.error_details else "")
        for branch, errors in result.test_branch_errors.items()
        if branch in branches
        for one in errors
    ]
    notes += result.warnings
    if len(notes) > _NOTES:
        notes[_NOTES:] = [f"and {len(notes) - _NOTES} more such lines in the evaluator's own result"]
    return notes


def _message(extra: dict[str, object]) -> str:
    said = extra.get("message") or extra.get("error_details") or extra.get("error_code") or ""
    return cut_middle(str(said), _MESSAGE)


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0][:_MESSAGE]


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
