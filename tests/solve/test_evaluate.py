"""`agent evaluate`: a finished trial's verdict is had later or again; any other workspace's is printed."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from tests.solve.command import AGENT, CommandResult, agent, environment, script
from trajectories.reading.reader import read_events
from trajectories.record.events import Evaluated, EvaluationStarted, Warned, WorkspaceExported
from trajectories.writing.lock import TrialLock

SUITE = "import time, pathlib\ndef test_it(workspace):\n    {}\n    assert (workspace / 'made').read_text() == 'yes'\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with the task `mine`, which a workspace with a file `made` solves."""
    task = tmp_path / "mine"
    (task / "tests").mkdir(parents=True)
    (task / "task.yaml").write_text(
        "title: T\nkind: test\nenvironments: [sandbox, local]\nevaluation: {cases: 1, program: ['true']}\n"
    )
    (task / "instruction.md").write_text("Do it.")
    suite(tmp_path)
    (task / "solution").mkdir()
    (task / "solution" / "made").write_text("yes")
    return tmp_path


def suite(work: Path, first: str = "pass") -> None:
    (work / "mine" / "tests" / "test_it.py").write_text(SUITE.format(first))


def solved(work: Path, *options: str, model: str = "oracle") -> Path:
    done = agent(work, "solve", "--task", "mine", "--env", "local", "--model", model, *options, "--json")
    assert done.status in (0, 1), done.err
    return done.trial


def evaluated(trial: Path) -> list[Evaluated]:
    return [event for event in read_events(trial) if isinstance(event, Evaluated)]


def kept(trial: Path, name: str = "trial.json") -> dict:
    return json.loads((trial / name).read_text())


def sound(work: Path, trial: Path) -> bool:
    return agent(work, "show", str(trial), "--check").status == 0


def refused(done: CommandResult) -> str:
    assert (done.status, done.out) == (2, "")
    (line,) = done.err.splitlines()
    return line


def test_a_trial_gets_the_verdict_that_was_left_out(work: Path) -> None:
    trial = solved(work, "--no-evaluate")
    assert kept(trial)["verdict"] is None
    done = agent(work, "evaluate", trial.name, "--json")
    assert done.status == 0, done.err
    assert done.json["verdict"]["passed"] is True
    assert done.json["environment"] == "local"
    assert kept(trial)["verdict"]["quality"] == kept(trial, "score.json")["quality"] == 1.0
    assert kept(trial, "verdict.json")["cases"][0]["status"] == "passed"
    assert Path(work / done.json["logs"] / "suite.log").is_file()
    assert sound(work, trial)


def test_a_bad_score_is_a_verdict(work: Path) -> None:
    trial = solved(work, "--no-evaluate", model="nop")
    done = agent(work, "evaluate", str(trial))
    assert done.status == 0
    assert "not passed, quality 0.000" in done.out


def test_a_trial_s_record_is_not_written_by_two(work: Path) -> None:
    trial = solved(work)
    before = (trial / "events.jsonl").read_bytes()
    with TrialLock(trial):
        assert "is at work on this trial" in refused(agent(work, "evaluate", str(trial)))
    assert (trial / "events.jsonl").read_bytes() == before


def test_an_evaluator_that_failed_is_asked_again(work: Path) -> None:
    (work / "mine" / "task.yaml").write_text((work / "mine" / "task.yaml").read_text().replace("cases: 1", "cases: 2"))
    trial = solved(work)
    assert kept(trial)["verdict"]["status"] == "error"
    assert agent(work, "evaluate", str(trial)).status == 1
    assert [one.verdict and one.verdict.status for one in evaluated(trial)] == ["error", "error"]
    (work / "mine" / "task.yaml").write_text((work / "mine" / "task.yaml").read_text().replace("cases: 2", "cases: 1"))
    line = refused(agent(work, "evaluate", str(trial)))
    assert "the task path/mine has changed" in line
    assert "--task" in line
    done = agent(work, "evaluate", str(trial), "--task", "mine", "--json")
    assert done.status == 0, done.err
    assert kept(trial)["verdict"]["quality"] == 1.0
    changed = [event for event in read_events(trial) if isinstance(event, Warned) and event.kind == "task_changed"]
    assert len(changed) == 1
    assert sound(work, trial)


def test_an_evaluator_that_fails_takes_no_verdict_back(work: Path) -> None:
    trial = solved(work)
    results = (trial / "evaluation" / "results.xml").read_bytes()
    suite(work, "raise")
    (work / "mine" / "tests" / "test_it.py").write_text("no python\n")
    done = agent(work, "evaluate", str(trial), "--task", "mine", "--json")
    assert done.status == 1
    assert done.json["verdict"]["status"] == "error"
    assert kept(trial)["verdict"]["quality"] == kept(trial, "verdict.json")["quality"] == 1.0
    assert (trial / "evaluation" / "results.xml").read_bytes() == results, "the files of the verdict that stands"
    assert (trial / "evaluation" / "failed" / "suite.log").is_file()
    assert agent(work, "show", str(trial), "--rebuild").status == 0
    assert kept(trial)["verdict"]["quality"] == 1.0


def test_what_a_cut_off_evaluation_left_is_not_taken_for_a_result(work: Path) -> None:
    trial = solved(work)
    left = (trial / "evaluation" / "results.xml").read_bytes()
    events = (trial / "events.jsonl").read_text().splitlines(keepends=True)
    started = next(index for index, line in enumerate(events) if '"type":"evaluation_started"' in line)
    (trial / "events.jsonl").write_text("".join(events[: started + 1]))
    (work / "mine" / "tests" / "conftest.py").write_text("import os\nos._exit(1)\n")  # leaves no results
    (trial / "evaluation" / "results.xml").write_bytes(left)
    done = agent(work, "evaluate", str(trial), "--task", "mine", "--json")
    assert done.status == 1, done.out
    assert done.json["verdict"]["status"] == "error"
    assert not (trial / "evaluation" / "results.xml").exists()


def test_what_an_evaluation_left_is_kept_where_it_came_to_no_score(work: Path) -> None:
    (work / "mine" / "task.yaml").write_text((work / "mine" / "task.yaml").read_text().replace("cases: 1", "cases: 2"))
    trial = solved(work)
    (trial / "evaluation" / "of the evaluator").write_text("half")
    assert agent(work, "evaluate", str(trial)).status == 1
    assert (trial / "evaluation" / "of the evaluator").is_file()
    (work / "mine" / "task.yaml").write_text((work / "mine" / "task.yaml").read_text().replace("cases: 2", "cases: 1"))
    assert agent(work, "evaluate", str(trial), "--task", "mine").status == 0  # another task's leavings are nothing
    assert not (trial / "evaluation" / "of the evaluator").exists()
    (trial / "evaluation" / "of the evaluator").write_text("whole")
    assert agent(work, "evaluate", str(trial), "--task", "mine").status == 0  # there was a score: all anew
    assert not (trial / "evaluation" / "of the evaluator").exists()


def test_an_interrupted_evaluation_is_closed_and_done_later(work: Path) -> None:
    suite(work, "time.sleep(30 * pathlib.Path('/tmp').exists())")
    trial = solved(work, "--no-evaluate")
    process = subprocess.Popen(
        [*AGENT, "evaluate", str(trial), "--json"],
        cwd=work,
        env=environment(work),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    until = time.monotonic() + 60
    while not (trial / "evaluation" / "suite.log").exists() and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert (json.loads(out)["verdict"], json.loads(out)["why_none"]) == (None, "interrupted by the user")
    (last,) = evaluated(trial)
    assert last.verdict is None
    suite(work)
    assert agent(work, "evaluate", str(trial), "--task", "mine").status == 0
    assert kept(trial)["verdict"]["passed"] is True
    assert sound(work, trial)


def test_a_lost_archive_is_made_again_of_the_last_snapshot(work: Path) -> None:
    trial = solved(work, "--no-evaluate")
    (trial / "workspace.tar.zst").unlink()
    done = agent(work, "evaluate", str(trial), "--json")
    assert done.status == 0, done.err
    assert "last snapshot" in done.err
    assert done.json["verdict"]["passed"] is True
    events = list(read_events(trial))
    exports = [event for event in events if isinstance(event, WorkspaceExported)]
    (started,) = [event for event in events if isinstance(event, EvaluationStarted)]
    assert started.workspace_sha256 == exports[-1].sha256
    assert sound(work, trial)
    assert agent(work, "resume", str(trial)).status == 0


def test_a_workspace_that_is_not_whole_is_not_evaluated(work: Path) -> None:
    trial = solved(work, "--no-evaluate")
    archive = trial / "workspace.tar.zst"
    archive.write_bytes(archive.read_bytes()[:-1])
    before = (trial / "events.jsonl").read_bytes()
    assert "has changed since the export" in refused(agent(work, "evaluate", str(trial)))
    archive.unlink()
    shutil.rmtree(trial / "blobs")
    assert "'made'" in refused(agent(work, "evaluate", str(trial)))
    assert (trial / "events.jsonl").read_bytes() == before


@pytest.mark.parametrize("last", ["infrastructure", "user", None])
def test_what_the_agent_did_not_end_is_not_scored(work: Path, last: str | None) -> None:
    fail = {"fail": {"error": "authentication"}} if last else "true"
    trial = solved(work, model=script(work, "echo -n yes >made", fail, SUBMIT))
    if last != "infrastructure":
        lines = (trial / "events.jsonl").read_text().splitlines(keepends=True)
        at = next(index for index, line in enumerate(lines) if '"type":"exit"' in line)
        cut = lines[:at]
        if last:
            cut.append(lines[at].replace("infrastructure", "user").replace("model_unavailable", "interrupted"))
        (trial / "events.jsonl").write_text("".join(cut))
    line = refused(agent(work, "evaluate", str(trial)))
    assert "is not scored" in line
    assert "agent resume" in line
    assert agent(work, "checkout", str(trial), "out").status == 0
    assert agent(work, "evaluate", "out", "--task", "mine", "--env", "local", "--json").json["verdict"]["passed"]


def test_another_task_s_verdict_is_not_a_trial_s(work: Path) -> None:
    trial = solved(work)
    line = refused(agent(work, "evaluate", str(trial), "--task", "demo/ledger"))
    assert "is a trial of path/mine" in line
    archive = str(trial / "workspace.tar.zst")
    assert archive in line
    done = agent(work, "evaluate", archive, "--task", "demo/ledger", "--env", "local", "--json")
    assert (done.status, done.json["verdict"]["quality"]) == (0, 0.0)


def test_a_trial_without_a_task_that_evaluates(work: Path) -> None:
    (work / "start").mkdir()
    where = ("--instruction", "x", "--workspace", "start", "--env", "local")
    trial = agent(work, "solve", *where, "--model", script(work, "echo -n yes >made", SUBMIT), "--json").trial
    assert "name one with --task" in refused(agent(work, "evaluate", str(trial)))
    assert agent(work, "evaluate", str(trial), "--task", "mine").status == 0
    assert kept(trial)["verdict"]["passed"] is True


@pytest.mark.parametrize("form", ["directory", "tar", "tar.gz"])
def test_a_workspace_by_itself(work: Path, form: str) -> None:
    folder = work / "a workspace"
    folder.mkdir()
    (folder / "made").write_text("yes")
    what = folder
    if form != "directory":
        what = work / f"it.{form}"
        with tarfile.open(what, "w:gz" if form == "tar.gz" else "w") as tar:
            tar.add(folder, ".")
    where = ("--task", "mine", "--env", "local", "--json")
    done = agent(work, "evaluate", str(what), *where)
    assert done.status == 0, done.err
    assert (done.json["trial"], done.json["logs"], done.json["verdict"]["quality"]) == (None, None, 1.0)
    assert not (work / "runs").exists()
    assert {path.name for path in folder.iterdir()} == {"made"}
    assert agent(work, "evaluate", str(what), *where, "--output", "out").status == 0
    assert kept(work / "out", "verdict.json")["passed"] is True
    assert (work / "out" / "suite.log").is_file()
    assert "not an empty directory" in refused(agent(work, "evaluate", str(what), *where, "--output", "out"))


def test_mistakes_are_one_line(work: Path) -> None:
    trial = solved(work)
    (work / "torn.tar.gz").write_bytes(b"\x1f\x8b\x08\x00")
    (work / "text").write_text("text")
    cases = {
        ("nothing",): "no trial 'nothing'",
        ("", "--task", "mine", "--env", "local"): "the argument is empty",
        ("mine",): "--task TASK",
        ("mine", "--task", "demo/nothing"): "unknown task",
        ("text", "--task", "mine", "--env", "local"): "neither a directory nor a tar",
        ("torn.tar.gz", "--task", "mine", "--env", "local"): "not a complete tar.gz",
        ("mine", "--task", "mine", "--env", "docker"): "allows: sandbox, local",
        ("mine", "--task", "mine", "--env", "cloud"): "is not one of",
        (str(trial), "--output", "out"): "leave it out",
    }
    for argv, said in cases.items():
        assert said in refused(agent(work, "evaluate", *argv)), argv


@pytest.mark.docker
def test_in_docker(work: Path) -> None:
    trial = agent(work, "solve", "--task", "demo/ledger", "--env", "local", "--model", "oracle", "--json").trial
    done = agent(work, "evaluate", str(trial), "--env", "docker", "--json")
    assert done.status == 0, done.err
    assert (done.json["environment"], done.json["verdict"]["quality"]) == ("docker", 1.0)
    verdict = kept(trial, "verdict.json")
    assert verdict["evaluator"]["inputs"]["kind"] == "docker"
