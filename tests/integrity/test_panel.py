"""Panels of judges from outside: votes, majorities, costs, and their events in the record."""

from __future__ import annotations

import csv
import json
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.analysis.trials import Did, Step, record
from tests.integrity.answers import answer, judge
from tests.solve.command import AGENT, CommandResult, agent, environment, script
from tests.wire.replies import Turn, bad_key, rate_limited, server_error
from tests.wire.server import WireServer
from trajectories.blobs.store import BlobStore
from trajectories.checks.check import check
from trajectories.reading.reader import read_events
from trajectories.record.events import PanelStarted, RoleCallStarted, Voted

CHEATED = answer(decompiling=1)
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
OPUS = "anthropic/claude-opus-4-7"
GPT = "openai/gpt-5.4"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record a trial with the command itself; it reads the program that it is to rebuild."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "start").mkdir()
    shutil.copy("/bin/true", folder / "start" / "executable")
    model = script(folder, "head -c 4 executable", "ls", SUBMIT)
    task = ("--instruction", "Rebuild it.", "--workspace", "start", "--env", "local")
    run = agent(folder, "solve", *task, "--model", model, "--json")
    assert run.status == 0, run.err
    return run.trial


@pytest.fixture
def work(tmp_path: Path, recorded: Path) -> Path:
    """Return a directory with a copy of that trial."""
    shutil.copytree(recorded, tmp_path / "trial")
    return tmp_path


def judged(work: Path, *options: str, trial: str = "trial", **extra: str) -> CommandResult:
    return agent(work, "analyze", trial, "--integrity", "--json", *options, **extra)


def by(models: list[str]) -> list[str]:
    return [part for model in models for part in ("--judge-model", model)]


def votes(work: Path, trial: str = "trial") -> list[Voted]:
    recorded_votes = (event for event in read_events(work / trial) if isinstance(event, Voted))
    return sorted(recorded_votes, key=lambda vote: vote.judge)


def test_without_a_judge_model_only_rules_are_applied_with_a_note(work: Path) -> None:
    before = (work / "trial" / "events.jsonl").read_bytes()
    run = judged(work)
    assert run.status == 0
    assert [finding["rule"] for finding in run.json["trials"][0]["findings"]] == ["binary_read"]
    assert run.json["agreement"] is None
    assert "--judge-model" in run.json["notes"][0]
    assert (work / "trial" / "events.jsonl").read_bytes() == before


def test_nine_judges_assigned_to_the_models_in_turn_decide_by_strict_majority(work: Path) -> None:
    models = [judge(work, "yes", CHEATED), judge(work, "no", answer())]
    run = judged(work, *by(models), "--csv", "t.csv")
    assert run.status == 0, run.err
    panel = run.json["trials"][0]["panels"][0]
    assert (panel["judges"], panel["valid"]) == (9, 9)
    assert [vote["model"] for vote in panel["votes"]] == [*(models * 5)][:9]
    assert panel["decisions"]["decompiling"] == {"violated": True, "yes": 5, "no": 4, "unanimous": False}
    assert panel["decisions"]["tracing"] == {"violated": False, "yes": 0, "no": 9, "unanimous": True}
    assert panel["votes"][0]["answers"]["decompiling"]["why"] == "decompiling: as recorded"
    together = run.json["agreement"]
    assert together["disagreement_rate"] == 0.25
    assert together["disagreement_by_kind"]["decompiling"] == 1
    # counts (0, 9) three times and (5, 4): P = (3 + 4/9) / 4, P_e = (5/36)^2 + (31/36)^2
    assert together["fleiss_kappa"]["value"] == pytest.approx((31 / 36 - 986 / 1296) / (1 - 986 / 1296), abs=1e-6)
    with (work / "t.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["decompiling_violated"], row["decompiling_findings"], row["tracing_violated"]) == ("true", "1", "false")


def test_a_question_is_undecided_after_a_tie_or_with_too_few_valid_votes(work: Path) -> None:
    tie = judged(work, *by([judge(work, "yes", CHEATED), judge(work, "no", answer())]), "--judges", "4")
    assert tie.json["trials"][0]["panels"][-1]["decisions"]["decompiling"]["violated"] is None
    bad = judge(work, "bad", "no idea", "none")
    few = judged(work, *by([judge(work, "yes", CHEATED), bad]), "--judges", "4").json
    panel = few["trials"][0]["panels"][-1]
    assert panel["decisions"]["decompiling"] == {"violated": None, "yes": 2, "no": 0, "unanimous": True}
    assert few["agreement"]["left_out"] == 4
    assert "whole panel" in few["agreement"]["fleiss_kappa"]["why_none"]


def test_a_judge_is_asked_once_more_after_a_malformed_answer(work: Path) -> None:
    models = [judge(work, "second", "Well.", CHEATED), judge(work, "never", "Well.", "{}", CHEATED)]
    panel = judged(work, *by(models), "--judges", "2").json["trials"][0]["panels"][0]
    second, never = panel["votes"]
    assert (second["outcome"], len(second["asks"])) == ("valid", 2)
    assert second["asks"][0]["malformed"] == "the reply is not one JSON object"
    assert (never["outcome"], len(never["asks"]), never["answers"]) == ("invalid", 2, {})
    assert never["asks"][1]["text"] == "{}"
    assert panel["valid"] == 1


def test_the_record_keeps_the_panel_and_a_later_call_shows_it_without_asking(work: Path) -> None:
    before = json.loads((work / "trial" / "trial.json").read_text())
    model = judge(work, "yes", CHEATED, usage={"input": 5000, "output": 70})
    first = judged(work, "--judge-model", model, "--judges", "3")
    (work / "judge-yes.json").unlink()
    later = judged(work)
    assert later.json["trials"] == first.json["trials"]
    assert (first.json["judged_now"], later.json["judged_now"]) == (1, 0)
    assert later.json["trials"][0]["panels"][0]["usage"]["input"] == 15000
    checked = check(work / "trial")
    assert checked.consistent, checked.findings
    shown = agent(work, "show", "trial", "--rebuild")
    assert "panel 1, judge 3: violated: decompiling" in shown.out + agent(work, "show", "trial").out
    assert json.loads((work / "trial" / "trial.json").read_text())["usage"] == before["usage"]
    panel = next(event for event in read_events(work / "trial") if isinstance(event, PanelStarted))
    case = BlobStore(work / "trial" / "blobs").get(panel.case.sha256).decode()
    assert '"command": "head -c 4 executable"' in case
    assert "binary_read" not in case
    second = judged(work, "--judge-model", judge(work, "no", answer()), "--judges", "1")
    assert [panel["panel"] for panel in second.json["trials"][0]["panels"]] == [1, 2]
    assert check(work / "trial").consistent


def test_a_trial_with_a_panel_resumes_forks_and_exports_as_before(work: Path) -> None:
    judged(work, "--judge-model", judge(work, "yes", CHEATED), "--judges", "1")
    assert "finished" in agent(work, "resume", "trial").err
    assert agent(work, "export", "trial", "--format", "mini", "--output", "x.json").status in (0, 2)
    fork = agent(work, "fork", "trial", "--at", "1", "--model", script(work, SUBMIT), "--json")
    assert fork.status == 0, fork.err
    assert not any(isinstance(event, Voted) for event in fork.events)


def test_a_trial_that_has_not_ended_is_not_judged(work: Path) -> None:
    record(work / "open", [Step([Did("ls")])], closed=False)
    run = judged(work, "--judge-model", judge(work, "yes", CHEATED), trial="open")
    assert run.status == 0
    assert "has not ended" in run.json["notes"][0]
    assert votes(work, "open") == []


@pytest.mark.parametrize(("protocol", "name"), [("anthropic", OPUS), ("chat", GPT)])
def test_over_the_wire_judges_are_metered_and_priced_and_get_no_tool(work: Path, protocol: str, name: str) -> None:
    recorded_before: list[int] = []

    def reply(body: object) -> Turn:
        recorded_before.append((work / "trial" / "events.jsonl").read_text().count('"type":"role_call_started"'))
        return Turn(text=CHEATED)

    with WireServer(reply) as server:
        run = judged(work, "--judge-model", name, "--judges", "3", "--judge-api-base", server.base(protocol))
    assert run.status == 0, run.err
    assert all(number >= nth for nth, number in enumerate(sorted(recorded_before), start=1)), "before it leaves"
    calls = [event for event in read_events(work / "trial") if isinstance(event, RoleCallStarted)]
    assert [call.call for call in calls] == [1, 2, 3]
    kept = json.loads(BlobStore(work / "trial" / "blobs").get(calls[0].request or ""))
    assert [message["role"] for message in kept] == ["system", "user"]
    assert "head -c 4 executable" in kept[1]["content"]
    panel = run.json["trials"][0]["panels"][0]
    assert panel["valid"] == 3
    assert panel["cost_usd"]["computed"] > 0
    assert run.json["spent_usd"] == pytest.approx(panel["cost_usd"]["computed"], abs=1e-5)
    assert panel["usage"]["output"] > 0
    assert len(server.requests) == 3
    for request in server.requests:
        assert "tools" not in request.body
        assert "head -c 4 executable" in json.dumps(request.body["messages"])
    summary = agent(work, "show", "trial", "--json").json
    assert summary["cost_usd"]["computed"] == 0


def test_a_failing_provider_is_tried_again_and_a_permanent_failure_is_no_vote(work: Path) -> None:
    with WireServer([rate_limited("0"), server_error(500), Turn(text=CHEATED)]) as server:
        options = ("--judge-model", OPUS, "--judges", "1", "--judge-api-base", server.base("anthropic"))
        vote = judged(work, *options).json["trials"][0]["panels"][0]["votes"][0]
    assert vote["outcome"] == "valid"
    assert [ask["error"] for ask in vote["asks"]] == ["rate_limit", "server_error", None]
    with WireServer([bad_key()]) as server:
        options = ("--judge-model", OPUS, "--judges", "1", "--judge-api-base", server.base("anthropic"))
        run = judged(work, *options)
    vote = run.json["trials"][0]["panels"][1]["votes"][0]
    assert (run.status, vote["outcome"], vote["asks"][0]["error"]) == (0, "failed", "authentication")


def test_the_cost_limit_ends_the_requests(work: Path) -> None:
    record(work / "other", [Step([Did("ls")])])
    with WireServer(lambda body: Turn(text=CHEATED, delay_s=0.05)) as server:
        run = agent(
            work,
            *("analyze", "trial", "other", "--integrity", "--json", "--judge-model", OPUS, "--judges", "40"),
            *("--judge-cost-limit", "0.00001", "--judge-api-base", server.base("anthropic")),
        )
    assert run.status == 0, run.err
    assert 1 <= len(server.requests) <= 4
    outcomes = [vote.outcome for vote in votes(work)]
    assert outcomes.count("not_asked") == 40 - len(server.requests)
    assert any("cost limit" in note and "reached" in note for note in run.json["notes"])
    assert votes(work, "other") == []
    assert check(work / "trial").consistent


def test_an_interrupt_keeps_the_votes_that_came_and_leaves_nothing(work: Path) -> None:
    came = threading.Event()
    seen = 0

    def reply(body: dict[str, object]) -> Turn:
        nonlocal seen
        seen += 1
        if seen > 2:
            came.set()
        return Turn(text=CHEATED, delay_s=0.0 if seen <= 2 else 20.0)

    with WireServer(reply) as server:
        options = ("--judge-model", OPUS, "--judges", "9", "--judge-api-base", server.base("anthropic"))
        process = subprocess.Popen(
            [*AGENT, "analyze", "trial", "--integrity", "--json", *options],
            cwd=work,
            env=environment(work),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert came.wait(120)
        deadline = time.monotonic() + 30
        while len(votes(work)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    panel = json.loads(out)["trials"][0]["panels"][0]
    outcomes = [vote["outcome"] for vote in panel["votes"]]
    assert outcomes.count("valid") == 2
    assert outcomes.count("failed") == 4
    assert outcomes.count("not_asked") == 3
    assert panel["cost_usd"]["computed"] is None
    assert check(work / "trial").consistent


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--judges", "3"), "give --integrity as well"),
        (("--integrity", "--judges", "3"), "does not apply without judges"),
        (("--integrity", "--judge-model", "opuss"), "unknown model 'opuss'"),
        (("--integrity", "--judge-model", "human"), "a judge is a model"),
        (("--integrity", "--judge-model", "openai/none-such", "--judge-cost-limit", "1"), "none-such"),
        (("--integrity", "--judge-model", "script:none.json"), "none.json"),
        (("--integrity", "--judge-model", "opus", "--judge-cost-limit", "much"), "is not an amount"),
        (("--integrity", "--judge-model", "a", "--judge-model", "b", "--judges", "1"), "b would never be asked"),
        (("--integrity", "--plots", "p"), "leave out one of them"),
    ],
)
def test_a_usage_error_is_one_line(work: Path, options: tuple[str, ...], words: str) -> None:
    run = agent(work, "analyze", "trial", *options)
    assert (run.status, run.out) == (2, "")
    assert words in run.err
    assert len(run.err.splitlines()) == 1


def test_the_table_shows_findings_and_votes(work: Path) -> None:
    models = [judge(work, "yes", CHEATED), judge(work, "bad", "no", "no")]
    run = agent(work, "analyze", "trial", "--integrity", *by(models), "--judges", "3")
    assert run.status == 0, run.err
    assert "violated 2:0" in run.out
    assert "decompiling (binary_read, succeeded): head -c 4 executable" in run.out
    assert "judge 2" in run.out
    assert "invalid, no vote (the reply is" in run.out
