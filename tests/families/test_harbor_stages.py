"""A task of several steps in Harbor's format: a chain of trials in one container, with one result."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from tests.demo_images import demo_image
from tests.families.harbor_samples import BASE, HARBOR
from tests.solve.command import agent, script
from trajectories.checks.check import check
from trajectories.reading.reader import first_event, read_events
from trajectories.record.events import EnvStarted

pytestmark = pytest.mark.docker

TASK = HARBOR / "pipeline"


def options(model: str) -> list[str]:
    return ["--task", str(TASK), "--base-image", f"{BASE}={demo_image('ledger')}", "--model", model]


def test_the_oracle_solves_each_stage_in_the_container_of_the_one_before(tmp_path: Path) -> None:
    result = agent(tmp_path, "solve", *options("oracle"), "--json")
    assert result.status == 0, result.err
    turns = [result.folder / trial["trial"] for trial in result.json["trials"]]
    assert [trial["verdict"]["quality"] for trial in result.json["trials"]] == [1.0, 1.0]
    starts = [first_event(turn) for turn in turns]
    assert [(start.turn, start.task.stage, start.mode, start.limits.time_s) for start in starts] == [
        (1, 1, "base", 120.0),
        (2, 2, "base", 60.0),
    ]
    assert starts[0].chain is not None
    assert [(stage.name, stage.gate) for stage in starts[0].chain.stages] == [
        ("collect", {"reward": 0.5}),
        ("serve", {}),
    ]
    continued = [[e.continues for e in read_events(turn) if isinstance(e, EnvStarted)] for turn in turns]
    assert continued == [[None], [turns[0].name]]
    assert all(check(turn).first is None for turn in turns)
    shown = agent(tmp_path, "show", str(turns[0]), "--json").json["chain"]
    assert (shown["stages"], shown["result"], shown["passed"], shown["quality"]) == (
        ["collect", "serve"],
        "mean",
        True,
        1.0,
    )
    score = agent(tmp_path, "score", str(result.folder / "runs"), "--json")
    assert score.status == 0, score.err


def test_the_result_of_a_partial_solution_is_the_mean_of_its_stages(tmp_path: Path) -> None:
    half = "tr ' ' '\\n' <words.in | sort >words.out; cp extra.in extra.out 2>/dev/null; true"
    result = agent(tmp_path, "solve", *options(script(tmp_path, half, SUBMIT)), "--json")
    assert result.status == 0, result.err
    assert [trial["verdict"]["quality"] for trial in result.json["trials"]] == [0.5, 0.5]


def test_a_stage_below_the_least_reward_ends_the_chain(tmp_path: Path) -> None:
    result = agent(tmp_path, "solve", *options("nop"), "--json")
    assert result.status == 0, result.err
    (only,) = result.json["trials"]
    assert only["verdict"]["quality"] == 0.0
    again = agent(tmp_path, "resume", str(result.folder / only["trial"]))
    assert "is finished (1 of 2 stages)" in again.err


def test_self_correction_is_refused(tmp_path: Path) -> None:
    result = agent(tmp_path, "solve", *options("nop"), "--self-correct", "2")
    assert result.status == 2
    assert "stages are a chain already" in result.err
