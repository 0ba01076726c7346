"""The hidden suite of demo/figlet: enough cases, which the original made and passes, and which no dummy passes."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from benchmarks.task import taskdir
from tests.rebuild.containers import BENCHMARKS, TASK, cases, judged, make_rebuild

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
    process = make_rebuild("suite", str(TASK), image, "--check")
    assert process.status == 0, process.out + process.err
    assert "357 cases, 1 dropped, 356 kept" in process.out


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
