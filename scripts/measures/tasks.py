"""Measures of task directories of other benchmarks: judging one, and listing a thousand, against the plain work."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from benchmarks.judging.system.exposure import changed_system
from benchmarks.task.submission import Live
from scripts.measures.figures import Figure, command, cpu_in_turn, interleaved

_BUILT = "retrace-bench:built"
_COMMITTED = "retrace-bench:committed"
_LISTED = 1000
"""Number of tasks in the dataset that is listed."""


def measure() -> Iterator[Figure]:
    """Yield all figures."""
    yield harbor_trial()
    yield terminal_bench_evaluation()
    from tests.families.terminalbench_samples import TASKS, TERMINAL_BENCH

    yield listing("harbor", TASKS / "harbor/greeting")
    yield listing("terminal-bench", TERMINAL_BENCH / "count-lines")
    yield listing("retrace", TASKS.parents[1] / "making/tasks/visits")


def harbor_trial() -> Figure:
    """Compare a trial of a Harbor task, solved by its own solution, with the same work in plain Docker calls.

    The container is held while its workspace is copied and it is committed, and only then do the tests come. What a
    trial adds, so that the agent cannot forge its result, is a comparison with the image and a second container.
    """
    from tests.demo_images import demo_image
    from tests.families.harbor_samples import BASE, HARBOR

    agent = str(Path(sys.executable).with_name("agent"))
    directory = HARBOR / "greeting"
    image = str(demo_image("ledger"))
    trial = ("--task", str(directory), "--model", "oracle", "--base-image", f"{BASE}={image}")
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RETRACE_CONFIG_DIR", f"{folder}/config")
        patch.setenv("RETRACE_CACHE_DIR", f"{folder}/cache")
        numbers = itertools.count()
        context = Path(folder, "context")
        context.mkdir()
        (context / "Dockerfile").write_text((directory / "environment/Dockerfile").read_text().replace(BASE, image))
        command("docker", "build", "-q", "-t", _BUILT, str(context))

        def ours() -> None:
            command(agent, "solve", *trial, "--runs", f"{folder}/runs")

        def plain(*, guarded: bool) -> None:
            name = f"retrace-bench-{os.getpid()}-{next(numbers)}"
            limits = ("--cpus", "1", "--memory", "512m", "--network", "none")
            command("docker", "run", "-d", "--init", "--name", name, *limits, _BUILT, "sleep", "infinity")
            beside = ("--rm", "--pid", f"container:{name}", "--network", "none", "--cap-add", "SYS_ADMIN")
            try:
                command("docker", "exec", name, "mkdir", "-p", "/logs/agent", "/logs/verifier", "/logs/artifacts")
                command("docker", "cp", f"{directory}/solution", f"{name}:/solution")
                command("docker", "exec", name, "sh", "-c", "bash /solution/solve.sh || true")
                command("docker", "pause", name)
                command("docker", "cp", f"{name}:/app", f"{folder}/workspace-{name}")
                command("docker", "commit", name, _COMMITTED)
                command("docker", "unpause", name)
                if guarded:
                    command("docker", "diff", name)
                    command("docker", "run", *beside, image, "true")
                command("docker", "exec", name, "sh", "-c", "rm -rf /tests /logs/verifier; mkdir /logs/verifier")
                command("docker", "cp", f"{directory}/tests", f"{name}:/tests")
                command("docker", "exec", name, "bash", "/tests/test.sh")
                command("docker", "cp", f"{name}:/logs/verifier/reward.txt", f"{folder}/reward.txt")
            finally:
                command("docker", "rm", "-f", name)

        try:
            seconds, same, bare = interleaved(ours, partial(plain, guarded=True), partial(plain, guarded=False), runs=5)
        finally:
            command("docker", "rmi", "-f", _BUILT, _COMMITTED)
    detail = f"{seconds * 1000:.0f} ms against {same * 1000:.0f} ms, commit and workspace included; "
    detail += f"against {bare * 1000:.0f} ms without what guards the result: {seconds / bare:.2f}"
    return Figure(
        "trial of a Harbor task with its oracle, against the same Docker calls", seconds / same, "", 1.5, detail
    )


def terminal_bench_evaluation() -> Figure:
    """Compare judging a terminal-bench task in its container with copying the tests there and running them."""
    from tests.families.terminalbench_samples import TERMINAL_BENCH, loaded, verdict_on, worked

    directory = TERMINAL_BENCH / "count-lines"
    task = loaded(directory)
    with tempfile.TemporaryDirectory() as folder, worked(task, "true") as (environment, started):
        container = started.container or ""
        changed = changed_system(started)  # a trial does this while it commits the container

        def judge() -> None:
            live = Live(environment, started, "not committed", changed)
            assert verdict_on(task, live, Path(folder)).status == "scored"

        def plain() -> None:
            command("docker", "exec", container, "rm", "-rf", "/tests")
            command("docker", "exec", container, "mkdir", "/tests")
            command("docker", "cp", f"{directory}/tests/.", f"{container}:/tests")
            command("docker", "cp", f"{directory}/run-tests.sh", f"{container}:/tests")
            command("docker", "exec", container, "sh", "-c", "TEST_DIR=/tests bash /tests/run-tests.sh || true")

        ours, bare = interleaved(judge, plain, runs=9)
    detail = f"{ours * 1000:.0f} ms against {bare * 1000:.0f} ms"
    return Figure("evaluation of a terminal-bench task, against plain Docker calls", ours / bare, "", 1.5, detail)


_PARSE = """
import pathlib, sys, tomllib, yaml
for path in sorted(pathlib.Path(sys.argv[1]).glob("*/task.*")):
    text = path.read_text()
    yaml.safe_load(text) if path.suffix == ".yaml" else tomllib.loads(text)
"""
"""Program that parses the task files of a folder and does nothing else."""


def listing(task_format: str, sample: Path) -> Figure:
    """Compare listing a dataset, beyond what `agent --version` takes, with parsing its task files; processor time."""
    agent = str(Path(sys.executable).with_name("agent"))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RETRACE_CONFIG_DIR", f"{folder}/config")
        patch.setenv("RETRACE_CACHE_DIR", f"{folder}/cache")
        for number in range(_LISTED):
            shutil.copytree(sample, Path(folder, f"tasks/task-{number:04}"))
        command(agent, "tasks", "add", f"{folder}/tasks", "--name", "many")
        version, listed, started, parsed = cpu_in_turn(
            (agent, "--version"),
            (agent, "tasks", "list", "--benchmark", "many"),
            (sys.executable, "-c", "import tomllib, yaml"),
            (sys.executable, "-c", _PARSE, f"{folder}/tasks"),
            runs=5,
        )
    detail = f"{(listed - version) * 1000:.0f} ms against {(parsed - started) * 1000:.0f} ms; rows from the cache; "
    detail += "processor time"
    name = f"listing {_LISTED} tasks of the format {task_format}, against parsing"
    return Figure(name, (listed - version) / (parsed - started), "", 1.5, detail)
