"""Measures of a whole trial: a step, `--help`, a trial that submits at once, the prompt's cached prefix."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agent.loop.actions import SUBMIT
from scripts.measures.figures import Figure, command, cpu_in_turn, interleaved, median_gap, timed
from trajectories.reading.reader import read_events
from trajectories.record.events import CallFinished

AGENT = (sys.executable, "-m", "agent.cli.main")
TASK = "demo/ledger"


def measure() -> Iterator[Figure]:
    """Yield all figures, the quickest first."""
    yield help_time()
    yield from prefix_cache()
    yield step_time()
    yield whole_trial()


def help_time() -> Figure:
    """Compare `agent --help` with importing the libraries of its command line, in processor time."""
    agent = Path(sys.executable).with_name("agent")
    imports = (sys.executable, "-c", "import typer, rich")
    ours, bare = cpu_in_turn((str(agent), "--help"), imports, runs=25)
    detail = f"processor time: {ours * 1000:.0f} ms against {bare * 1000:.0f} ms"
    return Figure("agent --help, against `import typer, rich`", ours / bare, "", 1.3, detail)


def step_time(steps: int = 200) -> Figure:
    """Compare a step of `true` by script in Docker with a bare `docker exec`."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "true.json")
        script.write_text(json.dumps(["true"] * steps + [SUBMIT]))
        trial = solve(folder, f"script:{script}", "--no-evaluate")
        image = _image_of(trial)
        ends = [event.mono_s for event in read_events(trial) if isinstance(event, CallFinished)]
        ours = median_gap(ends)
        tenth = len(ends) // 10
        drift = median_gap(ends[-tenth:]) / median_gap(ends[:tenth])
    with _container(image) as name:
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
        image = _image_of(first)
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


def solve(folder: str, model: str, *options: str) -> Path:
    """Run a trial of the demo task in Docker, and return its directory."""
    solved = subprocess.run(
        [*AGENT, "solve", "--task", TASK, "--env", "docker", "--model", model, "--runs", folder, "--json", *options],
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(json.loads(solved.stdout)["trial"])


def _image_of(trial: Path) -> str:
    with (trial / "events.jsonl").open() as file:
        return str(next(event["image"] for event in map(json.loads, file) if event["type"] == "env_started"))


def _plain_trial(image: str) -> None:
    """Do the same with plain Docker calls: a container to work in, one to test in, and a copy of the workspace each."""
    for _ in range(2):
        with _container(image) as name:
            command("docker", "exec", name, "true")
            command("sh", "-c", f"docker cp {name}:/workspace - > /dev/null")


class _container:
    """A plain sleeping container."""

    def __init__(self, image: str) -> None:
        self._image = image

    def __enter__(self) -> str:
        argv = ["docker", "run", "-d", "--rm", "--network", "none", self._image, "sleep", "600"]
        self._id = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()
        return self._id

    def __exit__(self, *_: object) -> None:
        command("docker", "rm", "-f", self._id)
