"""`agent tasks make rebuild suite`: a part that a task lacks is one line, and a case that proves nothing is dropped."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agent.errors import UserError
from agent.making.rebuild import image, suite
from agent.making.rebuild.cases import expand, read_cases
from environments.reporting import LogReporter
from tests.rebuild.containers import ROOT, make_rebuild

NUMBER = ROOT / "tests" / "programbench" / "number"


def answer(text: str) -> dict:
    return {"code": 0, "stdout": [text], "stderr": [""]}


@pytest.mark.parametrize(
    ("original", "dummy", "reason"),
    [
        (["a", "a", "a", "a"], "b", None),
        (["a", "a", "a", "b"], "b", "the original gives different answers"),
        (["a", "b", "a", "a"], "x", "the original gives different answers"),
        (["a", "a", "a", "a"], "a", "the dummy 'echo' passes"),
    ],
)
def test_cases_that_prove_nothing_are_dropped(original: list[str], dummy: str, reason: str | None) -> None:
    runs = [[answer(text)] for text in original]
    assert suite.reason_to_drop(0, runs, {"silent": [answer("")], "echo": [answer(dummy)]}) == reason


def test_cases_that_the_original_fails_are_dropped() -> None:
    failed = {"failed": "TimeoutExpired", "detail": "timed out after 10 seconds"}
    assert suite.reason_to_drop(0, [[failed]], {}) == "the original failed: timed out after 10 seconds"


def test_an_entry_becomes_a_case_for_each_value() -> None:
    entry = {"id": "a-{x}", "args": ["-f", "{x}"], "files": {"{x}.flf": "@{x}"}, "for": {"x": ["b", 1]}}
    assert expand(entry) == [
        {"id": "a-b", "args": ["-f", "b"], "files": {"b.flf": "@b"}},
        {"id": "a-1", "args": ["-f", "1"], "files": {"1.flf": "@1"}},
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("g:\n- {id: a, arg: [x]}\n", "line 2: g.0: arg: unknown key; did you mean args?"),
        ("g:\n- {id: a}\n- {id: a}\n", "g: the id 'a' occurs more than once"),
        ("g: [\n", "line 2: a value is missing, or a bracket is not closed"),
        ("g: {a: b}\n", "line 1: g: must be a list, not {'a': 'b'}"),
        ("g:\n- x\n", "line 2: g.0: must be a mapping of keys to values, not 'x'"),
        ("g:\n- {id: [1]}\n", "line 2: g.0.id: must be a text or a number, not a list"),
        ("g:\n- {id: a, for: {n: 1}}\n", "line 2: g.0.for.n: must be a list, not 1"),
        ("g: []\n", "g: has no case; add one, or remove the group"),
        ("g:\n- {id: a, for: {n: []}}\n", "g: has no case"),
        ("", "has no group of cases"),
        ("- a\n", "must be a mapping of keys to values"),
        ("../up:\n- {id: a}\n", "'../up' cannot be the name of a group"),
    ],
)
def test_an_invalid_list_names_the_file_the_line_and_the_reason(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "cases.in.yaml").write_text(text)
    with pytest.raises(UserError) as raised:
        read_cases(tmp_path)
    assert f"{tmp_path / 'cases.in.yaml'}: " in str(raised.value)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def without(part: str, task: Path) -> None:
    target = task / part
    shutil.rmtree(target) if target.is_dir() else target.unlink()


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (
            "cases.in.yaml",
            "cases.in.yaml: is missing; it lists the inputs of the hidden suite, see docs/howto/tasks.md",
        ),
        ("tests", "tests/conftest.py: is missing; it defines observe(candidate, case, program)"),
        ("tests/conftest.py", "tests/conftest.py: is missing"),
        ("tests/lines", "tests/lines: has no test_*.py, which runs the cases of this group"),
        ("tests/lines/test_lines.py", "tests/lines: has no test_*.py"),
    ],
)
def test_a_missing_part_is_named_in_one_line_and_nothing_is_made(tmp_path: Path, part: str, message: str) -> None:
    """Docker would make a missing directory that it is told to mount, and it would belong to root."""
    task = tmp_path / "a number"
    shutil.copytree(NUMBER, task)
    without(part, task)
    before = sorted(task.rglob("*"))
    with pytest.raises(UserError) as raised:
        suite.make(task, "retrace-test-no-such-image:1")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert sorted(task.rglob("*")) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def look(candidate):\n    pass\n", "conftest.py: defines no function observe(candidate, case, program)"),
        ("def observe(:\n", "conftest.py, line 1: is not Python: "),
    ],
)
def test_a_conftest_without_observe_is_named(tmp_path: Path, text: str, message: str) -> None:
    shutil.copytree(NUMBER, tmp_path / "task")
    (tmp_path / "task" / "tests" / "conftest.py").write_text(text)
    with pytest.raises(UserError, match="conftest") as raised:
        suite.make(tmp_path / "task", "retrace-test-no-such-image:1")
    assert message in str(raised.value)


def test_a_missing_case_list_is_a_usage_error_of_one_line(tmp_path: Path) -> None:
    result = make_rebuild("suite", ".", "no-image:1", folder=tmp_path)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("agent: cases.in.yaml: is missing")
    assert result.err.count("\n") == 1


@pytest.fixture(scope="module")
def number_image() -> str:
    return image.build("bsdgames", "/usr/games/number", LogReporter())


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A copy of `number` outside of the checkout, with a blank in its path and one short group."""
    task = tmp_path / "my tasks" / "number"
    shutil.copytree(NUMBER, task)
    shutil.rmtree(task / "tests" / "lines")
    (task / "tests" / "numbers" / "cases.json").unlink()
    (task / "cases.in.yaml").write_text('numbers:\n  - {id: "{n}", args: ["{n}"], for: {n: [1, 20]}}\n')
    return task


@pytest.mark.docker
def test_a_suite_is_made_anywhere_on_the_disk(number_image: str, task: Path) -> None:
    (task / "task.yaml").write_text(
        "title: t\nkind: rebuild\nenvironments: [docker]\nimage: {reference: x}\nevaluation: {cases: 3}\n"
    )
    result = make_rebuild("suite", "number", number_image, "--json", folder=task.parent)
    assert result.status == 0, result.err
    assert result.json["kept"] == {"numbers": 2}
    assert result.json["written"] is True
    assert "evaluation.cases is 3; the suite has 2 cases" in result.err
    cases = (task / "tests" / "numbers" / "cases.json").read_text()
    assert '"stdout": ["twenty.", ""]' in cases
    assert {path.stat().st_uid for path in task.rglob("*")} == {os.getuid()}

    (task / "tests" / "numbers" / "cases.json").write_text(cases.replace("twenty", "thirty"))
    result = make_rebuild("suite", "number", number_image, "--check", folder=task.parent)
    assert result.status == 1
    assert "differs from the original's answers: number/tests/numbers/cases.json" in result.err
    assert "thirty" in (task / "tests" / "numbers" / "cases.json").read_text()


@pytest.mark.docker
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('return case["nope"]', "conftest.py, line 4: KeyError: 'nope'"),
        ("return {}", "numbers: every case was dropped (numbers/1: the dummy 'silent' passes)"),
    ],
)
def test_an_observe_that_fails_or_proves_nothing_is_named(
    number_image: str, task: Path, body: str, message: str
) -> None:
    (task / "tests" / "conftest.py").write_text(f"import json\n\ndef observe(candidate, case, program):\n    {body}\n")
    with pytest.raises(UserError) as raised:
        suite.make(task, number_image)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not (task / "tests" / "numbers" / "cases.json").exists()


@pytest.mark.docker
@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ("[]", "an instance with 0 tests proves nothing: the original passes none of 1; "),
        (None, "tests of numbers: cannot be run: "),
    ],
)
def test_an_instance_without_a_test_is_refused(number_image: str, task: Path, cases: str | None, message: str) -> None:
    if cases is not None:
        (task / "tests" / "numbers" / "cases.json").write_text(cases)
    organization = f"retrace-test-refused-{os.getpid()}"
    options = ("-o", "own", "--organization", organization)
    result = make_rebuild("programbench", str(task), number_image, *options, folder=task.parent)
    listed = ["docker", "images", "-q", "--filter", f"reference={organization}/*"]
    assert subprocess.run(listed, capture_output=True, text=True, check=True).stdout == ""
    assert (result.status, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert not (task.parent / "own").exists()
