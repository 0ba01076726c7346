"""`agent evaluate BATCH`: every trial that has come to its end without a score is evaluated, several at once."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from tests.solve.command import AGENT, agent, environment
from tests.solve.test_evaluate import SUITE, evaluated, refused, stored, work
from trajectories.reading.reader import read_events
from trajectories.record.events import EvaluationStarted
from trajectories.writing.lock import TrialLock

__all__ = ["work"]
WAITS = (
    "deadline = time.time() + 60\n    while not pathlib.Path({!r}).exists() and time.time() < deadline: time.sleep(0.1)"
)
SPEC = "tasks: [./mine]\nmodels: [oracle, nop]\nattempts: 2\nenv: local\nworkers: 2\nevaluations: 3\n"


def unevaluated(work: Path, attempts: int) -> list[Path]:
    """Solve the task several times; return the trials, none of which is evaluated."""
    result = agent(
        work, *("solve", "--task", "mine", "--env", "local", "--model", "oracle"),
        *("--no-evaluate", "--attempts", str(attempts), "--json"),
    )  # fmt: skip
    assert result.status == 0, result.err
    trials = result.json["trials"] if attempts > 1 else [result.json]
    return [work / trial["trial"] for trial in trials]


def scores(trials: list[Path]) -> list[float | None]:
    return [(stored(trial)["verdict"] or {}).get("quality") for trial in trials]


def test_a_folder_of_trials_is_evaluated_once(work: Path) -> None:
    trials = unevaluated(work, 3)
    assert agent(work, "evaluate", str(trials[0])).status == 0
    result = agent(work, "evaluate", "single", "--evaluations", "2", "--json")
    assert result.status == 0, result.err
    assert {each["trial"] for each in result.json["evaluations"]} == {str(t.relative_to(work)) for t in trials[1:]}
    assert "2 trials to evaluate, 1 scored already" in result.err
    assert "2 of 2 " in result.err
    assert scores(trials) == [1.0, 1.0, 1.0]
    again = agent(work, "evaluate", "runs/single")
    assert (again.status, again.out) == (0, "0 evaluated, 0 of them passed\n")
    assert [len(evaluated(trial)) for trial in trials] == [1, 1, 1]


def test_several_evaluations_run_at_the_same_time(work: Path) -> None:
    """Each suite waits until both have begun; one after the other, the first would wait in vain."""
    meet = (
        "here = pathlib.Path({!r})\n    (here / str(workspace).replace('/', '_')).touch()\n"
        "    deadline = time.time() + 50\n"
        "    while len(list(here.iterdir())) < 2:\n"
        "        assert time.time() < deadline\n        time.sleep(0.05)"
    )
    place = work / "meeting"
    place.mkdir()
    (work / "mine" / "tests" / "test_it.py").write_text(SUITE.format(meet.format(str(place))))
    trials = unevaluated(work, 2)
    result = agent(work, "evaluate", "single", "--evaluations", "2")
    assert result.out == "2 evaluated, 2 of them passed\n", result.err
    assert scores(trials) == [1.0, 1.0]


def test_an_interrupt_stops_all_and_the_same_command_goes_on(work: Path) -> None:
    (work / "mine" / "tests" / "test_it.py").write_text(SUITE.format(WAITS.format(str(work / "go"))))
    trials = unevaluated(work, 3)
    command = [*AGENT, "evaluate", "single", "--evaluations", "2"]
    with subprocess.Popen(command, cwd=work, env=environment(work), stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while sum(has_begun(trial) for trial in trials) < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert scores(trials) == [None, None, None]
    assert not has_begun(trials[2])
    for trial in trials:
        with TrialLock(trial):
            pass  # nobody is at work on it
        assert agent(work, "show", str(trial), "--check").status == 0
    (work / "go").touch()
    result = agent(work, "evaluate", "single", "--evaluations", "3")
    assert result.out == "3 evaluated, 3 of them passed\n", result.err
    assert scores(trials) == [1.0, 1.0, 1.0]


def has_begun(trial: Path) -> bool:
    return any(isinstance(event, EvaluationStarted) for event in read_events(trial))


def test_one_that_another_process_holds_or_that_has_no_end_does_not_keep_the_others_from_it(work: Path) -> None:
    trials = unevaluated(work, 3)
    events = (trials[0] / "events.jsonl").read_text().splitlines(keepends=True)
    (trials[0] / "events.jsonl").write_text("".join(events[:3]))  # as after a crash
    with TrialLock(trials[1]):
        result = agent(work, "evaluate", "single", "--json")
    assert result.status == 0
    assert "2 trials to evaluate, 0 scored already, 1 not come to an end" in result.err
    assert [each["trial"] for each in result.json["skipped"]] == [str(trials[1].relative_to(work))]
    assert scores(trials[1:]) == [None, 1.0]


def test_an_unreadable_record_is_named(work: Path) -> None:
    trials = unevaluated(work, 2)
    (trials[0] / "events.jsonl").write_text("{not json}\n{}\n")
    (trials[0] / "trial.json").unlink()
    result = agent(work, "evaluate", "single", "--json")
    assert result.status == 1
    assert trials[0].name in result.json["problems"][0]["problem"]
    assert scores(trials[1:]) == [1.0]


def test_a_changed_task_is_named_for_each_trial_and_can_be_given(work: Path) -> None:
    trials = unevaluated(work, 2)
    (work / "mine" / "tests" / "test_it.py").write_text(SUITE.format("assert True"))
    result = agent(work, "evaluate", "single", "--json")
    assert result.status == 1
    assert ["has changed" in problem["problem"] for problem in result.json["problems"]] == [True, True]
    assert scores(trials) == [None, None]
    given = agent(work, "evaluate", "single", "--task", "mine")
    assert given.out == "2 evaluated, 2 of them passed\n", given.err


def test_a_failed_evaluator_is_counted_and_tried_again(work: Path) -> None:
    (work / "mine" / "task.yaml").write_text((work / "mine" / "task.yaml").read_text().replace("cases: 1", "cases: 2"))
    (trial,) = unevaluated(work, 1)
    for _ in range(2):
        result = agent(work, "evaluate", "single")
        assert (result.status, result.out) == (1, "0 evaluated, 0 of them passed, 1 without a score\n")
    assert [event.verdict and event.verdict.status for event in evaluated(trial)] == ["error", "error"]


def test_a_batch_whose_evaluations_were_postponed(work: Path) -> None:
    (work / "study.yaml").write_text(SPEC)
    run = agent(work, "batch", "study.yaml", "--no-evaluate", "--json")
    assert run.status == 0, run.err
    assert (run.json["done"], run.json["unevaluated"]) == (4, 4)
    journal = (work / "runs" / "study" / "batch.jsonl").read_bytes()
    result = agent(work, "evaluate", "study")
    assert result.out == "4 evaluated, 2 of them passed\n", result.err
    assert (work / "runs" / "study" / "batch.jsonl").read_bytes() == journal
    status = agent(work, "batch", "status", "study", "--json").json
    assert (status["judged"], status["passed"], status["unevaluated"]) == (4, 2, 0)
    report = agent(work, "score", "study", "--json").json
    assert [(row["model"], row["pass_rate"]["value"]) for row in report["arms"]] == [("oracle", 1), ("nop", 0)]
    again = agent(work, "batch", "study.yaml", "--json")
    assert (again.status, again.json["judged"]) == (0, 4)
    trials = [path.parent for path in (work / "runs" / "study").glob("*/events.jsonl*")]
    assert [len(evaluated(trial)) for trial in trials] == [1] * 4


def test_what_does_not_fit_to_several_is_refused(work: Path) -> None:
    (trial,) = unevaluated(work, 1)
    (work / "other").mkdir()
    assert "neither a trial nor a batch" in refused(agent(work, "evaluate", str(trial), "other"))
    assert "leave the option out" in refused(agent(work, "evaluate", "single", "--output", "out"))
    assert "no trial 'nothing'" in refused(agent(work, "evaluate", str(trial), "nothing"))
    assert agent(work, "evaluate", "single", "--evaluations", "0").status == 2
    assert evaluated(trial) == []
