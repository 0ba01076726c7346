"""What may go wrong between two turns: each has one outcome, and nothing is left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.continuation.chain import Results, run_chain
from agent.loop.actions import SUBMIT
from agent.trial.options import Options
from agent.trial.order import Order
from agent.trial.resolve import resolve
from benchmarks.task.task import Benchmark
from environments.leftovers.owner import TRIAL
from tests.solve.chains import A_PART, folders, make_task, messages, resume, solve, unwatched
from tests.solve.command import agent, script
from tests.solve.test_interrupts import begin, wait_for
from trajectories.checks.check import check
from trajectories.interrupts import held
from trajectories.reading.reader import read_events
from trajectories.record.events import EnvStarted, Warned
from trajectories.record.layout import name_of_turn
from trajectories.record.verdict import Verdict
from trajectories.writing.lock import TrialLock

SANDBOX = pytest.param("sandbox", marks=pytest.mark.sandbox)
DOCKER = pytest.param("docker", marks=pytest.mark.docker)


class Disturbed:
    """A benchmark in which something happens before each evaluation."""

    def __init__(self, benchmark: Benchmark, before: Callable[[], None]) -> None:
        self._benchmark = benchmark
        self._before = before

    def __getattr__(self, name: str) -> Any:
        return getattr(self._benchmark, name)

    def evaluate(self, *arguments: Any) -> Verdict:
        self._before()
        return self._benchmark.evaluate(*arguments)


def order_of_chain(work: Path, env: str, before: Callable[[], None]) -> Order:
    """Return the order of a chain whose first evaluation is disturbed; later turns are resolved anew."""
    image = ""
    if env == "docker":
        from tests.demo_images import demo_image

        image = f"image: {{reference: '{demo_image('ledger')}'}}\n"
    make_task(work, env, image)
    model = script(work, f"{A_PART}; (sleep 300 >/dev/null 2>&1 &)", SUBMIT)
    options = Options(model=model, task=str(work / "mine"), self_correct=2, runs=work / "runs")
    order = resolve(options)
    return replace(order, benchmark=Disturbed(order.benchmark, before))


def run(order: Order) -> Results:
    results: Results = []
    with held():
        run_chain(order, unwatched, results)
    return results


def children() -> set[int]:
    """Return the processes that this process has started and that still run."""
    pid = os.getpid()
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return {int(child) for task in tasks for child in (task / "children").read_text().split()}


def containers(trial: str) -> list[str]:
    listed = subprocess.run(
        ["docker", "ps", "-aq", "--filter", f"label={TRIAL}={trial}"], capture_output=True, text=True, check=True
    )
    return listed.stdout.split()


@pytest.mark.sandbox
def test_an_evaluator_that_fails_ends_the_chain_until_it_is_resumed(tmp_path: Path) -> None:
    before = children()

    def fail() -> None:
        raise OSError("the machine has no memory left")

    results = run(order_of_chain(tmp_path, "sandbox", fail))
    ((outcome, _),) = results
    assert outcome.evaluator_failed
    assert children() == before, "the environment that was kept for turn 2"
    again, (line,) = resume(outcome.directory)
    assert "with the evaluation of turn 1 of 2" in line
    assert [o.verdict is not None and o.verdict.passed for o, _ in again] == [False, True]
    assert check(outcome.directory).first is None


@pytest.mark.parametrize("env", [SANDBOX, DOCKER])
def test_a_kept_environment_that_dies_is_rebuilt_from_the_last_snapshot(tmp_path: Path, env: str) -> None:
    before = children()

    def end_what_is_kept() -> None:
        if env == "docker":
            (trial,) = (path.name for path in tmp_path.glob("runs/*/mine.*"))
            (container,) = containers(trial)
            subprocess.run(["docker", "rm", "-f", container], check=True, capture_output=True)
            return
        (child,) = children() - before
        os.kill(child, signal.SIGKILL)

    first, second = (outcome for outcome, _ in run(order_of_chain(tmp_path, env, end_what_is_kept)))
    assert second.verdict is not None
    assert second.verdict.passed
    events = list(read_events(second.directory))
    assert [event.continues for event in events if isinstance(event, EnvStarted)] == [None]
    warnings = {event.kind: event.text for event in events if isinstance(event, Warned)}
    assert "the environment of turn 1 was lost" in warnings["environment_lost"]
    (message,) = messages(second.directory, "feedback")
    assert "background processes of 1.1: 1" in message
    assert check(second.directory).first is None
    if env == "docker":
        assert containers(first.directory.name) == containers(second.directory.name) == []


@pytest.mark.sandbox
def test_an_interrupt_in_an_evaluation_ends_the_chain_there(tmp_path: Path) -> None:
    make_task(tmp_path, suite_first="import time; time.sleep(1)")
    argv = ["solve", "--task", "mine", "--env", "sandbox", "--self-correct", "2", "--json"]
    process = begin(tmp_path, *argv, "--model", script(tmp_path, A_PART, SUBMIT), stderr=subprocess.PIPE)
    events = wait_for(tmp_path / "runs", '"type":"evaluation_started"')
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert len(json.loads(out)["trials"]) == 1
    resumed = agent(tmp_path, "resume", str(events.parent))
    assert resumed.status == 0, resumed.err
    assert "continues with the evaluation of turn 1 of 2" in resumed.err
    assert resumed.err.count("next: agent show") == 1
    assert name_of_turn(events.parent.name, 2) in resumed.out


@pytest.mark.docker
@pytest.mark.slow
def test_a_container_that_a_killed_process_kept_is_removed_by_the_resume(tmp_path: Path) -> None:
    from tests.demo_images import demo_image

    image = f"image: {{reference: '{demo_image('ledger')}'}}\n"
    make_task(tmp_path, "docker", image, suite_first="import time; time.sleep(3)")
    argv = ["solve", "--task", "mine", "--self-correct", "2"]
    process = begin(tmp_path, *argv, "--model", script(tmp_path, A_PART, SUBMIT))
    trial = wait_for(tmp_path / "runs", '"type":"evaluation_started"').parent
    process.kill()
    process.wait()
    assert len(containers(trial.name)) == 1
    assert agent(tmp_path, "resume", str(trial)).status == 0
    assert containers(trial.name) == containers(name_of_turn(trial.name, 2)) == []


def test_a_plan_that_is_not_kept_is_refused_before_the_first_turn(tmp_path: Path) -> None:
    make_task(tmp_path)
    (tmp_path / "plan.md").write_text("Use sk-verysecret-0123456789 for it.")
    argv = ["solve", "--task", "mine", "--env", "sandbox", "--self-correct", "2", "--plan", "plan.md"]
    result = agent(tmp_path, *argv, "--model", "nop", MY_API_KEY="sk-verysecret-0123456789")
    assert result.status == 2
    assert "--plan plan.md: it holds a secret" in result.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.sandbox
def test_one_lock_covers_the_chain(tmp_path: Path) -> None:
    make_task(tmp_path)
    first, second, _ = folders(solve(tmp_path, A_PART, SUBMIT))
    with TrialLock(first):
        refused = agent(tmp_path, "resume", str(second))
    assert refused.status != 0
    assert f"process {os.getpid()} is at work on this trial" in refused.err


@pytest.mark.sandbox
def test_a_missing_turn_is_named(tmp_path: Path) -> None:
    make_task(tmp_path)
    first, second, third = folders(solve(tmp_path, A_PART, SUBMIT))
    second.rename(tmp_path / "elsewhere")
    line = agent(tmp_path, "resume", str(third))
    assert line.status == 2
    assert f"{second.name}: turn 2 of the chain is missing, but turn 3 is there" in line.err
    first.rename(tmp_path / "too")
    assert "turn 1" in agent(tmp_path, "resume", str(third)).err


@pytest.mark.sandbox
def test_a_turn_that_infrastructure_ends_is_continued_before_the_next_one(tmp_path: Path) -> None:
    make_task(tmp_path)
    stops = {"fail": {"error": "authentication"}}
    result = solve(tmp_path, A_PART, stops)
    assert result.status == 1
    assert [trial["exit"]["reason"] for trial in result.json["trials"]] == ["infrastructure"]
    assert "next:" not in result.err, "with --json the caller reads the state there"
    resumed = agent(tmp_path, "resume", str(folders(result)[0]))
    assert "in turn 1 of 3" in resumed.err
    assert "next: agent resume" in resumed.err


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--self-correct", "1"], "one turn is not self-correction"),
        (["--self-correct", "0"], "one turn is not self-correction"),
        (["--self-correct", "2", "--env", "local"], "cannot be paused"),
        (["--self-correct", "2", "--no-evaluate"], "--no-evaluate"),
        (["--self-correct", "2", "--feedback", "all"], "--feedback 'all' is not one of output, failing, scores, paths"),
        (["--self-correct", "2", "--conversation", "new"], "--conversation 'new' is not one of fresh, same"),
        (["--self-correct", "2", "--self-correct-until", "x"], "'x' is not one of fixed, passed"),
        (["--feedback", "scores"], "--feedback goes with --self-correct"),
        (["--reveal-tests"], "--reveal-tests goes with --self-correct"),
        (["--self-correct", "2", "--reveal-tests"], "--reveal-tests does not apply"),
    ],
)
def test_mistakes_are_usage_errors(tmp_path: Path, options: list[str], part: str) -> None:
    make_task(tmp_path)
    env = [] if "--env" in options or "sandbox" not in part else ["--env", "sandbox"]
    result = agent(tmp_path, "solve", "--task", "mine", "--model", "nop", *env, *options)
    assert result.status == 2, result.err
    (line,) = result.err.strip().splitlines()
    assert part in line
    assert not (tmp_path / "runs").exists()


def test_a_form_that_the_task_forbids_names_the_option_that_allows_it(tmp_path: Path) -> None:
    make_task(tmp_path, evaluation=", feedback: [scores]")
    result = agent(tmp_path, "solve", "--task", "mine", "--model", "nop", "--self-correct", "2", "--feedback", "output")
    assert result.status == 2
    assert "--reveal-tests" in result.err


def test_a_task_without_tests_has_no_feedback(tmp_path: Path) -> None:
    (tmp_path / "start").mkdir()
    argv = ["--instruction", "do it well", "--workspace", "start", "--model", "nop", "--self-correct", "2"]
    result = agent(tmp_path, "solve", *argv, "--env", "sandbox")
    assert result.status == 2
    assert "leave out --self-correct" in result.err
