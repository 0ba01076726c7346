"""The costs of real trials are the provider's bill, to the cent and beyond."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from agent.loop.worker import LoopWorker
from agent.models.retries import RetryPolicy
from agent.trial.fresh import Fresh
from agent.trial.options import Options
from agent.trial.resolve import resolve
from agent.trial.run import run_new
from tests.wire.study.faults import Faults
from tests.wire.study.server import Settings, StudyServer
from trajectories.reading.reader import read_events
from trajectories.record.events import CallFailed, CallFinished

MODELS = ("openai/gpt-4.1", "openai/gpt-4.1-mini", "openai/gpt-4.1-nano", "openai/gpt-5-mini")


def run_trial(model: str, runs: Path) -> Path:
    order = resolve(Options(model=model, task="demo/cronwhen", env="local", runs=runs, evaluate=False))
    order = replace(order, retries=RetryPolicy(first_wait_s=0.01))
    outcome, _ = run_new(order, Fresh(), LoopWorker(order))
    return outcome.directory


def test_the_costs_of_trials_are_the_bill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(faults=Faults.parse("429@2,500@5,cut@7,hang_up@11", retry_after_s=0), steps=8)
    with StudyServer(settings=settings) as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        with ThreadPoolExecutor(4) as pool:
            trials = list(pool.map(lambda model: run_trial(model, tmp_path), MODELS * 2))
    events = [event for trial in trials for event in read_events(trial)]
    costs = [event.costs.computed for event in events if isinstance(event, CallFinished)]
    failures = [event for event in events if isinstance(event, CallFailed)]
    assert min(cost or 0 for cost in costs) > 0
    unpaid = [line for line in server.bill.lines if line.outcome in ("cut", "hang_up")]
    assert len(failures) == 4
    assert sum(failure.costs is not None for failure in failures) == 0
    assert abs(sum(cost or 0 for cost in costs) + sum(line.usd for line in unpaid) - server.bill.usd) < 1e-9
    assert server.bill.usd > 0.01
