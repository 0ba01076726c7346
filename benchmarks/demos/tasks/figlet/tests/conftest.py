"""Runs the cases of each directory's cases.json and compares what a program answers with what FIGlet answered.

Texts are stored as lists of lines; bytes that are no UTF-8 as surrogate escapes. `scripts/rebuild-suite`
makes the expectations with `observe`, so that both sides see a program in the same way.
"""

import itertools
import json
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "fixtures"


def encode(text):
    return text.encode("utf-8", "surrogateescape")


def decode(data):
    return data.decode("utf-8", "surrogateescape").split("\n")


def content(given):
    """The bytes of a file that a case brings: a text, "@NAME" of a fixture, or a fixture with another first line."""
    if isinstance(given, dict):
        _, rest = (FIXTURES / given["copy"]).read_bytes().split(b"\n", 1)
        return encode(given["first"]) + b"\n" + rest
    if given.startswith("@"):
        return (FIXTURES / given[1:]).read_bytes()
    return encode(given)


def unnamed(data, program):
    """Standard error without the program's own name, which may be its path or the path's last part."""
    for name in (program, Path(program).name):
        data = data.replace(encode(f"{name}: "), b"PROGRAM: ").replace(encode(f"Usage: {name} "), b"Usage: PROGRAM ")
    return data


def observe(candidate, case, program):
    """What `program` answers to a case, in the form of the case's "expected"."""
    files = {name: content(given) for name, given in case.get("files", {}).items()}
    args = [encode(arg) for arg in case.get("args", [])]
    result = candidate(*args, stdin=encode(case.get("stdin", "")), files=files, env=case.get("env", {}))
    seen = {
        "code": result.code,
        "stdout": decode(unnamed(result.stdout, program)),
        "stderr": decode(unnamed(result.stderr, program)),
    }
    if changed := {name: data for name, data in result.files.items() if files.get(name) != data}:
        seen["files"] = {name: decode(data) for name, data in sorted(changed.items())}
    return seen


def first_difference(seen, expected):
    if seen["code"] != expected["code"]:
        return f"exit status {seen['code']} instead of {expected['code']}"
    for stream in ("stdout", "stderr"):
        pairs = enumerate(itertools.zip_longest(seen[stream], expected[stream]), 1)
        for number, (line, wanted) in pairs:
            if line != wanted:
                return f"{stream}, line {number}: {line!r} instead of {wanted!r} (None: no such line)"
    if seen.get("files") != expected.get("files"):
        return f"files made or changed: {sorted(seen.get('files', {}))} instead of {sorted(expected.get('files', {}))}"
    return ""


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        cases = json.loads((metafunc.definition.path.parent / "cases.json").read_text(encoding="utf-8"))
        metafunc.parametrize("case", cases, ids=[case["id"] for case in cases])


@pytest.fixture()
def difference(candidate, case):
    """The first thing in which the program's answer differs from what was expected; empty if there is none."""
    seen = observe(candidate, case, "/workspace/executable")
    return first_difference(seen, case["expected"])
