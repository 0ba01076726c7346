"""`agent rollout` with real trials: it finds the step that lost one, and its children are ordinary trials."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agent.cli.main import app, explain
from agent.loop.actions import SUBMIT
from tests.formats.test_export import minimal
from tests.rollout.task import FATAL, WORK, checkpoints_removed, lost_trial, make_task, worker
from tests.solve.command import AGENT, agent, environment, script
from tests.solve.mini_file import Ran, imported
from tests.wire.replies import Turn, bad_key
from tests.wire.server import WireServer
from trajectories.checks.check import check
from trajectories.reading.reader import read_events

MODEL = "anthropic/claude-opus-4-7"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rollout")


@pytest.fixture(scope="module")
def parent(work: Path) -> str:
    """A trial that lost its task at the step `FATAL`, in a folder that all tests share."""
    result = lost_trial(work, "--env", "local")
    assert result.status == 0, result.err
    assert (result.json["verdict"]["passed"], result.json["steps"]) == (False, 5)
    return str(result.trial)


def values(report: dict[str, Any]) -> dict[int, tuple[int, int]]:
    """Return the numbers of passed and of counted children by step."""
    return {value["step"]: (value["passed"], value["value"]["trials"]) for value in report["steps"]}


def test_the_fatal_step_is_found_and_a_second_run_adds_to_the_children(work: Path, parent: str) -> None:
    model = worker(work)
    files = ("--csv", "values.csv", "--plot", "values.svg")
    first = agent(work, "rollout", parent, "--at", "2-4", "--times", "1", "--model", model, "--all", *files, "--json")
    assert first.status == 0, first.err
    report = first.json
    assert values(report) == {2: (1, 1), 3: (0, 1), 4: (0, 1)}
    assert (report["drop"]["after"], report["drop"]["by"]) == (FATAL - 1, FATAL)
    assert (report["run"]["stopped"], report["run"]["started"], report["cost"]["usd"]) == ("times", 3, 0)
    assert len(list(csv.DictReader((work / "values.csv").open()))) == 3
    assert (work / "values.svg").stat().st_size > 1000
    assert f"agent show {parent} --step {FATAL}" in first.err
    assert [child["attempt"] for child in report["children"]] == [1, 1, 1]
    assert check(work / report["children"][0]["trial"]).consistent

    second = agent(work, "rollout", parent, "--at", "2", "--times", "1", "--model", model, "--all", "--json")
    assert values(second.json) == {**values(report), 2: (2, 2)}
    assert [child["attempt"] for child in second.json["children"] if child["is_new"]] == [2]

    later = agent(work, "rollout", parent, "--report", "--at", "2,3", "--all", "--json").json
    assert (values(later), later["run"]) == ({2: (2, 2), 3: (0, 1)}, None)
    plain = agent(work, "rollout", parent, "--report").out
    assert "it needs two steps with counted children; --all includes" in plain, "on the host none is whole"
    assert "(they are the machine's own, and shared by all children)" in plain


def test_the_value_of_a_state_as_it_stands_is_that_of_a_model_that_submits_at_once(work: Path, parent: str) -> None:
    result = agent(work, "rollout", parent, "--at", "2", "--times", "1", "--model", "nop", "--json")
    assert values(result.json) == {2: (0, 1)}
    assert result.json["other_children"] == len(list((work / "runs/single").glob("keep.*"))) - 2


def test_children_of_a_precision_stop_after_the_round_that_reaches_it(work: Path, parent: str) -> None:
    options = ("--precision", "0.4", "--times", "5", "--model", script(work, *[[WORK, SUBMIT]] * 7))
    result = agent(work, "rollout", parent, "--at", "2,3", *options)
    assert result.status == 0, result.err
    assert "this run: 2 of 10 children started, because the precision was reached" in result.out
    assert "looked at after each round of all steps" in result.out
    again = agent(work, "rollout", parent, "--at", "2,3", *options, "--json")
    assert (again.status, again.json["run"]["started"]) == (0, 0), "earlier children count towards the precision"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--at", "9", "--times", "1"), "--at 9: keep.script"),
        (("--at", "one", "--times", "1"), "'one' is not a step; write steps such as 5,10,20 or 0-20:5"),
        (("--at", "1"), "give --at STEPS and --times N to run children, or --report"),
        (("--at", "1", "--times", "0"), "--times"),
        (("--at", "1", "--times", "2", "--precision", "0.1"), "cannot be reached with --times 2"),
        (("--at", "1", "--times", "2", "--precision", "0.5"), "must be above 0 and below 0.5"),
        (("--at", "1", "--times", "2", "--precision", "nan"), "must be above 0 and below 0.5"),
        (("--at", "1", "--times", "2", "--cost-limit", "0"), "--cost-limit 0: must be a number above 0"),
        (("--at", "1", "--times", "2", "--csv", "none/v.csv"), "none/v.csv: cannot be written there"),
        (("--at", "1", "--times", "2", "--plot", "v.pdf"), "a plot is a .png or .svg file"),
        (("--at", "1", "--times", "2", "--task", "ledger"), "--task: the record of keep.script"),
        (("--report", "--times", "2"), "--times does not apply to --report"),
        (("--report", "--dry-run"), "--dry-run does not apply to --report"),
        (("--report", "--model", "gpt-*"), "to report on; give --at STEPS and --times N"),
    ],
)
def test_bad_input_is_one_line(work: Path, parent: str, options: tuple[str, ...], message: str) -> None:
    model = () if "--report" in options else ("--model", "nop")
    arguments = ["rollout", parent, *options, *model, "--runs", str(work / "runs")]
    refused = CliRunner().invoke(app, arguments, prog_name="agent", standalone_mode=False)
    assert isinstance(refused.exception, Exception), refused.output
    line, status = explain(refused.exception)
    assert (status, len(line.splitlines())) == (2, 1)
    assert message in line


def test_a_parent_of_a_free_model_needs_a_model(work: Path, parent: str) -> None:
    refused = agent(work, "rollout", parent, "--at", "1", "--times", "1")
    assert refused.status == 2
    assert "name the model of the children with --model" in refused.err


def test_an_imported_parent_needs_a_model_and_a_task(work: Path) -> None:
    (work / "small.json").write_text(json.dumps(minimal()))
    imported = agent(work, "import", "small.json", "--json").json["trials"][0]["trial"]
    rollout = ("rollout", imported, "--at", "0", "--times", "1")
    for options, missing in (((), "--model"), (("--model", "nop"), "--task")):
        refused = agent(work, *rollout, *options)
        assert refused.status == 2
        assert f"was imported; name the {missing.strip('-')}" in refused.err
        assert refused.err.rstrip().endswith(f"with {missing}")


@pytest.mark.sandbox
def test_the_commands_of_an_imported_parent_run_again_in_the_task_that_is_named(tmp_path: Path) -> None:
    """The third command had the exit code 0 when it was recorded."""
    task = str(make_task(tmp_path))
    ran = (Ran("cat data", "given\n"), Ran("rm data"), Ran("false"))
    parent = imported(tmp_path, *ran, environment={"cwd": "/workspace"})
    options = ("--task", task, "--model", worker(tmp_path), "--json")
    result = agent(tmp_path, "rollout", str(parent), "--at", "1-3", "--times", "1", *options)
    assert result.status == 0, result.err
    assert values(result.json) == {1: (1, 1), 2: (0, 1), 3: (0, 1)}
    assert [value["whole"] for value in result.json["steps"]] == [True, True, False]
    (line,) = result.json["steps"][2]["not_restored"]
    assert "3.1 was run again to rebuild the workspace and ended otherwise" in line
    assert (result.json["drop"]["after"], result.json["drop"]["by"]) == (1, 2)


def test_a_task_without_an_evaluation_is_refused(work: Path) -> None:
    (work / "start").mkdir(exist_ok=True)
    place = ("--instruction", "x y", "--workspace", "start", "--env", "local")
    adhoc = agent(work, "solve", *place, "--model", script(work, SUBMIT), "--json")
    refused = agent(work, "rollout", str(adhoc.trial), "--at", "0", "--times", "1", "--model", "nop")
    assert refused.status == 2
    assert "has no evaluation, so its children could not pass or fail" in refused.err


def test_a_dry_run_starts_nothing_and_tells_the_largest_cost(work: Path, parent: str) -> None:
    before = sorted((work / "runs/single").iterdir())
    with WireServer([]) as server:
        model = ("--model", MODEL, "--api-base", server.base("anthropic"))
        options = ("--at", "1,3", "--times", "4", "--dry-run", *model)
        plain = agent(work, "rollout", parent, *options, ANTHROPIC_API_KEY="k")
        limited = agent(work, "rollout", parent, *options, "--cost-limit", "2.5", "--json", ANTHROPIC_API_KEY="k").json
    assert "at most 8 children, 4 at each of 2 steps" in plain.out
    assert "largest possible cost: unknown: a child has neither a cost limit nor a token limit" in plain.out
    assert (limited["largest_cost_usd"], limited["children"]) == (2.5, 8)
    assert sorted((work / "runs/single").iterdir()) == before


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run commands in from within this process, which imports the client of the provider only once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    make_task(tmp_path)
    return tmp_path


def invoke(*argv: str) -> tuple[int, str, str]:
    """Run `agent ARGV` in this process; return its status, its standard output and its standard error."""
    result = CliRunner().invoke(app, argv, prog_name="agent", standalone_mode=False)
    assert result.exception is None, result.exception
    return result.return_value or 0, result.stdout, result.stderr


def priced_parent(server: WireServer, *options: str) -> str:
    """Run a trial over the wire; return its directory."""
    model = ("--model", MODEL, "--api-base", server.base("anthropic"))
    status, out, err = invoke("solve", "--task", "./keep", "--env", "local", *model, *options, "--json")
    assert status == 0, err
    return str(json.loads(out)["trial"])


@pytest.mark.usefixtures("here")
def test_a_cost_limit_ends_the_child_that_reaches_it_and_a_resumed_one_counts() -> None:
    usage = {"input_tokens": 20_000, "output_tokens": 0}  # at 5 dollars for a million: 10 cents a call
    turns = [Turn(commands=("true",), usage=usage), Turn(commands=(SUBMIT,), usage=usage)]
    with WireServer([*turns, *[Turn(commands=(WORK,), usage=usage), turns[1]] * 4]) as server:
        parent = priced_parent(server, "--cost-limit", "3")
        status, out, err = invoke("rollout", parent, "--at", "1", "--times", "3", "--cost-limit", "0.29", "--json")
        report = json.loads(out)
        assert (status, report["run"]["stopped"]) == (0, "cost_limit"), err
        assert "largest possible cost: $0.29 (--cost-limit" in err
        assert [child["status"] for child in report["children"]] == ["counted", "unfinished"]
        assert report["children"][1]["exit"] == "user: budget"
        assert [child["attempt"] for child in report["children"]] == [1, 2], "a budget makes no other configuration"
        assert values(report) == {1: (1, 1)}
        cut = report["children"][1]["trial"]
        status, out, err = invoke("resume", cut, "--json")
        assert (status, json.loads(out)["exit"]["cause"]) == (0, "submitted"), err
    assert check(Path(cut)).consistent
    report = json.loads(invoke("rollout", parent, "--report", "--json")[1])
    assert values(report) == {1: (2, 2)}
    assert report["cost"]["usd"] == pytest.approx(sum(child["cost"]["usd"] for child in report["children"]))


@pytest.mark.usefixtures("here")
def test_two_failures_of_the_provider_in_a_row_end_a_rollout_with_status_1() -> None:
    with WireServer([Turn(commands=(SUBMIT,)), *[bad_key()] * 9]) as server:
        parent = priced_parent(server)
        status, out, _ = invoke("rollout", parent, "--at", "0,1", "--times", "3", "--json")
    report = json.loads(out)
    assert status == 1
    assert (report["run"]["stopped"], report["run"]["started"]) == ("infrastructure", 2)
    assert [child["status"] for child in report["children"]] == ["infrastructure"] * 2
    assert values(report) == {0: (0, 0), 1: (0, 0)}


@pytest.mark.usefixtures("here")
def test_an_unknown_cost_of_a_call_makes_the_cost_a_lower_bound() -> None:
    turns = [Turn(commands=(SUBMIT,)), Turn(commands=(WORK,)), Turn(commands=(SUBMIT,), no_usage=True)]
    with WireServer(turns) as server:
        parent = priced_parent(server)
        _, out, _ = invoke("rollout", parent, "--at", "0", "--times", "1")
    assert "cost of all of them: at least $0.0" in out


@pytest.mark.docker
def test_a_step_counts_as_whole_if_a_checkpoint_holds_all_and_no_process_ran(
    tmp_path: Path, workbench_image: str
) -> None:
    options = ("--at", "2-4", "--times", "1", "--model", worker(tmp_path), "--json")
    with checkpoints_removed(tmp_path):
        parent = lost_trial(tmp_path, "--checkpoint-every", "1", image=workbench_image)
        assert parent.status == 0, parent.err
        result = agent(tmp_path, "rollout", str(parent.trial), *options)
    assert result.status == 0, result.err
    assert values(result.json) == {2: (1, 1), 3: (0, 1), 4: (0, 1)}
    assert [value["not_restored"] for value in result.json["steps"]] == [
        [],
        [],
        ["background processes of 4.1: 1"],
    ]
    drop = result.json["drop"]
    assert (drop["after"], drop["by"], drop["comparisons"]) == (2, 3, 1), "step 4 is left out"
    assert "the state after step 4 cannot be restored whole: background processes of 4.1: 1" in result.err


def test_a_child_that_died_is_unfinished_and_named(work: Path, parent: str) -> None:
    model = script(work, *[[WORK, SUBMIT]] * 9)
    done = agent(work, "rollout", parent, "--at", "1", "--times", "2", "--model", model, "--json").json
    lines = (work / done["children"][1]["trial"] / "events.jsonl").read_text().splitlines(keepends=True)
    died = next(number for number, line in enumerate(lines) if '"type":"action_started"' in line)
    (work / done["children"][1]["trial"] / "events.jsonl").write_text("".join(lines[: died + 1]))
    report = agent(work, "rollout", parent, "--report", "--model", model)
    assert f"not counted, unfinished (agent resume continues each): {done['children'][1]['trial']}" in report.out
    assert agent(work, "resume", done["children"][1]["trial"]).status == 0
    again = agent(work, "rollout", parent, "--report", "--model", model, "--json").json
    assert values(again) == {1: (2, 2)}


def test_a_parent_may_be_named_by_the_directory_in_which_the_command_runs(work: Path, parent: str) -> None:
    agent(work, "rollout", parent, "--at", "1", "--times", "1", "--model", "nop")
    report = agent(Path(parent), "rollout", ".", "--report", "--model", "nop", "--json")
    assert report.status == 0, report.err
    assert report.json["trial"] == parent


def test_a_child_that_cannot_begin_ends_the_run_with_the_report_so_far(work: Path, parent: str) -> None:
    """The first child deletes the script that the second one needs."""
    path = Path(script(work, *[[WORK, SUBMIT]] * 9).removeprefix("script:"))
    path.write_text(json.dumps([[f"{WORK}; rm {path}", SUBMIT]] * 9))
    options = ("--at", "1", "--times", "3", "--model", f"script:{path}", "--json")
    result = agent(work, "rollout", parent, *options)
    assert result.status == 2
    assert (result.json["run"]["stopped"], values(result.json)) == ("error", {1: (1, 1)})
    assert "cannot read" in result.err.splitlines()[-1]


def test_ctrl_c_closes_the_child_and_prints_the_report_so_far(work: Path, parent: str) -> None:
    slow = script(work, *["-"] * 2, *[{"commands": [WORK, SUBMIT], "reply_delay_s": 1.0}] * 3)
    process = subprocess.Popen(
        [*AGENT, "rollout", parent, "--at", "2,3", "--times", "3", "--model", slow, "--json"],
        cwd=work,
        env=environment(work),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("child 2 of 6"):
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    report = json.loads(out)
    assert (report["run"]["stopped"], report["run"]["started"]) == ("interrupted", 2)
    assert values(report) == {2: (1, 1), 3: (0, 0)}
    (open_child,) = [child for child in report["children"] if child["status"] == "unfinished"]
    resumed = agent(work, "resume", open_child["trial"], "--json")
    assert resumed.status == 0, resumed.err
    later = agent(work, "rollout", parent, "--report", "--model", slow, "--json").json
    assert values(later) == {2: (1, 1), 3: (0, 1)}


@pytest.mark.usefixtures("here")
def test_children_keep_the_expert_of_their_parent_and_pay_for_its_answers() -> None:
    usage = {"input_tokens": 20_000, "output_tokens": 0}  # 10 cents an answer
    ask = {"calls": [{"name": "ask", "arguments": {"question": "What next?"}}]}
    here = Path.cwd()
    model = ("--model", script(here, ask, [WORK, SUBMIT]))
    with WireServer([Turn(text="Make the file and submit.", usage=usage)] * 9) as server:
        expert = ("--guidance", MODEL, "--guidance-api-base", server.base("anthropic"))
        _, out, _ = invoke("solve", "--task", "./keep", "--env", "local", *model, *expert, "--json")
        parent = json.loads(out)["trial"]
        run = ("rollout", parent, "--at", "0", "--times", "3", *model, "--cost-limit", "0.25", "--json")
        status, out, err = invoke(*run)
    report = json.loads(out)
    assert status == 0, err
    assert [child["status"] for child in report["children"]] == ["counted", "counted", "unfinished"]
    assert report["children"][2]["exit"] == "user: budget", "the third answer went beyond the limit"
    assert 0.3 <= report["cost"]["usd"] < 0.31, "three answers of 10 cents, and what the cache costs"


@pytest.mark.sandbox
def test_children_of_a_turn_have_its_feedback_and_lack_what_runs_since_the_turn_before(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    turns = script(tmp_path, ["(sleep 60 >/dev/null 2>&1 &)", SUBMIT])
    chain = ("--env", "sandbox", "--self-correct", "2", "--model", turns)
    assert agent(tmp_path, "solve", "--task", str(task), *chain).status == 0
    (second,) = (tmp_path / "runs/single").glob("*.t2")
    lines = (second / "events.jsonl").read_text().splitlines(keepends=True)
    revealed = {**json.loads(lines[0]), "tests_revealed": True}  # as if its feedback had shown hidden tests
    (second / "events.jsonl").write_text("".join([json.dumps(revealed) + "\n", *lines[1:]]))
    reads = script(tmp_path, ["cat /feedback/turn-1/* >seen; [ -s seen ]", WORK, SUBMIT])
    result = agent(tmp_path, "rollout", str(second), "--at", "0", "--times", "1", "--model", reads, "--json")
    assert result.status == 0, result.err
    (value,) = result.json["steps"]
    assert value["not_restored"] == ["background processes of turn 1: 1 of 1.1", "files outside of the workspace"]
    assert (value["whole"], value["passed"]) == (False, 1)
    child = json.loads((tmp_path / result.json["children"][0]["trial"] / "events.jsonl").open().readline())
    assert (child.get("chain"), child["tests_revealed"]) == (None, True), "the conversation holds them"
    events = list(read_events(tmp_path / result.json["children"][0]["trial"]))
    assert [event.exit_code for event in events if event.type == "action_finished"][:2] == [0, 0]
