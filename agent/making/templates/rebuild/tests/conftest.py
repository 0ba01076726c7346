"""Runs a program on each case of cases.json, and compares its answers with those of the original."""

import json
from pathlib import Path

import pytest

PROGRAM = "/workspace/executable"


def lines(data, program):
    """An output as a list of lines, with the program's own name made the same everywhere."""
    for name in (program, Path(program).name):
        data = data.replace(f"{name}: ".encode(), b"PROGRAM: ")
    return data.decode("utf-8", "backslashreplace").split("\n")


def observe(candidate, case, program):
    """Return the answer of a program to a case, in the form of the case's "expected"."""
    result = candidate(*case["args"], stdin=case.get("stdin", "").encode(), env=case.get("env", {}))
    return {"code": result.code, "stdout": lines(result.stdout, program), "stderr": lines(result.stderr, program)}


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        cases = json.loads((metafunc.definition.path.parent / "cases.json").read_text(encoding="utf-8"))
        metafunc.parametrize("case", cases, ids=[case["id"] for case in cases])


@pytest.fixture
def answers(candidate, case):
    """Return the answer of the program under test and the expected answer."""
    return observe(candidate, case, PROGRAM), case["expected"]
