"""Runs the cases of each directory's cases.json and compares what a program answers with what `number` answered.

Texts are stored as lists of lines. `agent tasks make rebuild suite` makes the expectations with `observe`.
"""

import json
from pathlib import Path

import pytest

PROGRAM = "/workspace/executable"


def lines(data, program):
    """An output, with the program's own name (its path or the path's last part) made the same everywhere."""
    for name in (program, Path(program).name):
        data = data.replace(f"{name}: ".encode(), b"PROGRAM: ")
    return data.decode("utf-8", "backslashreplace").split("\n")


def observe(candidate, case, program):
    """Return the answer of `program` to a case, in the form of the case's "expected"."""
    result = candidate(*case.get("args", []), stdin=case.get("stdin", "").encode())
    return {"code": result.code, "stdout": lines(result.stdout, program), "stderr": lines(result.stderr, program)}


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        cases = json.loads((metafunc.definition.path.parent / "cases.json").read_text(encoding="utf-8"))
        metafunc.parametrize("case", cases, ids=[case["id"] for case in cases])


@pytest.fixture
def answers(candidate, case):
    """Return the answer of the program under test and the expected answer."""
    return observe(candidate, case, PROGRAM), case["expected"]
