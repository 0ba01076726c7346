"""A chain of stages that is cut off anywhere goes on in the commit of the stage before, and comes to the same end.

The containers are real, but nothing is killed here: a record is cut off as if its harness had died there.
"""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path

import pytest

from agent.errors import UserError
from agent.loop.actions import SUBMIT
from tests.demo_images import demo_image
from tests.families.harbor_samples import BASE, HARBOR, varied
from tests.solve.chains import messages, resume
from tests.solve.command import agent, script
from tests.solve.test_every_death import cut
from tests.solve.test_interrupts import begin, wait_for
from trajectories.checks.check import check
from trajectories.reading.lines import kind_of
from trajectories.reading.reader import read_events
from trajectories.record.events import Evaluated

pytestmark = pytest.mark.docker

SET_UP = """\
printf lime >extra.in
echo again >>/opt/set-ups
"""
CHECK = """\
set_ups=$(grep -c . /opt/set-ups) total=$(cat /app/total.txt) extra=$(cat /app/extra.out)
[ "$set_ups $total $extra" = '1 3 lime' ] && echo 1 || echo 0
"""
"""Shows that the set-up ran once, that what stage 1 installed is there, and that the workspace has all files."""
FIRST = "tr ' ' '\\n' <words.in | sort >words.out; printf 'grep -c . /app/words.out' >/bin/count; chmod +x /bin/count"
PARTS = {1: FIRST, 2: "count >total.txt || true", 3: "cp extra.in extra.out || true"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The folders of both stages. A script takes all parts in each stage; those of the other one change nothing."""
    return solved(tmp_path_factory.mktemp("finished"))


def solved(work: Path, *options: str) -> list[Path]:
    """Solve a task whose second stage must be set up once; return the folders of both stages."""
    files = {"steps/serve/workdir/setup.sh": SET_UP, "steps/serve/tests/check.sh": CHECK}
    task = varied(HARBOR / "pipeline", work, files)
    model = script(work, *PARTS.values(), SUBMIT)
    image = f"{BASE}={demo_image('ledger')}"
    result = agent(work, "solve", "--task", str(task), "--base-image", image, "--model", model, "--json", *options)
    assert result.status == 0, result.err
    return [work / trial["trial"] for trial in result.json["trials"]]


def number_of(trial: Path, kind: str, nth: int = 1) -> int:
    """Return the number of the line with the nth event of this kind."""
    lines = (trial / "events.jsonl").read_bytes().splitlines()
    return [number for number, line in enumerate(lines, start=1) if kind_of(line) == kind][nth - 1]


def cut_off(finished: list[Path], to: Path, stage: int, lines: int) -> Path:
    """Copy the chain as if its harness had died after so many lines of a stage; return that stage's copy."""
    copy = cut(finished[stage - 1], to, lines)
    for trial in finished[: stage - 1]:
        shutil.copytree(trial, copy.parent / trial.name)
    return copy


def assert_solved(copy: Path, finished: list[Path]) -> None:
    for trial in (copy.parent / each.name for each in finished):
        assert check(trial).first is None, check(trial).first
        verdicts = [event.verdict for event in read_events(trial) if isinstance(event, Evaluated)]
        assert verdicts[-1] is not None
        assert (verdicts[-1].status, verdicts[-1].quality) == ("scored", 1.0), trial.name
        assert len(messages(trial, "task")) == 1


CUTS = [
    (1, "evaluation", 1, "with stage 2"),
    (2, "action_finished", 2, "in stage 2"),
]
MORE_CUTS = [
    (1, "checkpoint", 1, "with the evaluation of stage 1"),
    (1, "evaluation_started", 1, "with the evaluation of stage 1"),
    (2, "trial_started", 1, "in stage 2"),
    (2, "env_started", 1, "in stage 2"),
    (2, "snapshot", 1, "in stage 2"),
    (2, "message", 2, "in stage 2"),
    (2, "call_started", 1, "in stage 2"),
    (2, "call_finished", 2, "in stage 2"),
    (2, "action_finished", 3, "in stage 2"),
    (2, "checkpoint", 1, "with the evaluation of stage 2"),
    (2, "evaluation_started", 1, "with the evaluation of stage 2"),
]


@pytest.mark.parametrize(
    ("stage", "kind", "nth", "point"), [*CUTS, *(pytest.param(*each, marks=pytest.mark.slow) for each in MORE_CUTS)]
)
def test_a_chain_that_is_cut_off_comes_to_the_same_end(
    finished: list[Path], tmp_path: Path, stage: int, kind: str, nth: int, point: str
) -> None:
    copy = cut_off(finished, tmp_path, stage, number_of(finished[stage - 1], kind, nth))
    before = (copy / "events.jsonl").read_bytes()
    _, (line,) = resume(copy)
    name = "collect" if point.endswith("1") else "serve"
    assert f"continues {point} of 2 ({name})" in line
    assert (copy / "events.jsonl").read_bytes().startswith(before)
    assert_solved(copy, finished)


@pytest.mark.slow
def test_the_model_of_a_stage_that_is_continued_is_told_what_the_commit_lacks(
    finished: list[Path], tmp_path: Path
) -> None:
    copy = cut_off(finished, tmp_path, 2, number_of(finished[1], "action_finished", 2))
    resume(copy)
    (notice,) = messages(copy, "notice")
    assert "files outside of the workspace since stage 2 began" in notice


def test_a_stage_whose_container_was_not_committed_cannot_be_judged(finished: list[Path], tmp_path: Path) -> None:
    copy = cut_off(finished, tmp_path, 2, number_of(finished[1], "exit"))
    with pytest.raises(UserError, match="its container was not committed when it ended"):
        resume(copy)


@pytest.mark.slow
def test_a_stage_that_continues_in_its_own_commit_is_not_set_up_again(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    finished = solved(tmp_path / "work", "--checkpoint-every", "1")
    copy = cut_off(finished, tmp_path / "copy", 2, number_of(finished[1], "checkpoint", 2))
    resume(copy)
    assert_solved(copy, finished)
    assert all("began" not in notice for notice in messages(copy, "notice"))


@pytest.mark.slow
def test_a_stage_is_evaluated_again_by_its_own_tests_and_forked_without_a_chain(finished: list[Path]) -> None:
    work, last = finished[0].parents[2], finished[1]
    again = agent(work, "evaluate", str(last), "--json")
    assert again.json["verdict"]["quality"] == 1.0
    for trial, step in ((last, "1"), (last, "0")):  # neither has a commit of its own: the stage before has
        rest = script(work, *PARTS.values(), SUBMIT)
        fork = agent(work, "fork", str(trial), "--at", step, "--model", rest, "--json")
        assert fork.status == 0, fork.err
        assert fork.json["verdict"]["quality"] == 1.0
        assert fork.json["entry"]["turn"] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "number", "status"),
    [
        ('"action":"2.1"', signal.SIGINT, 130),
        ('"action":"2.1"', signal.SIGKILL, -9),
        ("evaluation_started", signal.SIGINT, 130),
        ("evaluation_started", signal.SIGKILL, -9),
    ],
)
def test_a_second_stage_that_is_really_stopped_is_resumed_to_the_same_result(
    tmp_path: Path, moment: str, number: signal.Signals, status: int
) -> None:
    slow_tests = "sleep 4; bash /tests/check.sh >/logs/verifier/reward.txt"
    files = {
        "steps/serve/workdir/setup.sh": SET_UP,
        "steps/serve/tests/check.sh": CHECK,
        "steps/serve/tests/test.sh": slow_tests,
    }
    task = varied(HARBOR / "pipeline", tmp_path, files)
    wait = "[ ! -e extra.in ] || [ -e total.txt ] || sleep 4; count >total.txt || true"
    model = script(tmp_path, FIRST, wait, PARTS[3], SUBMIT)
    argv = ["--task", str(task), "--base-image", f"{BASE}={demo_image('ledger')}", "--model", model, "--json"]
    process = begin(tmp_path, "solve", *argv)
    second = wait_for(tmp_path / "runs", '"turn":2').parent
    until = time.monotonic() + 60
    while moment not in (second / "events.jsonl").read_text():
        assert time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(number)
    process.communicate(timeout=120)
    assert process.returncode == status
    result = agent(tmp_path, "resume", str(second), "--json")
    assert result.status == 0, result.err
    (chain,) = result.json["chains"]
    assert (chain["passed"], chain["quality"]) == (True, 1.0)
    for trial in (second, second.parent / chain["first"]):
        assert check(trial).first is None, check(trial).first
