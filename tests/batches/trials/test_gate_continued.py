"""Trials that died or ended at the gate, and go on later."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent.continuation.resume import resuming
from agent.loop.actions import SUBMIT
from agent.models.call_bounds import output_limit
from agent.trial.gate import Refused
from tests.batches.trials.gates import NotingGate
from tests.batches.trials.side_by_side import Running, order_for
from tests.solve.command import script
from tests.wire.replies import Turn
from tests.wire.server import WireServer
from trajectories.checks.check import check
from trajectories.reading.reader import read_events
from trajectories.record.events import CallFinished, CallStarted, Exited, Paused

MODEL = "anthropic/claude-opus-4-7"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-wire-key")


def begin(folder: Path, gate: NotingGate, server: WireServer) -> Running:
    (folder / "start").mkdir()
    place = {"task": None, "workspace": folder / "start", "instruction": "Work.", "env": "local"}
    return Running(replace(order_for(folder, MODEL, api_base=server.root, **place), gate=gate)).start()


def go_on(trial: Path, server: WireServer, gate: NotingGate) -> None:
    with resuming(trial, api_base=server.root, gate=gate) as resumption:
        outcome = resumption.run()
    assert outcome is not None
    assert outcome.exit.cause == "submitted"
    assert check(trial).first is None


def test_a_trial_that_dies_while_its_call_waits_makes_that_call_when_it_is_resumed(tmp_path: Path) -> None:
    gate = NotingGate(decide=lambda _: None)
    with WireServer([Turn(commands=("echo one",)), Turn(commands=(SUBMIT,))] * 2) as server:
        trial = begin(tmp_path, gate, server)
        directory = trial.end().directory
        paused = [event.seq for event in trial.record if isinstance(event, Paused)]
        record = directory / "events.jsonl"
        record.write_text("".join(record.read_text().splitlines(keepends=True)[: paused[1] + 1]))
        server.requests.clear()
        server._script = [Turn(commands=(SUBMIT,))]
        go_on(directory, server, NotingGate())
        assert len(server.requests) == 1
    assert sum(isinstance(event, CallStarted) for event in read_events(directory)) == 2


def test_a_resumed_trial_bounds_its_call_by_the_usage_in_its_record(tmp_path: Path) -> None:
    """Otherwise every token of a long conversation would count as one byte, and a budget might never hold its call."""

    def decide(call: int) -> None:
        if call == 2:
            raise Refused("budget", "nothing is left")

    with WireServer([Turn(commands=("seq 2000",)), Turn(commands=(SUBMIT,))]) as server:
        trial = begin(tmp_path, NotingGate(decide=decide), server)
        directory = trial.end().directory
        (finished,) = [event for event in trial.record if isinstance(event, CallFinished)]
        later = NotingGate()
        go_on(directory, server, later)
    assert finished.usage is not None
    limit, bound = output_limit(trial.order.model.info), later.admitted[0][1]
    assert limit is not None
    assert bound.tokens is not None
    after = [event for event in read_events(directory) if event.type == "message" and event.seq > finished.seq]
    told_since = sum(len(json.dumps(event.content)) for event in after)
    assert told_since > 8000
    assert bound.tokens - limit < finished.usage.prompt + told_since + 1000


def test_a_trial_that_is_stopped_before_it_begins_has_a_closed_record(tmp_path: Path) -> None:
    trial = Running(order_for(tmp_path, script(tmp_path, SUBMIT)))
    trial.stop.set()
    outcome = trial.start().end()
    assert outcome.interrupted
    assert [event.exit.cause for event in trial.record if isinstance(event, Exited)] == ["interrupted"]
    assert check(outcome.directory).first is None
