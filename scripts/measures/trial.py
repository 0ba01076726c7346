"""Measures of a whole trial: a step, `--help`, a trial that submits at once, the live view, the prompt's prefix."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path

from agent.cli.progress.live import EVERY_S, LiveView
from agent.cli.progress.state import ProgressState
from agent.loop.actions import SUBMIT
from scripts.measures.figures import Figure, command, cpu_in_turn, interleaved, median_gap, timed
from trajectories.reading.reader import read_events
from trajectories.record.events import ActionStarted, CallFinished, Limits
from trajectories.writing.recorder import Recorder

AGENT = (sys.executable, "-m", "agent.cli.main")
TASK = "demo/ledger"


def measure() -> Iterator[Figure]:
    """Yield all figures, the quickest first."""
    yield help_time()
    yield completion_time()
    yield from prefix_cache()
    yield from live_view()
    yield step_time()
    yield whole_trial()


def help_time() -> Figure:
    """Compare `agent --help` with importing the libraries of its command line, in processor time."""
    agent = Path(sys.executable).with_name("agent")
    imports = (sys.executable, "-c", "import typer, rich")
    ours, bare = cpu_in_turn((str(agent), "--help"), imports, runs=25)
    detail = f"processor time: {ours * 1000:.0f} ms against {bare * 1000:.0f} ms"
    return Figure("agent --help, against `import typer, rich`", ours / bare, "", 1.3, detail)


def completion_time() -> Figure:
    """Compare the completion of a task's name with importing the libraries of the command line, in processor time."""
    agent = str(Path(sys.executable).with_name("agent"))
    words = ("_AGENT_COMPLETE=complete_bash", "COMP_WORDS=agent\nsolve\n--task\ndemo/", "COMP_CWORD=3")
    ours, bare = cpu_in_turn(("env", *words, agent), (sys.executable, "-c", "import typer, rich"), runs=25)
    detail = f"processor time: {ours * 1000:.0f} ms against {bare * 1000:.0f} ms"
    return Figure("completion of a task, against `import typer, rich`", ours / bare, "", 6, detail)


def step_time(steps: int = 200) -> Figure:
    """Compare a step of `true` by script in Docker with a bare `docker exec`."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "true.json")
        script.write_text(json.dumps(["true"] * steps + [SUBMIT]))
        trial = solve(folder, f"script:{script}", "--no-evaluate")
        image = image_of(trial)
        ends = [event.mono_s for event in read_events(trial) if isinstance(event, CallFinished)]
        ours = median_gap(ends)
        tenth = len(ends) // 10
        drift = median_gap(ends[-tenth:]) / median_gap(ends[:tenth])
    with Sleeping(image) as name:
        bare = timed(lambda: command("docker", "exec", name, "true"), 30)
    return Figure(
        "step of `true`, Docker, against `docker exec`",
        ours / bare,
        "",
        0.3,
        f"{ours * 1000:.1f} ms against {bare * 1000:.1f} ms; last tenth over first {drift:.2f}",
    )


def whole_trial() -> Figure:
    """Compare an evaluated trial that submits at once with the plain Docker calls for two containers."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "submit.json")
        script.write_text(json.dumps([SUBMIT]))
        first = solve(folder, f"script:{script}")
        assert json.loads((first / "trial.json").read_text())["exit"]["cause"] == "submitted"
        image = image_of(first)
        ours, plain = interleaved(lambda: solve(folder, f"script:{script}"), lambda: _plain_trial(image), runs=5)
    return Figure(
        "a whole trial that submits at once, over plain Docker calls",
        ours - plain,
        "s",
        1.5,
        f"{ours:.2f} s against {plain:.2f} s",
    )


def prefix_cache() -> Iterator[Figure]:
    """Measure the share of each prompt that the next call reads from the cache, for three wire protocols."""
    from tests.wire.talk import PROTOCOLS, talking
    from tests.wire.test_cache import STEPS, busy, hit_rates

    for protocol in PROTOCOLS:
        with talking(protocol, [busy(number) for number in range(STEPS)]) as talk:
            for _ in range(STEPS):
                talk.ask()
            shares = hit_rates(talk)
        yield Figure(
            f"previous prompt read from the cache, {protocol}",
            min(shares),
            "",
            0.99,
            f"smallest of {len(shares)} calls",
            at_least=True,
        )


def live_view(times: int = 2000) -> Iterator[Figure]:
    """Compare queueing an event for the live view with writing it, and measure the drawing on a large terminal."""
    master, slave = os.openpty()
    termios.tcsetwinsize(slave, (60, 200))
    with tempfile.TemporaryDirectory() as folder, os.fdopen(slave, "w") as stream:
        view = LiveView(ProgressState("demo/ledger by opus in docker", Limits()), stream)
        recorder = Recorder(Path(folder))
        starts = [ActionStarted(action=f"{step}.1", step=step, script="x " * 500, deadline_s=9) for step in range(8)]
        written = timed(lambda: recorder.append(starts[0]), times)
        queued = timed(lambda: view.feed(starts[0]), times)
        for start in starts:
            view.feed(start)
        drawn = timed(lambda: view.frame(ended=False), times // 10)
        recorder.close()
    os.close(master)
    yield Figure(
        "an event for the live view, against writing it",
        queued / written,
        "",
        0.1,
        f"{queued * 1e6:.1f} us against {written * 1e6:.1f} us",
    )
    yield Figure(
        "share of a core that draws the live view on 200x60",
        drawn / EVERY_S,
        "",
        0.02,
        f"{drawn * 1000:.2f} ms every {EVERY_S:g} s",
    )


def solve(folder: str, model: str, *options: str) -> Path:
    """Run a trial of the demo task in Docker, and return its directory."""
    solved = subprocess.run(
        [*AGENT, "solve", "--task", TASK, "--env", "docker", "--model", model, "--runs", folder, "--json", *options],
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(json.loads(solved.stdout)["trial"])


def image_of(trial: Path) -> str:
    with (trial / "events.jsonl").open() as file:
        return str(next(event["image"] for event in map(json.loads, file) if event["type"] == "env_started"))


def _plain_trial(image: str) -> None:
    """Do the same with plain Docker calls: a container to work in, one to test in, and a copy of the workspace each."""
    for _ in range(2):
        with Sleeping(image) as name:
            command("docker", "exec", name, "true")
            command("sh", "-c", f"docker cp {name}:/workspace - > /dev/null")


class Sleeping:
    """A plain sleeping container."""

    def __init__(self, image: str) -> None:
        self._image = image

    def __enter__(self) -> str:
        argv = ["docker", "run", "-d", "--rm", "--network", "none", self._image, "sleep", "600"]
        self._id = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()
        return self._id

    def __exit__(self, *_: object) -> None:
        command("docker", "rm", "-f", self._id)
