"""The two test sets of LongCLI-Bench, F2P (fail to pass) and P2P (pass to pass), from the files that its tests write.

A set is read by its form: `pytest` from the output, `text` from the score that the task's own script wrote. Step scores
are kept as they are, also below 0 or above 1. Pure functions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.terminalbench import parsers
from trajectories.record.verdict import Case
from trajectories.writing import excerpts

SetName = Literal["f2p", "p2p"]
Form = Literal["text", "pytest"]
SETS: tuple[SetName, ...] = ("f2p", "p2p")
DIRECTORY = "/app/test_output"
_MESSAGE_CHARACTERS = 2000


def output_file(name: SetName) -> str:
    """Return the path of the file that holds the output of a set."""
    return f"{DIRECTORY}/{name}_output.txt"


def score_file(name: SetName) -> str:
    """Return the path of the file that holds the score of a set in text form."""
    return f"{DIRECTORY}/{name}_score.json"


RESULT_FILES = tuple(path for name in SETS for path in (output_file(name), score_file(name)))
"""Files that the tests write."""
PLANTED = (*(f"{DIRECTORY}/{name}_score.txt" for name in SETS), f"{DIRECTORY}/metrics.json")
"""Further files with results that the authors' harness reads. They are removed before the tests, and never read."""


@dataclass(frozen=True)
class SetResult:
    """The result of one configured set."""

    name: SetName
    passes: bool
    """True if the task's own rule says that the set passes."""
    step: float
    cases: tuple[Case, ...]
    notes: tuple[str, ...] = ()
    delivered: bool = True
    """False if the tests left nothing to read for this set."""

    @property
    def full(self) -> bool:
        """True if the set passes by the paper's rule."""
        return self.step == 1

    @property
    def quality(self) -> float:
        """The step score within 0 and 1."""
        return min(max(self.step, 0.0), 1.0)


def read_set(name: SetName, form: Form, files: Mapping[str, bytes], output: bytes) -> SetResult:
    """Return the result of a set; `output` is all that the test script printed, which may hold a pytest set's."""
    if form == "text":
        return _of_score(name, files.get(score_file(name)), files.get(output_file(name), b""))
    own = files.get(output_file(name), b"")
    return _of_pytest(name, parsers.text_of(own if own.strip() else output), bool(own.strip()))


def metrics(results: Sequence[SetResult]) -> dict[str, float]:
    """Return the metrics of a verdict. A set that the task does not configure has none."""
    values: dict[str, float] = {}
    for result in results:
        values[f"{result.name}_pass"] = float(result.passes)
        values[f"{result.name}_step"] = result.step
    values["resolved_by_step"] = float(bool(results) and all(result.full for result in results))
    return values


def disagreements(results: Sequence[SetResult]) -> tuple[str, ...]:
    """Return a note for each set that passes by only one of the two rules."""
    return tuple(
        f"{result.name.upper()}: the task's own rule says {'passed' if result.passes else 'not passed'}, but the step "
        f"score is {result.step:g}; by the paper's rule a set passes with step score 1"
        for result in results
        if result.passes != result.full
    )


def rounded(passed: int, total: int) -> float:
    """Return the share of passed tests as the authors round it: to 3 significant digits, then to 3 decimals."""
    return round(float(f"{passed / total:.3g}"), 3) if total else 0.0


def _of_pytest(name: SetName, text: str, own: bool) -> SetResult:
    group = name.upper()
    try:
        results = parsers.pytest(text)
    except parsers.ParserError as error:
        missing = _single_case(name, passed=False, message=str(error))
        return SetResult(name, False, 0.0, missing, (f"{group}: {error}, so nothing passed",), delivered=own)
    notes: tuple[str, ...] = (
        () if own else (f"{group}: {output_file(name)} is missing or empty; read from the output of the script",)
    )
    notes += tuple(f"{group}: {note}" for note in parsers.skipped_note(results))
    passed = sum(result.passes for result in results.values())
    cases = tuple(result.case(f"{name}::{test}", group) for test, result in results.items())
    return SetResult(
        name,
        passes=passed == len(results) > 0,
        step=rounded(passed, len(results)),
        cases=cases,
        notes=notes,
    )


def _of_score(name: SetName, data: bytes | None, output: bytes) -> SetResult:
    group = name.upper()
    try:
        passes, step = _score(data)
    except ValueError as error:
        reason = f"{group}: {score_file(name)} {error}, so the set counts as not passed, with step score 0"
        return SetResult(name, False, 0.0, _single_case(name, False, reason), (reason,), delivered=bool(output.strip()))
    return SetResult(name, passes, step, _single_case(name, passes, "" if passes else f"step score {step:g}"))


def _score(data: bytes | None) -> tuple[bool, float]:
    """Return the claim and the step score of a score file.

    Raises: ValueError whose message continues the name of the file.
    """
    if data is None:
        raise ValueError("is missing")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    if not isinstance(content, dict):
        raise ValueError("is not a JSON object")
    claim, step = content.get("is_pass"), content.get("step_score")
    if not isinstance(claim, int) or claim not in (0, 1):
        raise ValueError(f"has no is_pass of 0 or 1 ({excerpts.beginning(repr(claim), 60)})")
    if isinstance(step, bool) or not isinstance(step, int | float) or not _is_finite(step):
        raise ValueError(f"has no step_score that is a number ({excerpts.beginning(repr(step), 60)})")
    return bool(claim), float(step)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def _single_case(name: SetName, passed: bool, message: str) -> tuple[Case, ...]:
    message = excerpts.middle(message, _MESSAGE_CHARACTERS)
    return (Case(id=name, group=name.upper(), status="passed" if passed else "failed", message=message),)
