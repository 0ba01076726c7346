"""The hidden suite of demo/figlet: enough cases, which the original made and passes, and which no dummy passes."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.task import taskdir
from scripts.rebuild import suite
from tests.rebuild.containers import BENCHMARKS, TASK, cases, judged, script

DUMMIES = {
    "silent": "#!/bin/sh\n",
    "echo": '#!/bin/sh\nif [ $# -gt 0 ]; then echo "$@"; else cat; fi\n',
    "usage": '#!/bin/sh\necho "usage: $0 [options] [text]" >&2\nexit 1\n',
}


def test_there_are_enough_cases_in_every_group() -> None:
    counts = {group: len(group_cases) for group, group_cases in cases().items()}
    assert sum(counts.values()) >= 150
    assert set(counts) == {"fonts", "layout", "width", "input", "control", "options"}
    assert min(counts.values()) >= 20, counts


def test_ids_are_unique_sorted_and_plain() -> None:
    for group, group_cases in cases().items():
        ids = [case["id"] for case in group_cases]
        assert ids == sorted(set(ids)), group
        assert all(re.fullmatch(r"[A-Za-z0-9-]+", id) for id in ids), group


def test_no_two_cases_have_the_same_input() -> None:
    inputs = Counter(
        repr(sorted((key, value) for key, value in case.items() if key not in ("id", "expected")))
        for group_cases in cases().values()
        for case in group_cases
    )
    assert [repeated for repeated, count in inputs.items() if count > 1] == []


def test_the_task_states_its_number_of_cases() -> None:
    task = taskdir.load(TASK, benchmark="demo", root=BENCHMARKS)
    assert task.kinds == ("docker",)
    assert task.facts["tests"] == str(sum(map(len, cases().values())))
    assert task.spec.build is not None
    assert task.spec.build.context == BENCHMARKS / "rebuild"


def test_the_image_cannot_contain_the_suite() -> None:
    task = taskdir.load(TASK, benchmark="demo", root=BENCHMARKS)
    assert task.spec.build is not None
    assert not (TASK / "tests").is_relative_to(task.spec.build.context)


@pytest.mark.docker
def test_the_expectations_are_the_answers_of_the_original(image: str) -> None:
    process = script("suite", str(TASK), image, "--check")
    assert process.returncode == 0, process.stdout + process.stderr
    assert "357 cases, 1 dropped, 356 kept" in process.stdout


@pytest.mark.docker
def test_the_original_passes_every_case_and_no_dummy_passes_any(image: str) -> None:
    verdicts = judged(image, {"original": None, **DUMMIES})
    total = sum(map(len, cases().values()))
    for title, verdict in verdicts.items():
        passed = [case for case, status in verdict.items() if status == "passed"]
        assert len(verdict) == total, title
        if title == "original":
            assert len(passed) == total, sorted(set(verdict) - set(passed))
        else:
            assert passed == [], title


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
def test_the_generator_drops_cases_that_prove_nothing(original: list[str], dummy: str, reason: str | None) -> None:
    runs = [[answer(text)] for text in original]
    assert suite.reason_to_drop(0, runs, {"silent": [answer("")], "echo": [answer(dummy)]}) == reason


def test_the_generator_drops_cases_that_the_original_fails() -> None:
    failed = {"failed": "TimeoutExpired", "detail": "timed out after 10 seconds"}
    assert suite.reason_to_drop(0, [[failed]], {}) == "the original failed: timed out after 10 seconds"


def test_an_entry_becomes_a_case_for_each_value() -> None:
    entry = {"id": "a-{x}", "args": ["-f", "{x}"], "files": {"{x}.flf": "@{x}"}, "for": {"x": ["b", 1]}}
    assert suite.expand("g", entry) == [
        {"id": "a-b", "args": ["-f", "b"], "files": {"b.flf": "@b"}},
        {"id": "a-1", "args": ["-f", "1"], "files": {"1.flf": "@1"}},
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("g:\n- {id: a, arg: [x]}\n", "g: a: unknown key 'arg'"),
        ("g:\n- {id: a}\n- {id: a}\n", "g: the id 'a' occurs more than once"),
        ("g: [\n", "expected"),
    ],
)
def test_an_invalid_case_list_is_a_usage_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "cases.in.yaml").write_text(text)
    process = script("suite", str(tmp_path), "no-image:1")
    assert process.returncode == 2
    assert message in process.stderr


def test_a_missing_case_list_is_a_usage_error(tmp_path: Path) -> None:
    process = script("suite", str(tmp_path), "no-image:1")
    assert process.returncode == 2
    assert "cases.in.yaml" in process.stderr
