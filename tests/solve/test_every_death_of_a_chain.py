"""A chain that is cut off after any event of any turn is resumed to the same end, as if its harness had died there.

The environment is real, but nothing is killed here: `scripts/crash-test` kills chains at random moments.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from scripts.crash_facts import facts_of
from tests.solve.chains import A_PART, feedback, folders, make_task, messages, resume, solve
from tests.solve.test_every_death import cut as cut_trial
from trajectories.checks.check import check
from trajectories.reading.lines import kind_of
from trajectories.reading.reader import read_events
from trajectories.record.events import EnvStarted, Warned

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The folders of a chain of three turns. Only the first leaves a process behind."""
    work = tmp_path_factory.mktemp("finished")
    make_task(work)
    first = f"{A_PART}; [ -e /feedback/turn-1 ] || (sleep 300 >/dev/null 2>&1 &)"
    result = solve(work, [first, "echo more >>log"], [SUBMIT], options=["--feedback", "scores"])
    assert result.status == 0, result.err
    return folders(result)


def cut(finished: list[Path], to: Path, turn: int, lines: int) -> Path:
    """Copy a chain as if its harness had died after so many lines of a turn's record; return that turn's copy.

    With 0 lines the turn has a folder and nothing in it.
    """
    copy = cut_trial(finished[turn - 1], to, lines)
    for trial in finished[: turn - 1]:
        shutil.copytree(trial, copy.parent / trial.name)
    return copy


def assert_same_end(copies: list[Path], finished: list[Path]) -> None:
    for copy, trial in zip(copies, finished, strict=True):
        expected, actual = facts_of(trial), facts_of(copy)
        for facts in (expected, actual):  # the line before the output counts live processes
            facts.observations = {name: text.partition("output:")[2] for name, text in facts.observations.items()}
        assert expected.differences(actual) == []
        assert check(copy).first is None, check(copy).first
        assert [event.turn for event in feedback(copy)] == [event.turn for event in feedback(trial)]
        for why in ("system", "task", "feedback"):
            assert len(messages(copy, why)) == len(messages(trial, why))


def turns_beside(copy: Path, finished: list[Path]) -> list[Path]:
    return [copy.parent / trial.name for trial in finished]


def total(trial: Path) -> int:
    return len((trial / "events.jsonl").read_bytes().splitlines())


def number_of(trial: Path, kind: str) -> int:
    """Return the number of the first line of this kind."""
    lines = (trial / "events.jsonl").read_bytes().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if kind_of(line) == kind)


BOUNDARIES = ("trial_started", "env_started", "feedback", "snapshot", "call_started", "exit", "workspace_exported")


@pytest.mark.parametrize("kind", [*BOUNDARIES, "evaluation_started", "evaluation"])
def test_a_chain_cut_off_at_each_boundary_of_its_second_turn_comes_to_the_same_end(
    finished: list[Path], tmp_path: Path, kind: str
) -> None:
    copy = cut(finished, tmp_path, 2, number_of(finished[1], kind))
    before = (copy / "events.jsonl").read_bytes()
    results, (line,) = resume(copy)
    expected = {"evaluation": "with turn 3", "evaluation_started": "with the evaluation of turn 2"}
    expected |= dict.fromkeys(("exit", "workspace_exported"), "with the evaluation of turn 2")
    assert expected.get(kind, "in turn 2") in line
    assert len(results) == (1 if kind == "evaluation" else 2)
    assert (copy / "events.jsonl").read_bytes().startswith(before)
    assert_same_end(turns_beside(copy, finished), finished)


@pytest.mark.slow
@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_chain_cut_off_after_any_event_comes_to_the_same_end(finished: list[Path], tmp_path: Path, turn: int) -> None:
    begin = number_of(finished[0], "snapshot") if turn == 1 else 1
    for lines in range(begin, total(finished[turn - 1]) + 1):
        copy = cut(finished, tmp_path / str(lines), turn, lines)
        resume(copy)
        assert_same_end(turns_beside(copy, finished), finished)


@pytest.mark.parametrize("torn", [b"", b'{"seq":0,"t":"2026-'])
def test_a_turn_whose_record_holds_no_whole_event_begins_anew(
    finished: list[Path], tmp_path: Path, torn: bytes
) -> None:
    copy = cut(finished, tmp_path, 3, 0)
    (copy / "events.jsonl").write_bytes(torn)
    _, (line,) = resume(copy.parent / finished[0].name)
    assert "with turn 3 of 3" in line
    assert_same_end(turns_beside(copy, finished), finished)


def test_record_and_model_are_told_what_is_lost_with_the_environment_that_was_kept(
    finished: list[Path], tmp_path: Path
) -> None:
    copy = cut(finished, tmp_path, 1, total(finished[0]))  # died between turn 1 and turn 2
    resume(copy)
    second = turns_beside(copy, finished)[1]
    assert [e.continues for e in read_events(second) if isinstance(e, EnvStarted)] == [None]
    lost = [event.text for event in read_events(second) if isinstance(event, Warned) and event.kind == "not_restored"]
    assert any("background processes of 1.1" in line for line in lost)
    assert "files outside of the workspace" in lost
    (message,) = messages(second, "feedback")
    assert all(line in message for line in lost)


def test_a_turn_that_dies_in_the_middle_loses_the_processes_of_the_turns_before(
    finished: list[Path], tmp_path: Path
) -> None:
    copy = cut(finished, tmp_path, 3, number_of(finished[2], "action_finished"))
    resume(copy)
    (notice,) = messages(copy, "notice")
    assert "background processes of turn 1: 1 of 1.1" in notice
