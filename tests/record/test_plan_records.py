"""Records of plans beside trials: they are read and checked, and no command takes them for trials."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.cli import completion
from tests.analysis.trials import started
from tests.record.plan_records import TEXT, answered, plan_record
from trajectories.blobs.garbage import collect_garbage
from trajectories.checks.check import check
from trajectories.errors import RecordError
from trajectories.reading.plans.finding import find_plan, plan_directories
from trajectories.reading.plans.record import read_plan
from trajectories.reading.reader import read_events, read_role_events
from trajectories.reading.runs import directories_named, find_trial, trial_directories
from trajectories.record.events import Exited
from trajectories.record.exits import Exit
from trajectories.record.usage import Costs
from trajectories.writing.claim import claim_plan
from trajectories.writing.recorder import Recorder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A runs directory with a trial, also one in a batch that an older version let a user call `plans`."""
    for name in ("single/ledger.opus.1a.1", "plans/spans.opus.1a.1"):
        (tmp_path / name).mkdir(parents=True)
        recorder = Recorder(tmp_path / name)
        for event in (started(), Exited(exit=Exit.of("submitted"), steps=0)):
            recorder.append(event)
        recorder.close()
    plan_record(tmp_path)
    return tmp_path


def test_records_of_plans_are_not_among_the_trials(runs: Path) -> None:
    trials = {"ledger.opus.1a.1", "spans.opus.1a.1"}
    assert {trial.name for trial in trial_directories(runs)} == trials
    assert {trial.name for trial in directories_named((), runs)[0]} == trials
    assert [trial.name for trial in directories_named(("plans",), runs)[0]] == ["spans.opus.1a.1"]
    assert find_trial("ledger", runs).name == "ledger.opus.1a.1"
    assert [folder.name for folder in plan_directories(runs)] == ["ledger.opus.1"]


@pytest.mark.parametrize("name", ["plans/ledger.opus.1", "plans/ledger.opus.1/events.jsonl"])
def test_who_names_one_as_a_trial_is_told_what_it_is(runs: Path, name: str) -> None:
    for named in (name, str(runs / name)):
        if named == name and name.endswith("jsonl"):
            continue  # a file is looked for in the working directory
        with pytest.raises(RecordError, match="is the record of a plan, not a trial; agent show prints it"):
            find_trial(named, runs)
        with pytest.raises(RecordError, match="is the record of a plan"):
            directories_named((named.removesuffix("/events.jsonl"),), runs)
    with pytest.raises(RecordError, match="the record of a planner, not of a trial"):
        list(read_events(runs / "plans/ledger.opus.1"))


def test_a_record_of_which_nothing_was_written_yet_is_not_a_trial_either(runs: Path) -> None:
    directory = claim_plan(runs, "demo/ledger", "opus")
    assert directory.name == "ledger.opus.2"
    (directory / "events.jsonl").touch()
    assert len(trial_directories(runs)) == 2
    with pytest.raises(RecordError, match="the record is empty"):
        read_plan(directory)


@pytest.mark.parametrize(
    ("task", "model", "name"),
    [
        ("a/b/../c d", "openai/gpt-5.4", "c-d.gpt-5-4.1"),
        ("..", "../../x", "x.x.1"),
        ("demo/Ledger", "script", "ledger.script.1"),
    ],
)
def test_names_of_tasks_and_models_never_leave_the_folder(tmp_path: Path, task: str, model: str, name: str) -> None:
    assert claim_plan(tmp_path, task, model) == tmp_path / "plans" / name


def test_deleting_unused_contents_leaves_those_of_plans(runs: Path) -> None:
    record = runs / "plans" / "ledger.opus.1"
    recorder = Recorder(record, after=list(read_role_events(record))[-1], has_steps=False)
    recorder.keep(b"a request")
    recorder.close()
    before = sorted(path for path in record.rglob("*") if path.is_file())
    os.utime(record / "blobs", (0, 0))
    collect_garbage(runs)
    assert sorted(path for path in record.rglob("*") if path.is_file()) == before


def test_names_are_completed(runs: Path) -> None:
    class Context:
        params = {"runs": str(runs)}  # noqa: RUF012

    context: Any = Context()
    assert completion.plans(context, "pl") == ["plans/ledger.opus.1", "plans/spans.opus.1a.1"]
    assert completion.plans(context, "") == []
    assert completion.trials(context, "led") == ["ledger.opus.1a.1"]
    assert completion.records(context, "plans/l") == ["plans/ledger.opus.1"]


def test_the_last_usable_reply_is_the_plan_and_all_calls_are_paid(tmp_path: Path) -> None:
    results = [answered("x", Costs(computed=1.0), status="malformed", detail="line 1"), answered(TEXT)]
    record = read_plan(plan_record(tmp_path, results=results))
    assert (record.text, record.costs.computed, record.usage.output) == (TEXT, 1.25, 10)
    not_billed = answered(status="failed", text=None).model_copy(update={"costs": None, "usage": None})
    record = read_plan(plan_record(tmp_path, "ledger.opus.2", [not_billed, answered()]))
    assert record.costs.computed == 0.25


def test_a_plan_is_found_by_folder_file_name_and_beginning(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = runs / "plans" / "ledger.opus.1"
    for name in (str(record), f"{record}/plan.md", "plans/ledger.opus.1", "ledger.opus.1", "plans/led"):
        assert find_plan(name, runs) == record, name
    assert find_plan("led", runs) is None
    assert find_plan("led", runs, by_beginning=True) == record
    for name in ("", "plans/", "plans/zzz", "../plans/x", "single/led", "ledger.opus.1a.1"):
        assert find_plan(name, runs, by_beginning=True) is None, name
    monkeypatch.chdir(record)
    assert find_plan(".", runs) == Path()


BREAKS: dict[str, tuple[Callable[[list[dict[str, Any]]], object], str]] = {
    "no cost": (lambda e: e[2]["costs"].update(computed=0.0), "role call 1 costs nothing, but 0.5 USD by the list"),
    "another model": (lambda e: e[1]["model"].update(name="cheap/model"), "role call 1 has the model 'cheap/model'"),
    "another role": (lambda e: e[1].update(role="expert"), "role call 1 has the role 'expert'"),
    "a stranger": (lambda e: e.append({"type": "exit", "exit": {}, "steps": 0}), "not a valid event"),
    "two results": (lambda e: e.append(dict(e[2])), "role call 1 has two results"),
    "a gap": (lambda e: e.pop(1), "sequence gap"),
    "another text": (lambda e: e[2].update(text="Think."), "plan.md differs from the plan in the record"),
    "usage": (lambda e: e[2].update(usage_raw={"prompt_tokens": 99, "completion_tokens": 5}), "99"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_forged_record_is_named(tmp_path: Path, name: str) -> None:
    directory = plan_record(tmp_path)
    assert check(directory).consistent
    edit, words = BREAKS[name]
    path = directory / "events.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    edit(events)
    path.write_text("".join(f"{json.dumps(event, separators=(',', ':'))}\n" for event in events))
    report = check(directory)
    assert not report.consistent
    assert any(words in finding.text for finding in report.findings), report.findings


def test_a_record_that_was_killed_in_flight_or_has_no_plan_is_consistent(tmp_path: Path) -> None:
    assert check(plan_record(tmp_path, results=[None])).consistent
    assert check(plan_record(tmp_path, "b.m.1", [answered(status="malformed")])).consistent
    directory = plan_record(tmp_path, "c.m.1")
    with (directory / "events.jsonl").open("a") as file:
        file.write('{"seq":3,"t":"2026')
    report = check(directory)
    assert (report.consistent, [finding.warning for finding in report.findings]) == (True, [True])
    shutil.rmtree(directory / "blobs", ignore_errors=True)
    assert read_plan(directory).text == TEXT
