"""A defect of our own ends a trial with a recorded exit, and a view that fails ends nothing."""

from __future__ import annotations

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
from environments.reporting import Reporter
from tests.solve.command import script
from trajectories.reading.reader import read_events
from trajectories.record.events import BaseEvent, Exited


class Defect(Exception):
    """An error that nobody expects."""


class WithoutLease(Fresh):
    def environment(self, order: Order, trial: str, reporter: Reporter | None) -> Lease:
        raise Defect


class WithoutWarmUp(LoopWorker):
    def warm_up(self) -> None:
        raise Defect


class Notes(Fresh):
    """Reports a pull before it makes the environment."""

    def environment(self, order: Order, trial: str, reporter: Reporter | None) -> Lease:
        assert reporter is not None
        reporter.note("pulling")
        reporter.note("pulled")
        return super().environment(order, trial, reporter)


class Closed:
    """The view of a terminal that is gone."""

    def feed(self, event: BaseEvent) -> None:
        pass

    def note(self, line: str) -> None:
        raise OSError("the terminal is gone")


def order(work: Path) -> Order:
    (work / "start").mkdir()
    model = script(work, SUBMIT)
    return resolve(
        Options.of({}, instruction="x", workspace=work / "start", env="local", model=model, runs=work / "runs")
    )


@pytest.mark.parametrize(("start", "worker"), [(WithoutLease, LoopWorker), (Fresh, WithoutWarmUp)])
def test_a_defect_before_the_environment_exists_is_recorded(
    tmp_path: Path, start: type[Fresh], worker: type[LoopWorker]
) -> None:
    asked = order(tmp_path)
    with pytest.raises(Defect):
        run_new(asked, start(), worker(asked))
    (events,) = tmp_path.glob("runs/*/*/events.jsonl")
    *_, last = read_events(events.parent)
    assert isinstance(last, Exited)
    assert last.exit.cause == "harness_defect"


def test_a_view_that_fails_during_a_pull_does_not_end_the_start(tmp_path: Path) -> None:
    asked = order(tmp_path)
    outcome, _ = run_new(asked, Notes(), LoopWorker(asked), Closed())
    assert outcome.exit.cause == "submitted"
