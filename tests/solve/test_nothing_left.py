"""A trial that is ended by a signal, a closed terminal or `kill -9`, at any stage, leaves nothing on the machine."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pexpect
import pytest

from environments.leftovers.owner import Owner, this_process
from environments.leftovers.removal import remove_tree
from scripts.kill_test import RECORDING, kill_trial, leftovers_of
from tests.alone import alone
from trajectories.processes import start_time
from trajectories.reading.reader import read_events

from .command import AGENT, environment, script


@pytest.fixture
def _alone() -> Iterator[None]:
    with alone():
        yield


DOCKER = pytest.param("docker", marks=pytest.mark.docker)
SANDBOX = pytest.param("sandbox", marks=pytest.mark.sandbox)
ANYWHERE = pytest.mark.parametrize("env", ["local", SANDBOX, DOCKER])
LEAVE_S = 30.0


@pytest.fixture
def work() -> Iterator[Path]:
    """A directory that a sandbox started by root, which runs as another user, can reach; pytest's it cannot."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)
    yield folder
    remove_tree(folder)


@dataclass
class Trial:
    """A running `agent solve` on a terminal of its own."""

    folder: Path
    terminal: pexpect.spawn
    owner: Owner

    def wait_for(self, text: str, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for path in self.folder.glob("runs/*/*/events.jsonl"):
                if text in path.read_text():
                    return
            assert self.owner.alive, self.terminal.read()
            time.sleep(0.005)
        raise AssertionError(f"no record contains {text}")

    def end(self, ending: signal.Signals | None) -> None:
        """Send a signal, or close the terminal (None); wait until the trial has ended."""
        if ending is None:
            os.close(self.terminal.child_fd)
        else:
            os.kill(self.owner.pid, ending)
        until = time.monotonic() + LEAVE_S
        while self.owner.alive:
            assert time.monotonic() < until, "the trial does not end"
            time.sleep(0.02)

    def cause(self) -> str:
        """Return the cause of the exit that its record holds."""
        (trial,) = self.folder.glob("runs/*/*/events.jsonl")
        return next(event.exit.cause for event in read_events(trial.parent) if event.type == "exit")


@pytest.fixture
def begin(work: Path) -> Iterator[Callable[..., Trial]]:
    """A function that starts a trial; trials that still run at the end of the test are killed."""
    trials: list[Trial] = []

    def begin_trial(*argv: str) -> Trial:
        variables = environment(work, TMPDIR=str(work / "tmp"))
        terminal = pexpect.spawn(AGENT[0], [*AGENT[1:], "solve", *argv], cwd=work, env=variables, timeout=LEAVE_S)
        owner = replace(this_process(), pid=terminal.pid, start=start_time(terminal.pid) or 0)
        trials.append(Trial(work, terminal, owner))
        return trials[-1]

    yield begin_trial
    for trial in trials:
        if trial.owner.alive:
            os.kill(trial.owner.pid, signal.SIGKILL)


EVERY_ENDING = pytest.mark.parametrize(
    "ending", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, None], ids=["term", "hup", "int", "closed-terminal"]
)


@ANYWHERE
@EVERY_ENDING
def test_a_trial_ended_in_a_command_leaves_nothing(
    begin: Callable[..., Trial], work: Path, env: str, ending: signal.Signals | None
) -> None:
    turns = script(work, "setsid sleep 1000 & (trap '' TERM HUP INT; sleep 1000) & sleep 1000")
    trial = begin("--task", "demo/ledger", "--env", env, "--model", turns)
    trial.wait_for('"action_started"')
    trial.end(ending)
    assert leftovers_of(trial.owner, work / "tmp", 3) == ()
    assert trial.cause() == "interrupted"


@ANYWHERE
@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.3])
def test_a_trial_ended_at_its_start_leaves_nothing(
    begin: Callable[..., Trial], work: Path, env: str, after_s: float
) -> None:
    trial = begin("--task", "demo/ledger", "--env", env, "--model", script(work, "sleep 1000"))
    trial.wait_for('"trial_started"')
    time.sleep(after_s)
    trial.end(signal.SIGTERM)
    assert leftovers_of(trial.owner, work / "tmp", 3) == ()
    assert trial.cause() == "interrupted"


@ANYWHERE
@pytest.mark.parametrize(("ending", "after_s"), [(signal.SIGTERM, 0.2), (None, 0.6)], ids=["term", "closed-terminal"])
def test_a_trial_ended_in_the_evaluation_leaves_nothing(
    begin: Callable[..., Trial], work: Path, env: str, ending: signal.Signals | None, after_s: float
) -> None:
    trial = begin("--task", "demo/ledger", "--env", env, "--model", f"replay:{RECORDING}")
    trial.wait_for('"evaluation_started"')
    time.sleep(after_s)
    trial.end(ending)
    assert leftovers_of(trial.owner, work / "tmp", 3) == ()
    assert trial.cause() == "submitted"


@pytest.mark.usefixtures("_alone")
@pytest.mark.docker
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL, None], ids=["term", "kill", "closed-terminal"])
def test_a_trial_ended_in_the_build_of_an_image_leaves_nothing(
    begin: Callable[..., Trial], work: Path, ending: signal.Signals | None
) -> None:
    task = work / "slow"
    task.mkdir()
    marker = f"9{random.randrange(10**6):06}.5"
    (task / "Dockerfile").write_text(f"ARG BASE=debian:bookworm-slim\nFROM ${{BASE}}\nRUN sleep {marker}\n")
    (task / "task.yaml").write_text("title: Slow\nkind: repair\nenvironments: [docker]\nimage: {build: {}}\n")
    (task / "instruction.md").write_text("x\n")
    trial = begin("--task", "./slow", "--model", script(work, "true"))
    trial.wait_for('"trial_started"')
    until = time.monotonic() + 60
    while not _sleeps(marker):
        assert trial.owner.alive, trial.terminal.read()
        assert time.monotonic() < until
        time.sleep(0.05)
    trial.end(ending)
    if ending is signal.SIGKILL:
        variables = environment(work, TMPDIR=str(work / "tmp"))
        subprocess.run([*AGENT, "clean"], cwd=work, env=variables, check=True, capture_output=True)
    else:
        assert trial.cause() == "interrupted"
    assert leftovers_of(trial.owner, work / "tmp", 3) == ()
    until = time.monotonic() + 60
    while _sleeps(marker):
        assert time.monotonic() < until, "the build goes on"
        time.sleep(0.05)


def _sleeps(marker: str) -> bool:
    """Return True if some process runs `sleep` with this argument."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == f"sleep\0{marker}\0".encode():
                return True
        except OSError:
            pass
    return False


@pytest.mark.usefixtures("_alone")
@ANYWHERE
def test_trials_killed_at_random_moments_leave_nothing_after_a_cleanup(work: Path, env: str) -> None:
    seed = random.randrange(10**6)
    moments = random.Random(seed)
    rounds = [
        kill_trial(work / "rounds" / str(number), env, moments.uniform(0.2, until_s))
        for number, until_s in enumerate((0.8, 1.2, 1.2, 2.0, 3.0))
    ]
    assert [killed for killed in rounds if killed.left] == [], f"seed {seed}"


@pytest.mark.usefixtures("_alone")
def test_a_trial_killed_in_a_command_leaves_only_directories_which_a_cleanup_removes(
    begin: Callable[..., Trial], work: Path
) -> None:
    """The local supervisor ends the command when its harness dies; `agent clean` removes the directories."""
    trial = begin("--task", "demo/ledger", "--env", "local", "--model", script(work, "sleep 1000"))
    trial.wait_for('"action_started"')
    time.sleep(0.3)
    trial.end(signal.SIGKILL)
    left = [line for line in leftovers_of(trial.owner, work / "tmp", 0) if not line.startswith("process")]
    assert left
    variables = environment(work, TMPDIR=str(work / "tmp"))
    subprocess.run([*AGENT, "clean"], cwd=work, env=variables, check=True, capture_output=True)
    assert leftovers_of(trial.owner, work / "tmp", 3) == ()
