"""A start may hand over an environment that already runs; its owner keeps it after the trial."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from agent.loop.worker import LoopWorker
from agent.trial.fresh import Fresh
from agent.trial.options import Options
from agent.trial.order import Order
from agent.trial.resolve import resolve
from agent.trial.run import run_new
from agent.trial.workplace import Lease
from environments.protocol import Environment, Started
from environments.reporting import Reporter
from tests.solve.command import script
from trajectories.checks.check import check
from trajectories.reading.reader import read_events
from trajectories.record.events import ActionFinished, EnvStarted


@dataclass(frozen=True)
class InLiveEnvironment(Fresh):
    """A fresh trial in an environment that already runs."""

    live: tuple[Environment, Started] | None = None

    def environment(self, order: Order, trial: str, reporter: Reporter | None) -> Lease:
        assert self.live is not None
        environment, started = self.live
        return Lease(environment, started, released_by_session=False)


@pytest.fixture
def order(tmp_path: Path) -> Order:
    (tmp_path / "start").mkdir()
    model = script(tmp_path, "echo $(cat seen 2>/dev/null) again >seen; cat seen", SUBMIT)
    options = Options(
        model=model, instruction="Look around.", workspace=tmp_path / "start", env="local", runs=tmp_path / "runs"
    )
    return resolve(options)


def test_two_trials_run_in_the_environment_of_their_owner_which_survives_them(order: Order) -> None:
    environment = order.make_environment("kept")
    started = environment.start()
    start = InLiveEnvironment(live=(environment, started))
    try:
        outputs = []
        for _ in range(2):
            order = resolve(order.options)
            outcome, _ = run_new(order, start, LoopWorker(order))
            events = list(read_events(outcome.directory))
            assert str(outcome.exit) == "agent: submitted"
            assert not any(isinstance(event, EnvStarted) for event in events), "its owner started it"
            outputs += [event.output.text for event in events if isinstance(event, ActionFinished)]
        assert [text.split() for text in outputs] == [["again"], ["again", "again"]]
        assert environment.execute("true", deadline_s=60).exit_code == 0
    finally:
        environment.stop()


def test_a_new_environment_is_released_by_the_session(order: Order) -> None:
    outcome, summary = run_new(order, Fresh(), LoopWorker(order))
    assert check(outcome.directory).first is None
    assert summary.steps == 2
