"""From a record to its row: only the events count; `trial.json` merely saves reading them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from scoring.errors import ScoringError
from scoring.rows import read_rows, repriced, row_of, rows_of, with_cost
from tests.record.test_recorder import started
from trajectories.reading.runs import listed
from trajectories.record.events import (
    CallFailed,
    CallFinished,
    CallStarted,
    Evaluated,
    Exited,
    Imported,
    Message,
    ModelRef,
    Plan,
    Reply,
    TaskRef,
    TextRef,
    TrialStarted,
)
from trajectories.record.exits import Cause, Exit
from trajectories.record.identity import configuration_hash
from trajectories.record.usage import Costs, Usage
from trajectories.record.verdict import Case, Evaluator, Verdict
from trajectories.writing.derived import write_conveniences
from trajectories.writing.recorder import Recorder

EVALUATOR = Evaluator(name="suite", version="1")
SCORED = Verdict(
    status="scored",
    passed=False,
    quality=0.5,
    cases=(Case(id="x", group="F2P", status="passed"), Case(id="y", group="F2P", status="failed")),
    metrics={"f2p_step": 0.5},
    evaluator=EVALUATOR,
    isolation="container",
)
FAILED = Verdict(status="error", error="no image", evaluator=EVALUATOR, isolation="none")


def record(
    directory: Path, *verdicts: Verdict | None, cause: Cause | None = "submitted", **fields: object
) -> TrialStarted:
    """Write a record with a call, a hint, an exit and verdicts."""
    start = started().model_copy(update={"trial": directory.name, **fields})
    directory.mkdir(parents=True)
    recorder = Recorder(directory)
    recorder.append(start)
    recorder.append(Message(id="h", role="user", content="do it", why="hint"))
    recorder.append(CallStarted(step=1, message_ids=("h",), messages=1, messages_sha256="x"))
    recorder.append(
        CallFinished(
            step=1,
            id="r",
            reply=Reply(text="x"),
            model_requested="m",
            latency_s=0.1,
            usage=Usage(input=90, cache_read=5, output=5),
            costs=Costs(billed=0.3, computed=0.2, list=0.4),
        )
    )
    if cause is not None:
        recorder.append(Exited(exit=Exit.of(cause), steps=1))
    for verdict in verdicts:
        recorder.append(Evaluated(verdict=verdict, why_none="" if verdict else "--no-evaluate"))
    recorder.close()
    return start


def test_a_row_has_the_facts_of_the_record(tmp_path: Path) -> None:
    directory = tmp_path / "runs" / "night" / "x.m.1"
    start = record(
        directory,
        SCORED,
        attempt=3,
        identity="abc",
        model=ModelRef(asked="m", name="p/m", settings={"effort": "high"}),
        variant="no-docs",
        turn=2,
        tier="hard",
        plan=Plan(name="plan.md", sha256="1"),
    )
    row = row_of(directory)
    assert (row.trial, row.directory, row.batch) == ("x.m.1", str(directory), "night")
    assert (row.benchmark, row.task, row.model_asked, row.model, row.harness) == (
        "demo",
        "demo/x",
        "m",
        "p/m",
        "retrace",
    )
    assert (row.attempt, row.identity, row.variant, row.turn, row.tier, row.plan) == (
        3,
        "abc",
        "no-docs",
        2,
        "hard",
        True,
    )
    assert row.label == "m effort=high +no-docs +plan"
    assert row.configuration == configuration_hash(start)
    assert (row.exit_reason, row.exit_cause, row.completed, row.infrastructure) == ("agent", "submitted", True, False)
    assert (row.steps, row.commands, row.hints, row.tokens) == (1, 0, 1, 100)
    assert (row.billed_usd, row.computed_usd, row.list_usd, row.cost_usd) == (0.3, 0.2, 0.4, 0.2)
    assert (row.verdict, row.passed, row.quality, dict(row.metrics)) == ("scored", False, 0.5, {"f2p_step": 0.5})
    assert (row.groups["F2P"].passed, row.groups["F2P"].total) == (1, 2)
    assert row.finished >= row.started > "2026"
    assert with_cost(row, "billed").cost_usd == row_of(directory, cost="billed").cost_usd == 0.3
    assert with_cost(row, "agentmeter").cost_usd is None


@pytest.mark.parametrize(
    ("cause", "verdict", "completed", "infrastructure"),
    [
        ("submitted", SCORED, True, False),
        ("time", None, True, False),
        ("model_unavailable", SCORED, False, True),
        ("submitted", FAILED, False, True),
        ("interrupted", SCORED, False, False),
        (None, None, False, False),
    ],
)
def test_completed_and_infrastructure_follow_from_exit_and_verdict(
    tmp_path: Path, cause: Cause | None, verdict: Verdict | None, completed: bool, infrastructure: bool
) -> None:
    record(tmp_path / "b" / "t", verdict, cause=cause)
    row = row_of(tmp_path / "b" / "t")
    assert (row.completed, row.infrastructure) == (completed, infrastructure)


def test_the_last_verdict_counts(tmp_path: Path) -> None:
    record(tmp_path / "b" / "t", FAILED, SCORED)
    assert row_of(tmp_path / "b" / "t").quality == 0.5


def test_trial_json_gives_the_same_row_and_an_older_one_is_ignored(tmp_path: Path) -> None:
    directory = tmp_path / "b" / "t"
    record(directory, SCORED)
    from_events = row_of(directory)
    write_conveniences(directory)
    assert row_of(directory) == from_events
    convenience = directory / "trial.json"
    content = json.loads(convenience.read_text())
    content["verdict"]["quality"] = 1.0
    convenience.write_text(json.dumps(content))
    os.utime(convenience, (1, 1))
    assert row_of(directory) == from_events
    del content["entry"]  # as a version before this one wrote it
    convenience.write_text(json.dumps(content))
    assert row_of(directory) == from_events


def test_a_trial_json_of_a_shorter_record_is_ignored(tmp_path: Path) -> None:
    """After a crash of a resumed trial `trial.json` is out of date, and a copy or a checkout may make it the newer
    file."""
    directory = tmp_path / "b" / "t"
    record(directory, FAILED)
    write_conveniences(directory)
    assert row_of(directory).quality is None
    later = tmp_path / "b" / "later"
    record(later, FAILED, SCORED)
    os.replace(later / "events.jsonl", directory / "events.jsonl")
    os.utime(directory / "events.jsonl", (1, 1))
    assert row_of(directory).quality == 0.5


def test_tasks_and_limits_change_the_configuration_but_not_the_setup(tmp_path: Path) -> None:
    first = record(tmp_path / "b" / "one", SCORED)
    record(tmp_path / "b" / "other", SCORED, task=TaskRef(id="demo/y", benchmark="demo", digest="1"))
    record(tmp_path / "b" / "third", SCORED, limits=first.limits.model_copy(update={"steps": 5}))
    record(tmp_path / "b" / "fourth", SCORED, variant="no-docs")
    rows = [row_of(tmp_path / "b" / name) for name in ("one", "other", "third", "fourth")]
    assert rows[0].setup == rows[1].setup == rows[2].setup != rows[3].setup
    assert len({row.configuration for row in rows}) == 4


def test_an_imported_trial_has_its_own_harness(tmp_path: Path) -> None:
    imported = Imported(format="mini-swe-agent", layout="chat", file="x.json", sha256="0", bytes=1, billed_usd=2.5)
    record(tmp_path / "b" / "ours", SCORED)
    record(tmp_path / "b" / "theirs", SCORED, imported=imported, prompt=TextRef(name="theirs", sha256="9"))
    ours, theirs = (row_of(tmp_path / "b" / name) for name in ("ours", "theirs"))
    assert (theirs.harness, theirs.label) == ("mini-swe-agent", "m (mini-swe-agent)")
    assert ours.setup != theirs.setup


def test_an_exit_without_a_time_has_the_last_recorded_time(tmp_path: Path) -> None:
    directory = tmp_path / "b" / "t"
    record(directory, SCORED)
    events = directory / "events.jsonl"
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    for line in lines:
        line["t"] = "2026-01-02T03:04:05Z" if line["type"] == "call_finished" else ""
    events.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert row_of(directory).finished == "2026-01-02T03:04:05Z"


def test_tokens_are_unknown_if_a_call_reports_no_usage(tmp_path: Path) -> None:
    directory = tmp_path / "b" / "t"
    record(directory, cause=None)
    with (directory / "events.jsonl").open("a") as file:
        lost = CallFailed(seq=4, t="", mono_s=1, step=2, error="timeout", detail="", retry=False, latency_s=1)
        file.write(lost.model_dump_json(by_alias=True) + "\n")
    row = row_of(directory)
    assert (row.tokens, row.cost_usd) == (None, None), "the provider may have billed the call"


def test_a_row_that_is_priced_again_keeps_its_billed_cost(tmp_path: Path) -> None:
    record(tmp_path / "b" / "t", SCORED)
    row = repriced(row_of(tmp_path / "b" / "t"), Costs(computed=7.0), 8.0, prices="2026-06", cost="agentmeter")
    assert (row.billed_usd, row.computed_usd, row.list_usd, row.agentmeter_usd) == (0.3, 7.0, None, 8.0)
    assert (row.cost_usd, row.prices) == (8.0, "2026-06")


def test_unreadable_directories_are_named(tmp_path: Path) -> None:
    record(tmp_path / "b" / "good", SCORED)
    bad = tmp_path / "b" / "bad"
    bad.mkdir()
    (bad / "events.jsonl").write_text("{}\n")
    rows, unreadable = rows_of(map(listed, [tmp_path / "b" / "good", bad]))
    assert [row.trial for row in rows] == ["good"]
    assert [trial.directory for trial in unreadable] == [bad]
    with pytest.raises(ScoringError, match=r"bad: .*unreadable='exclude' reads the others"):
        read_rows([tmp_path / "b"])
    assert read_rows([str(tmp_path / "b"), tmp_path / "b" / "good"], unreadable="exclude") == rows
    with pytest.raises(ScoringError, match="neither a trial nor a folder of trials"):
        read_rows([tmp_path / "b", tmp_path / "none"])
    with pytest.raises(ScoringError, match="bad"):
        row_of(bad)
