"""The single tests of a verifier, read from its `ctrf.json`."""

from __future__ import annotations

import json

import pytest

from benchmarks.harbor import ctrf
from trajectories.record.verdict import Case


def report(*tests: object) -> bytes:
    return json.dumps({"results": {"tool": {"name": "pytest"}, "tests": tests}}).encode()


def test_each_test_is_a_case_with_its_result() -> None:
    cases = ctrf.cases(
        report(
            {"name": "a", "status": "passed", "duration": 1500, "message": "not kept"},
            {"name": "a", "status": "failed", "duration": 0, "message": "assert 1 == 2"},
            {"name": "b", "status": "skipped"},
            {"name": "c", "status": "other", "trace": "Traceback"},
        )
    )
    assert cases == (
        Case(id="a", group="tests", status="passed", seconds=1.5),
        Case(id="a #2", group="tests", status="failed", seconds=0, message="assert 1 == 2"),
        Case(id="b", group="tests", status="skipped"),
        Case(id="c", group="tests", status="error", message="Traceback"),
    )
    assert ctrf.cases(report()) == ()


def test_ids_are_unique_and_can_be_written() -> None:
    cases = ctrf.cases(report(*({"name": name, "status": "passed"} for name in ("a", "a #2", "a", "a", "\ud800\n x"))))
    assert [case.id for case in cases] == ["a", "a #2", "a #3", "a #4", "? x"]


def test_long_names_and_messages_are_cut() -> None:
    (case,) = ctrf.cases(report({"name": "n" * 10_000, "status": "failed", "message": "m" * 100_000}))
    assert len(case.id) <= 500
    assert len(case.message) <= 2100


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "valid dictionary"),
        (b"{}", "results"),
        (report({"name": 3, "status": "passed"}), "name"),
        (report({"name": "a", "status": "passed", "duration": -1}), "duration"),
        (b'{"results": {"tests": [{"name": "a", "status": "passed", "duration": NaN}]}}', "duration"),
        (report(*[{"name": "a", "status": "passed"}] * 10_001), "at most 10000"),
    ],
)
def test_a_file_that_is_not_a_report_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ctrf.NotCtrf, match=reason):
        ctrf.cases(data)
