"""A trial of a batch is continued with what its batch keeps, on a machine where the user's files are gone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.batches.grid.specs import frozen, grid_of
from tests.solve.command import agent, environment
from trajectories.batches.grid import read_grid
from trajectories.reading.reader import read_events
from trajectories.record.events import CallStarted, Exited, Resumed

pytestmark = pytest.mark.sandbox

SLOW = "- commands: ['echo one > one.txt']\n- {commands: ['echo two > two.txt'], reply_delay_s: 4}\n"
SUBMIT = "- commands: ['echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT']\n"
RUN_UNIT = """\
import sys
from pathlib import Path
from agent.batch.grid.orders import order_of
from agent.continuation.chain import run_chain
from agent.loop.worker import LoopWorker
from agent.trial.run import run_at
from contextlib import nullcontext
from trajectories.batches.grid import read_grid
from trajectories.record.layout import BatchFolder

batch = BatchFolder(Path(sys.argv[1]))
(configuration,) = read_grid(batch.path)
order, start = order_of(batch, configuration)
first = configuration.first_event(1)
directory = batch.path / first.trial
directory.mkdir()
if order.chain is None:
    run_at(directory, first, order, start, LoopWorker(order))
else:
    run_chain(order, lambda *_: nullcontext(), [], (directory, first))
"""


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    while not condition():
        assert process.poll() is None, "the trial ended by itself"
        time.sleep(0.05)


@pytest.mark.parametrize("arm", ["{}", "{self_correct: 2, feedback: scores, prompt: mine.yaml}"])
def test_a_killed_trial_goes_on_without_the_files_of_the_user(
    tmp_path: Path, arm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "model.yaml").write_text(SLOW + SUBMIT + SUBMIT)
    (files / "mine.yaml").write_text("extends: default\n")
    spec = f"tasks: [ledger]\nmodels: ['script:model.yaml']\narms: {{mine: {arm}}}\nprices: mine\nenv: sandbox\n"
    made = agent(files, "prices", "snapshot", "mine", "--set", "openai/gpt-5 input=1e-6 output=1e-6")
    assert made.status == 0, made.err
    monkeypatch.setenv("RETRACE_CONFIG_DIR", str(files / "config"))
    grid = grid_of(files, spec)
    frozen(grid)
    batch = tmp_path / "runs/study"
    batch.parent.mkdir()
    shutil.move(grid.folder.path, batch)
    shutil.rmtree(files)

    command = [sys.executable, "-c", RUN_UNIT, str(batch)]
    with subprocess.Popen(command, env=environment(tmp_path), cwd=tmp_path) as process:
        (configuration,) = read_grid(batch)
        trial = batch / configuration.trial(1)
        events = trial / "events.jsonl"
        wait_for(lambda: events.exists() and events.read_bytes().count(b'"type":"call_started"') == 2, process)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    resumed = agent(tmp_path, "resume", trial.name, "--json")
    assert resumed.status in (0, 1), resumed.err
    record = list(read_events(trial))
    assert any(isinstance(event, Resumed) for event in record)
    assert [event.exit.cause for event in record if isinstance(event, Exited)] == ["submitted"]
    assert sum(isinstance(event, CallStarted) for event in record) >= 3
    assert (trial.parent / f"{trial.name}.t2").is_dir() == (arm != "{}")
