"""`agent batch status`: the state of a batch from its folder alone, while it runs, after it, and after a death."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.batch.state.status import state_of_folder
from tests.batches.files.writing import asked, call, configuration, exited, judged, opened, write_batch, write_trial
from tests.solve.command import AGENT, agent, environment, script
from trajectories.batches.configuration import Configuration
from trajectories.batches.events import BatchClosed, Ended, Started, Status
from trajectories.batches.journal import BatchWriter
from trajectories.batches.lock import BatchLock

TASKS = ("a", "b", "c", "d", "e", "f")


def began(unit: Configuration, **fields: Any) -> Started:
    return Started(unit=unit.unit(1), trial=unit.trial(1), how="fresh", worker="w1", **fields)


def over(unit: Configuration, status: Status, cause: str) -> Ended:
    return Ended(unit=unit.unit(1), trial=unit.trial(1), status=status, cause=cause)


@pytest.fixture
def batch(tmp_path: Path) -> tuple[Path, list[Configuration]]:
    """Return a batch in which a unit passed, one is not evaluated, one failed, two wait and one is at work."""
    units = [configuration(task) for task in TASKS]
    folder = write_batch(tmp_path / "runs" / "study", *units)
    write_trial(folder, units[0], [*call(1, 0.5), exited(), *judged(1.0)])
    write_trial(folder, units[1], [*call(1, 0.25), exited()])
    write_trial(folder, units[2], [*call(1, 1.0), exited("environment_lost")])
    write_trial(folder, units[2], [*call(1, 1.0), exited("environment_lost")], rerun=1)
    write_trial(folder, units[4], [*call(1, 2.0), exited("budget")])
    write_trial(folder, units[5], [*call(1, 4.0), asked(2)])
    with BatchWriter(folder) as writer:
        writer.append(opened(budget_usd=50.0, workers=3))
        for unit in (*units[:3], *units[4:]):
            writer.append(began(unit))
        writer.append(over(units[0], "finished", "submitted"))
        writer.append(over(units[1], "finished", "submitted"))
        writer.append(began(units[2], counted=True))
        writer.append(over(units[2], "failed", "environment_lost"))
        writer.append(over(units[4], "waiting", "budget"))
    return folder, units


def test_every_unit_is_counted_once_and_every_record_costs(batch: tuple[Path, Any]) -> None:
    folder, units = batch
    with BatchLock(folder):
        state = state_of_folder(folder)
    assert state.units == state.done + len(state.running) + state.waiting + state.failures == len(units)
    assert (state.done, state.waiting, state.held, state.failed) == (2, 2, {"budget": 1}, {"environment_lost": 1})
    assert [unit.trial for unit in state.running] == [units[5].trial(1)]
    assert (state.passed, state.judged, state.unevaluated, state.reruns) == (1, 1, 1, 1)
    assert state.spent_usd == 0.5 + 0.25 + 2 * 1.0 + 2.0 + 4.0
    assert state.budget_usd == 50.0
    assert state.calls == 7
    assert state.unpriced_calls == 1  # the second call of the unit at work, whose worker does not hold its record
    assert (state.phase, state.coordinator.pid) == ("running", os.getpid())
    assert state.calls_per_minute == pytest.approx(6 / 2)  # six replies within the window of two minutes


def test_without_its_coordinator_a_batch_is_lost_and_its_units_wait(batch: tuple[Path, Any], tmp_path: Path) -> None:
    folder, units = batch
    state = state_of_folder(folder)
    assert (state.phase, list(state.running), state.waiting) == ("lost", [], 3)
    result = agent(tmp_path, "batch", "status", "study")
    assert result.status == 0, result.err
    assert "2 of 6 units done" in result.out
    assert "owned by nobody: process 7 on node died" in result.out
    with BatchWriter(folder) as writer:
        writer.append(BatchClosed(why="interrupted"))
    assert state_of_folder(folder).phase == "interrupted"
    assert units


def test_the_json_has_every_fact_and_the_interval(batch: tuple[Path, Any], tmp_path: Path) -> None:
    content = agent(tmp_path, "batch", "status", "runs/study", "--json").json
    assert (content["name"], content["done"], content["failed"]) == ("study", 2, {"environment_lost": 1})
    assert content["pass_rate"] == 1
    assert 0.2 < content["pass_rate_low"] < 0.21
    assert content["coordinator"] == {"host": "node", "pid": 7}


def test_nothing_is_written(batch: tuple[Path, Any], tmp_path: Path) -> None:
    def files() -> dict[Path, tuple[int, int]]:
        every = list((tmp_path / "runs").rglob("*"))
        return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in every}

    before = files()
    assert agent(tmp_path, "batch", "status", "study").status == 0
    assert files() == before


def test_a_failure_that_nobody_has_decided_on_waits(tmp_path: Path) -> None:
    unit = configuration("a")
    folder = write_batch(tmp_path / "study", unit)
    write_trial(folder, unit, [*call(1), exited("environment_lost")])
    with BatchWriter(folder) as writer:
        writer.append(began(unit))
    state = state_of_folder(folder)
    assert (state.waiting, state.failed) == (1, {})


def test_a_record_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    unit = configuration("a")
    folder = write_batch(tmp_path / "study", unit)
    trial = write_trial(folder, unit, [*call(1), exited(), *judged(1.0)], derived=False)
    lines = (trial / "events.jsonl").read_text().splitlines(keepends=True)
    (trial / "events.jsonl").write_text("".join([lines[0], "garbage\n", *lines[2:]]))
    state = state_of_folder(folder)
    assert (state.waiting, state.failed) == (0, {"record_unreadable": 1})


def test_a_record_wins_over_the_journal(tmp_path: Path) -> None:
    unit = configuration("a")
    folder = write_batch(tmp_path / "study", unit)
    write_trial(folder, unit, [*call(1), exited(), *judged(0.5)])
    with BatchWriter(folder) as writer:
        writer.append(began(unit))
        writer.append(over(unit, "interrupted", "worker_lost"))
    state = state_of_folder(folder)
    assert (state.done, state.judged, state.passed) == (1, 1, 0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "no batch 'nothing'"),
        ("", "no batch ''"),
        ("runs/study/{trial}", "is a trial, not a batch"),
        ("runs", "is not a batch of agent batch"),
        ("single", "is not a batch of agent batch"),
    ],
)
def test_what_is_not_a_batch_is_refused(batch: tuple[Path, Any], tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "runs" / "single").mkdir()
    result = agent(tmp_path, "batch", "status", name.format(trial=batch[1][0].trial(1)))
    assert result.status == 2
    assert len(result.err.splitlines()) == 1
    assert message in result.err


def test_a_batch_that_runs_is_seen_from_another_terminal_and_its_death_as_well(tmp_path: Path) -> None:
    model = script(tmp_path, "echo one", "sleep 60", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
    spec = tmp_path / "study.yaml"
    spec.write_text(f"tasks: [demo/ledger]\nmodels: ['{model}']\nattempts: 2\nenv: local\nworkers: 1\n")
    with subprocess.Popen(
        [*AGENT, "batch", "study.yaml"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        stderr=sys.stderr,
    ) as process:
        try:
            folder = tmp_path / "runs" / "study"
            wait_until(lambda: (folder / "batch.jsonl").is_file() and bool(state_of_folder(folder).running))
            wait_until(lambda: state_of_folder(folder).running[0].steps == 2)
            state = state_of_folder(folder)
            assert (state.phase, state.coordinator.pid, state.waiting) == ("running", process.pid, 1)
            assert state.running[0].seconds > 0
            result = agent(tmp_path, "batch", "status", "study")
            assert f"owned by process {process.pid} on" in result.out
            assert "1 running" in result.out
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
    wait_until(lambda: not state_of_folder(folder).running)  # its worker ends once it has lost its coordinator
    assert state_of_folder(folder).phase == "lost"


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_planned_units_alone_all_wait(tmp_path: Path) -> None:
    units = [configuration(task) for task in TASKS]
    folder = write_batch(tmp_path / "study", *units)
    state = state_of_folder(folder)
    assert (state.units, state.waiting, state.left_s, state.calls) == (6, 6, None, 0)
