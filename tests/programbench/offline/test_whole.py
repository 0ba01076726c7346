"""From a task to the official verdict through the command line, in Docker, without a network."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from agent.making.rebuild.cases import read_cases
from tests.programbench import clean_room
from tests.programbench.offline.conftest import OFFLINE, TASK, Number, rebuild
from tests.solve.command import CommandResult, agent, script

pytestmark = pytest.mark.docker
LINES, NUMBERS = (hashlib.sha256(group).hexdigest()[:12] for group in (b"lines", b"numbers"))
"""The branches of `number`."""
TESTS = {LINES: 23, NUMBERS: 28}
"""Number of tests of each branch."""


def scored(result: CommandResult) -> dict:
    """Return the verdict of a trial that was scored."""
    assert result.status == 0, result.err
    verdict = result.json["verdict"]
    assert verdict is not None, result.err
    assert verdict["status"] == "scored", verdict
    return verdict


def passed(verdict: dict) -> dict[str, int]:
    assert {group: score["total"] for group, score in verdict["groups"].items()} == TESTS
    return {group: score["passed"] for group, score in verdict["groups"].items()}


def test_the_suite_has_the_answers_of_the_original(number_image: str) -> None:
    output = rebuild("suite", str(TASK), number_image, "--check")
    assert "51 cases, 0 dropped, 51 kept" in output


def test_every_case_of_the_list_is_an_active_test(number: Number) -> None:
    """The original passed them all, otherwise the command would have listed them as ignored."""
    from benchmarks.programbench import instances

    with pytest.MonkeyPatch.context() as patch:
        for name, value in number.variables.items():
            patch.setenv(name, value)
        instance = instances.instance(number.id)
        assert instance.own
        assert instance.image == number.image
        branches = instance.branches()
    cases = {group: len(listed) for group, listed in read_cases(TASK).items()}
    assert {name: len(branch.active) for name, branch in branches.items()} == TESTS
    assert cases == {"lines": TESTS[LINES], "numbers": TESTS[NUMBERS]}


def test_an_instance_of_the_user_is_listed_only_with_its_variable(number: Number, tmp_path: Path) -> None:
    listing = ("tasks", "list", "--benchmark", "programbench", "--json")
    assert number.id in agent(tmp_path, *listing, **number.variables).out
    assert number.id not in agent(tmp_path, *listing, RETRACE_PROGRAMBENCH_TASKS="").out


def test_the_oracle_scores_one(number: Number, tmp_path: Path) -> None:
    result = number.solve(tmp_path, "oracle")
    verdict = scored(result)
    assert (verdict["passed"], verdict["quality"]) == (True, 1.0)
    assert passed(verdict) == TESTS
    assert "compile.sh changed" not in (result.trial / "verdict.json").read_text(), (
        "an honest build changes nothing else"
    )


def test_a_partial_rebuild_scores_in_between(number: Number, tmp_path: Path) -> None:
    """The solution, but deaf to -l: all of one branch, some of the other."""
    source = (TASK / "solution" / "number.c").read_text().replace("one_line = 1;", "")
    turns = [
        f"cat >number.c <<'END'\n{source}END",
        "printf '#!/bin/sh\\ncc -o executable number.c\\n' >compile.sh",
        SUBMIT,
    ]
    verdict = scored(number.solve(tmp_path, script(tmp_path, turns)))
    counts = passed(verdict)
    assert counts[NUMBERS] == TESTS[NUMBERS]
    assert 0 < counts[LINES] < TESTS[LINES]
    assert verdict["passed"] is False
    assert verdict["quality"] == pytest.approx(sum(counts.values()) / 51)


def test_nothing_scores_nothing(number: Number, tmp_path: Path) -> None:
    """A workspace without a compile.sh: the work's own fault, so a score of 0 and no error."""
    result = number.solve(tmp_path, "nop")
    verdict = scored(result)
    assert (verdict["passed"], verdict["quality"], passed(verdict)) == (False, 0.0, {LINES: 0, NUMBERS: 0})
    assert "compile" in (result.trial / "verdict.json").read_text()


def test_the_calculator_fixture_of_the_package(tmp_path: Path) -> None:
    """The package's own instance, which has neither an image nor an archive of tests: both are made here."""
    room = clean_room.calculator_image()
    blobs = clean_room.calculator_blobs(tmp_path / "blobs")
    turns = [
        f"cat >{name} <<'END'\n{text}END"
        for name, text in clean_room.calculator().items()
        if isinstance(text, str) and name != "README.md"
    ]
    result = agent(
        tmp_path,
        *("solve", "--task", f"programbench/{clean_room.CALCULATOR}", "--json"),
        *("--model", script(tmp_path, [*turns, SUBMIT])),
        timeout=170,
        PROGRAMBENCH_DOCKER_ORG=room.organization,
        PROGRAMBENCH_BLOB_DIR=str(blobs),
        **OFFLINE,
    )
    verdict = scored(result)
    assert (verdict["passed"], verdict["quality"]) == (True, 1.0)
    assert verdict["groups"] == {clean_room.CALCULATOR_BRANCH: {"passed": 3, "total": 3}}
