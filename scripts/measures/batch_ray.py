"""A trial on a Ray cluster, against an empty Ray task and the same trial on this machine.

All three are whole commands, from their start to their exit. The cluster is a node on this machine, started before.
"""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from scripts.measures.figures import Figure
from scripts.measures.trial import AGENT
from tests.batches.ray.ray_nodes import ray_nodes

RUNS = 5
_SPEC = "tasks: [ledger]\nmodels: [nop]\nenv: sandbox\n"
_EMPTY = """
import ray, sys
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
ray.get(ray.remote(max_retries=0)(lambda: None).remote())
"""


def figures() -> Iterator[Figure]:
    """Yield all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        with ray_nodes(environment, head='{"trial": 4}') as nodes:
            number = itertools.count()
            on_ray, here, empty = [], [], []
            for _ in range(RUNS + 1):
                ray = ("--engine", "ray", "--address", nodes.address)
                on_ray.append(_seconds([*AGENT, "batch", _spec(folder, next(number)), "--workers", "1", *ray], folder))
                here.append(_seconds([*AGENT, "batch", _spec(folder, next(number)), "--workers", "1"], folder))
                empty.append(_seconds([sys.executable, "-c", _EMPTY, nodes.address], folder))
        ray_s, here_s, empty_s = (statistics.median(times[1:]) for times in (on_ray, here, empty))
        detail = f"{ray_s:.2f} s; an empty task {empty_s:.2f} s, the same trial on this machine {here_s:.2f} s"
        yield Figure(
            "a trial on Ray, against an empty Ray task plus our start", ray_s / (empty_s + here_s), "", 1.2, detail
        )


def _spec(folder: Path, number: int) -> str:
    """Write a spec with a name of its own, so that nothing of it has run."""
    path = folder / f"study{number}.yaml"
    path.write_text(_SPEC)
    return str(path)


def _seconds(command: list[str], folder: Path) -> float:
    began = time.perf_counter()
    ended = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command)}: {ended.stderr[-2000:]}")
    return time.perf_counter() - began
