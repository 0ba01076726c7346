"""Measures of task directories of other benchmarks: judging one, against the plain Docker calls for the same."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.task.submission import Live
from scripts.measures.figures import Figure, command, interleaved


def measure() -> Iterator[Figure]:
    """Yield all figures."""
    yield terminal_bench_evaluation()


def terminal_bench_evaluation() -> Figure:
    """Compare judging a terminal-bench task in its container with copying the tests there and running them."""
    from tests.families.terminalbench_samples import TERMINAL_BENCH, loaded, verdict_on, worked

    directory = TERMINAL_BENCH / "count-lines"
    task = loaded(directory)
    with tempfile.TemporaryDirectory() as folder, worked(task, "true") as (environment, started):
        container = started.container or ""
        live = Live(environment, started, "not committed")

        def judge() -> None:
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
