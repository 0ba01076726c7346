"""A task of several steps in Harbor's format: a chain of trials in one container, with one result."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from benchmarks.harbor.adapter import Harbor
from benchmarks.harbor.reading.task_directory import Source, read
from benchmarks.harbor.steps import at_step
from benchmarks.task.task import TaskError
from tests.demo_images import demo_image
from tests.families.harbor_samples import BASE, HARBOR, loaded, varied, worked
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
    (chain,) = result.json["chains"]
    assert (chain["stages"], chain["passed"], chain["quality"]) == (["collect", "serve"], False, 0.5)
    listed = agent(tmp_path, "trials", "--json").json["trials"]
    assert sorted(trial["entry"]["turn"] for trial in listed) == [1, 2]


def test_what_an_earlier_verifier_left_is_removed_without_following_links(tmp_path: Path) -> None:
    """The agent is root, hides files in the directories of the tests, and links one of them to its own."""
    plant = (
        "mkdir -p /tests/.a/b /keep && touch /tests/.c /tests/..d '/tests/e f' /keep/k && ln -s /nowhere /tests/g "
        "&& rm -rf /logs/agent && ln -s /keep /logs/agent"
    )
    task = loaded(TASK)
    with worked(task.at_stage(1), plant) as (environment, _):
        Harbor("sample", TASK.parent).prepare(task.at_stage(2), environment)
        shown = environment.execute("ls -A /tests /keep; ls -d /logs/agent", deadline_s=60)
        assert bytes(shown.output).split()[:3] == [b"/keep:", b"k", b"/tests:"]
        environment.execute("rm /bin/rm /usr/bin/rm; touch /tests/kept", deadline_s=60)
        with pytest.raises(TaskError, match=r"cannot be removed \(/tests/kept is still there\)"):
            Harbor("sample", TASK.parent).prepare(task.at_stage(2), environment)


def test_a_stage_below_the_least_reward_ends_the_chain(tmp_path: Path) -> None:
    result = agent(tmp_path, "solve", *options("nop"), "--json")
    assert result.status == 0, result.err
    (only,) = result.json["trials"]
    assert only["verdict"]["quality"] == 0.0
    again = agent(tmp_path, "resume", str(result.folder / only["trial"]))
    assert "is finished (1 of 2 stages)" in again.err


def test_all_stages_together_have_one_line_at_the_end(tmp_path: Path) -> None:
    result = agent(tmp_path, "solve", *options("oracle"))
    assert result.status == 0, result.err
    last = result.out.splitlines()[-1]
    assert last.endswith(": 2 stages; the result is their mean: passed, quality 1.000"), last
    assert "stage 2 of 2 (serve)" in result.err


def test_the_oracle_begins_only_if_each_stage_has_a_solution(tmp_path: Path) -> None:
    copy = varied(TASK, tmp_path, {})
    (copy / "steps/serve/solution/solve.sh").unlink()
    result = agent(tmp_path, "solve", "--task", str(copy), "--model", "oracle")
    assert result.status == 2
    assert "no solution of its own for the stage serve" in result.err
    assert not (tmp_path / "runs").exists()


def test_a_step_inherits_what_harbor_lets_it_inherit(tmp_path: Path) -> None:
    task = (TASK / "task.toml").read_text().replace("agent = { timeout_sec = 60.0 }", "agent = {}")
    tables = (
        "[agent]\ntimeout_sec = 77.0\nuser = 'nobody'\n[verifier]\ntimeout_sec = 5.0\nuser = 'root'\n"
        "env = { A = '1', B = '1' }\n[[verifier.collect]]\ncommand = 'true'\n[environment]"
    )
    task = task.replace("[environment]", tables)
    task = task.replace("verifier = { timeout_sec = 60.0 }", "verifier = { env = { B = '2' } }")
    copy = varied(TASK, tmp_path, {"task.toml": task, "solution/solve.sh": "true"})
    (copy / "steps/serve/solution/solve.sh").unlink()
    (copy / "steps/serve/solution").rmdir()
    loaded = Harbor("sample", tmp_path).load("pipeline")
    assert [stage.limits.time_s for stage in loaded.stages] == [120.0, 77.0]
    assert loaded.spec.user == "nobody"
    solutions = [stage.reference for stage in loaded.stages]
    assert solutions == [copy / "steps/collect/solution", copy / "solution"]
    step = at_step(read(Source(copy)), 2).file
    verifier = step.verifier
    assert (verifier.timeout_sec, verifier.user, verifier.env) == (600.0, "root", {"A": "1", "B": "2"})
    assert [hook.command for hook in verifier.collect] == ["true"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[environment]", "[verifier]\nenvironment_mode = 'separate'\n[environment]", "container of its own"),
        ("agent = { timeout_sec = 60.0 }", "agent = { user = 'x' }", "agent.user: all steps must have one user"),
        ("agent = { timeout_sec = 60.0 }", "agent = { network_mode = 'public' }", "step 'serve': a network of its own"),
        (
            "verifier = { timeout_sec = 60.0 }\n\n",
            "verifier = { env = { K = '${NOT_SET_HERE}' } }\n\n",
            "NOT_SET_HERE",
        ),
    ],
)
def test_what_a_step_cannot_have_is_refused_by_name(tmp_path: Path, old: str, new: str, problem: str) -> None:
    task = (TASK / "task.toml").read_text()
    assert old in task
    varied(TASK, tmp_path, {"task.toml": task.replace(old, new)})
    with pytest.raises(TaskError, match=problem):
        Harbor("sample", tmp_path).load("pipeline")


def test_self_correction_is_refused(tmp_path: Path) -> None:
    result = agent(tmp_path, "solve", *options("nop"), "--self-correct", "2")
    assert result.status == 2
    assert "stages are a chain already" in result.err
