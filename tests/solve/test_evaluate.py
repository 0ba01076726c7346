"""`agent evaluate` gives a finished trial its verdict, later or again, and prints the verdict of any workspace."""

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
    """Write the suite of the task, whose test begins with this statement."""
    (work / "mine" / "tests" / "test_it.py").write_text(SUITE.format(first))


def solved(work: Path, *options: str, model: str = "oracle") -> Path:
    """Solve the task; return the trial."""
    result = agent(work, "solve", "--task", "mine", "--env", "local", "--model", model, *options, "--json")
    assert result.status in (0, 1), result.err
    return result.trial


def evaluated(trial: Path) -> list[Evaluated]:
    return [event for event in read_events(trial) if isinstance(event, Evaluated)]


def stored(trial: Path, name: str = "trial.json") -> dict:
    """Return the content of a JSON file in the folder of a trial."""
    return json.loads((trial / name).read_text())


def consistent(work: Path, trial: Path) -> bool:
    return agent(work, "show", str(trial), "--check").status == 0


def refused(result: CommandResult) -> str:
    """Check that a command ended with a usage error; return the single line that it printed."""
    assert (result.status, result.out) == (2, "")
    (line,) = result.err.splitlines()
    return line


def test_a_trial_that_was_not_evaluated_gets_its_verdict_later(work: Path) -> None:
    trial = solved(work, "--no-evaluate")
    assert stored(trial)["verdict"] is None
    result = agent(work, "evaluate", trial.name, "--json")
    assert result.status == 0, result.err
    assert result.json["verdict"]["passed"] is True
    assert result.json["environment"] == "local"
    assert stored(trial)["verdict"]["quality"] == stored(trial, "score.json")["quality"] == 1.0
    assert stored(trial, "verdict.json")["cases"][0]["status"] == "passed"
    assert Path(work / result.json["logs"] / "suite.log").is_file()
    assert consistent(work, trial)


def test_a_bad_score_is_a_verdict_and_not_an_error(work: Path) -> None:
    trial = solved(work, "--no-evaluate", model="nop")
    result = agent(work, "evaluate", str(trial))
    assert result.status == 0
    assert "not passed, quality 0.000" in result.out


def test_a_trial_that_another_process_holds_is_not_evaluated(work: Path) -> None:
    trial = solved(work)
    before = (trial / "events.jsonl").read_bytes()
    with TrialLock(trial):
        assert "is at work on this trial" in refused(agent(work, "evaluate", str(trial)))
    assert (trial / "events.jsonl").read_bytes() == before


def test_a_trial_whose_evaluator_failed_is_evaluated_again(work: Path) -> None:
    (work / "mine" / "task.yaml").write_text((work / "mine" / "task.yaml").read_text().replace("cases: 1", "cases: 2"))
    trial = solved(work)
    assert stored(trial)["verdict"]["status"] == "error"
    assert agent(work, "evaluate", str(trial)).status == 1
    assert [event.verdict and event.verdict.status for event in evaluated(trial)] == ["error", "error"]
    (work / "mine" / "task.yaml").write_text((work / "mine" / "task.yaml").read_text().replace("cases: 2", "cases: 1"))
    line = refused(agent(work, "evaluate", str(trial)))
    assert "the task path/mine has changed" in line
    assert "--task" in line
    result = agent(work, "evaluate", str(trial), "--task", "mine", "--json")
    assert result.status == 0, result.err
    assert stored(trial)["verdict"]["quality"] == 1.0
    changed = [event for event in read_events(trial) if isinstance(event, Warned) and event.kind == "task_changed"]
    assert len(changed) == 1
    assert consistent(work, trial)


def test_a_failed_second_evaluation_leaves_the_earlier_verdict_in_place(work: Path) -> None:
    trial = solved(work)
    results = (trial / "evaluation" / "results.xml").read_bytes()
    suite(work, "raise")
    (work / "mine" / "tests" / "test_it.py").write_text("not Python\n")
    result = agent(work, "evaluate", str(trial), "--task", "mine", "--json")
    assert result.status == 1
    assert result.json["verdict"]["status"] == "error"
    assert stored(trial)["verdict"]["quality"] == stored(trial, "verdict.json")["quality"] == 1.0
    assert (trial / "evaluation" / "results.xml").read_bytes() == results, "the files of the earlier verdict"
    assert (trial / "evaluation" / "failed" / "suite.log").is_file()
    assert agent(work, "show", str(trial), "--rebuild").status == 0
    assert stored(trial)["verdict"]["quality"] == 1.0


def test_the_results_of_an_evaluation_that_was_cut_off_are_not_used_by_the_next_evaluation(work: Path) -> None:
    trial = solved(work)
    results = (trial / "evaluation" / "results.xml").read_bytes()
    events = (trial / "events.jsonl").read_text().splitlines(keepends=True)
    started = next(index for index, line in enumerate(events) if '"type":"evaluation_started"' in line)
    (trial / "events.jsonl").write_text("".join(events[: started + 1]))
    (work / "mine" / "tests" / "conftest.py").write_text("import os\nos._exit(1)\n")  # leaves no results
    (trial / "evaluation" / "results.xml").write_bytes(results)
    result = agent(work, "evaluate", str(trial), "--task", "mine", "--json")
    assert result.status == 1, result.out
    assert result.json["verdict"]["status"] == "error"
    assert not (trial / "evaluation" / "results.xml").exists()


def test_the_files_of_an_evaluation_are_kept_for_the_next_one_if_there_was_no_score(work: Path) -> None:
    (work / "mine" / "task.yaml").write_text((work / "mine" / "task.yaml").read_text().replace("cases: 1", "cases: 2"))
    trial = solved(work)
    (trial / "evaluation" / "of the evaluator").write_text("half")
    assert agent(work, "evaluate", str(trial)).status == 1
    assert (trial / "evaluation" / "of the evaluator").is_file()
    (work / "mine" / "task.yaml").write_text((work / "mine" / "task.yaml").read_text().replace("cases: 2", "cases: 1"))
    assert agent(work, "evaluate", str(trial), "--task", "mine").status == 0  # the task has changed: nothing is kept
    assert not (trial / "evaluation" / "of the evaluator").exists()
    (trial / "evaluation" / "of the evaluator").write_text("whole")
    assert agent(work, "evaluate", str(trial), "--task", "mine").status == 0  # there was a score: nothing is kept
    assert not (trial / "evaluation" / "of the evaluator").exists()


def test_an_interrupted_evaluation_is_closed_and_can_be_repeated(work: Path) -> None:
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
    assert stored(trial)["verdict"]["passed"] is True
    assert consistent(work, trial)


def test_a_missing_archive_is_rebuilt_from_the_last_snapshot(work: Path) -> None:
    trial = solved(work, "--no-evaluate")
    (trial / "workspace.tar.zst").unlink()
    result = agent(work, "evaluate", str(trial), "--json")
    assert result.status == 0, result.err
    assert "last snapshot" in result.err
    assert result.json["verdict"]["passed"] is True
    events = list(read_events(trial))
    exports = [event for event in events if isinstance(event, WorkspaceExported)]
    (started,) = [event for event in events if isinstance(event, EvaluationStarted)]
    assert started.submission.sha256 == exports[-1].sha256
    assert consistent(work, trial)
    assert agent(work, "resume", str(trial)).status == 0


def test_an_incomplete_workspace_is_not_evaluated(work: Path) -> None:
    trial = solved(work, "--no-evaluate")
    archive = trial / "workspace.tar.zst"
    archive.write_bytes(archive.read_bytes()[:-1])
    before = (trial / "events.jsonl").read_bytes()
    assert "has changed since the export" in refused(agent(work, "evaluate", str(trial)))
    archive.unlink()
    shutil.rmtree(trial / "blobs")
    assert "'made'" in refused(agent(work, "evaluate", str(trial)))
    assert (trial / "events.jsonl").read_bytes() == before


@pytest.mark.parametrize("ended_by", ["infrastructure", "user", None])
def test_a_trial_that_the_agent_did_not_end_is_not_scored(work: Path, ended_by: str | None) -> None:
    fail = {"fail": {"error": "authentication"}} if ended_by else "true"
    trial = solved(work, model=script(work, "echo -n yes >made", fail, SUBMIT))
    if ended_by != "infrastructure":
        lines = (trial / "events.jsonl").read_text().splitlines(keepends=True)
        at = next(index for index, line in enumerate(lines) if '"type":"exit"' in line)
        cut = lines[:at]
        if ended_by:
            cut.append(lines[at].replace("infrastructure", "user").replace("model_unavailable", "interrupted"))
        (trial / "events.jsonl").write_text("".join(cut))
    line = refused(agent(work, "evaluate", str(trial)))
    assert "is not scored" in line
    assert "agent resume" in line
    assert agent(work, "checkout", str(trial), "out").status == 0
    assert agent(work, "evaluate", "out", "--task", "mine", "--env", "local", "--json").json["verdict"]["passed"]


def test_a_trial_gets_no_verdict_of_another_task(work: Path) -> None:
    trial = solved(work)
    line = refused(agent(work, "evaluate", str(trial), "--task", "demo/ledger"))
    assert "is a trial of path/mine" in line
    archive = str(trial / "workspace.tar.zst")
    assert archive in line
    result = agent(work, "evaluate", archive, "--task", "demo/ledger", "--env", "local", "--json")
    assert (result.status, result.json["verdict"]["quality"]) == (0, 0.0)


def test_a_trial_of_a_literal_instruction_is_evaluated_with_a_task_named_by_the_user(work: Path) -> None:
    (work / "start").mkdir()
    options = ("--instruction", "x", "--workspace", "start", "--env", "local")
    trial = agent(work, "solve", *options, "--model", script(work, "echo -n yes >made", SUBMIT), "--json").trial
    assert "name one with --task" in refused(agent(work, "evaluate", str(trial)))
    assert agent(work, "evaluate", str(trial), "--task", "mine").status == 0
    assert stored(trial)["verdict"]["passed"] is True


@pytest.mark.parametrize("form", ["directory", "tar", "tar.gz"])
def test_a_workspace_without_a_trial_is_evaluated(work: Path, form: str) -> None:
    folder = work / "a workspace"
    folder.mkdir()
    (folder / "made").write_text("yes")
    workspace = folder
    if form != "directory":
        workspace = work / f"it.{form}"
        with tarfile.open(workspace, "w:gz" if form == "tar.gz" else "w") as tar:
            tar.add(folder, ".")
    options = ("--task", "mine", "--env", "local", "--json")
    result = agent(work, "evaluate", str(workspace), *options)
    assert result.status == 0, result.err
    assert (result.json["trial"], result.json["logs"], result.json["verdict"]["quality"]) == (None, None, 1.0)
    assert not (work / "runs").exists()
    assert {path.name for path in folder.iterdir()} == {"made"}
    assert agent(work, "evaluate", str(workspace), *options, "--output", "out").status == 0
    assert stored(work / "out", "verdict.json")["passed"] is True
    assert (work / "out" / "suite.log").is_file()
    assert "not an empty directory" in refused(agent(work, "evaluate", str(workspace), *options, "--output", "out"))


def test_a_usage_error_is_reported_in_a_single_line(work: Path) -> None:
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
        (str(trial), "--output", "out"): "leave the option out",
    }
    for argv, message in cases.items():
        assert message in refused(agent(work, "evaluate", *argv)), argv


@pytest.mark.docker
def test_a_local_trial_is_evaluated_in_docker(work: Path) -> None:
    trial = agent(work, "solve", "--task", "demo/ledger", "--env", "local", "--model", "oracle", "--json").trial
    result = agent(work, "evaluate", str(trial), "--env", "docker", "--json")
    assert result.status == 0, result.err
    assert (result.json["environment"], result.json["verdict"]["quality"]) == ("docker", 1.0)
    verdict = stored(trial, "verdict.json")
    assert verdict["evaluator"]["inputs"]["kind"] == "docker"
