"""Measures of running batches: many trials at once with a slow provider, memory, processes, and a finished batch.

The provider is `tests.wire.study`, whose models do nothing but small commands. Ramp-up is left out: only the time in
which all trials run counts. BENCH_BATCH=TRIALSxSTEPSxSECONDS (200x20x20) makes it shorter, BENCH_BATCH_FINISHED=N
(10000) sets the number of finished trials.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from scripts.measures.figures import Figure, cpu_in_turn, median_gap
from scripts.measures.finished_batch import finished_batch
from scripts.measures.memory import pss_mb
from scripts.measures.trial import AGENT
from tests.wire.study.running import Running
from trajectories.reading.reader import read_events
from trajectories.record.events import CallFinished

TASK = "demo/ledger"
_SAMPLE_S = 5.0
"""Seconds between two looks at the memory."""


def figures() -> Iterator[Figure]:
    """Yield all figures."""
    trials, steps, seconds = os.environ.get("BENCH_BATCH", "200x20x20").split("x")
    yield from many_at_once(int(trials), int(steps), float(seconds))
    yield two_processes()
    yield resume_finished(int(os.environ.get("BENCH_BATCH_FINISHED", "10000")))


@dataclass(frozen=True)
class Ran:
    """A batch that ran."""

    ends: list[list[float]]
    """Times of the ends of all calls of each trial, in seconds since the epoch."""
    peak_mb: float

    @property
    def rate(self) -> float:
        """Steps a second while all trials ran: from the last trial's first reply to the first trial's last one."""
        begin, end = max(times[0] for times in self.ends), min(times[-1] for times in self.ends)
        count = sum(begin < at <= end for times in self.ends for at in times)
        return count / (end - begin) if end > begin else 0.0


def many_at_once(trials: int, steps: int, seconds: float) -> Iterator[Figure]:
    """Compare many trials at once with the ideal, and their memory with that of one trial."""
    bare_s = median_gap(run_batch(1, 30, 0.0).ends[0])
    one = run_batch(1, max(3, round(12 / max(seconds, 0.1))), seconds)
    many = run_batch(trials, steps, seconds)
    ideal = trials / (seconds + bare_s)
    detail = f"{trials} trials of {steps} steps in the sandbox, {seconds:g} s a call: {many.rate:.2f} steps a second, "
    detail += f"ideal {ideal:.2f} with a bare step of {1000 * bare_s:.0f} ms"
    yield Figure("share of the ideal, many trials at once", many.rate / ideal, "", 0.95, detail, at_least=True)
    each = (many.peak_mb - one.peak_mb) / (trials - 1)
    detail = f"PSS of the whole tree {many.peak_mb:.0f} MB, with one trial {one.peak_mb:.0f} MB"
    yield Figure("memory of each trial beyond the first", each, "MB", 15, detail)


def two_processes(trials: int = 16, steps: int = 40) -> Figure:
    """Compare two worker processes with one, for the same trials and a provider that answers at once."""
    one, two = [], []
    for _ in range(3):
        one.append(run_batch(trials, steps, 0.0, "--per-process", str(trials)).rate)
        two.append(run_batch(trials, steps, 0.0, "--per-process", str(trials // 2)).rate)
    single, double = statistics.median(one), statistics.median(two)
    detail = f"{double:.1f} against {single:.1f} steps a second, {trials} trials at once, medians of three runs in turn"
    return Figure("two worker processes over one", double / single, "", 1.6, detail, at_least=True)


def resume_finished(count: int) -> Figure:
    """Compare `agent batch` on a batch whose trials are all finished with a bare scan of its files, in processor time.

    The start of the command alone is that of a batch with one finished trial.
    """
    with tempfile.TemporaryDirectory() as temporary, Running("--busy", "2") as provider:
        folders = Path(temporary, "many"), Path(temporary, "one")
        for path in (Path(temporary), *folders):
            path.mkdir(exist_ok=True)
            path.chmod(0o755)
        specs = [
            finished_batch(folder, number, provider.environment(), _spec)
            for folder, number in zip(folders, (count, 1), strict=True)
        ]
        variables = [f"{name}={value}" for name, value in provider.environment().items()]
        resumes = [["env", *variables, *_batch(spec)] for spec in specs]
        scan = [sys.executable, "-c", _SCAN, str(folders[0] / "runs" / specs[0].stem)]
        ours, bare, start = cpu_in_turn(resumes[0], scan, resumes[1], runs=3)
    detail = f"{count} trials, processor time: {ours:.2f} s, of it {start:.2f} s as with one trial; scan {bare:.2f} s"
    return Figure(
        "resuming a finished batch, beyond its start, over a bare scan", (ours - start) / bare, "", 2.0, detail
    )


_SCAN = """
import json, os, sys
for entry in os.scandir(sys.argv[1]):
    if entry.is_dir() and entry.name[0] != ".":
        with open(os.path.join(entry.path, "trial.json"), "rb") as file:
            json.loads(file.read())
"""
"""A bare scan: list the folder, and read the file of each trial."""


def run_batch(trials: int, steps: int, seconds: float, *words: str) -> Ran:
    """Run a batch of so many trials at once; return what it did."""
    with (
        tempfile.TemporaryDirectory() as temporary,
        Running("--latency", str(seconds), "--busy", str(steps)) as provider,
    ):
        folder = Path(temporary)
        folder.chmod(0o755)
        spec = _spec(folder, trials, trials, steps + 5)
        command = [*_batch(spec), "--no-evaluate", *words]
        variables = {**os.environ, **provider.environment(), "TMPDIR": str(_temporary(folder))}
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        peak_mb = 0.0
        while process.poll() is None:
            peak_mb = max(peak_mb, pss_mb(process.pid))
            time.sleep(_SAMPLE_S if trials > 1 else 0.2)
        if process.returncode:
            raise RuntimeError(f"agent batch ended with {process.returncode}: {(folder / 'log').read_text()[-2000:]}")
        records = sorted((folder / "runs" / spec.stem).glob("*/events.jsonl"))
        assert len(records) == trials, f"{len(records)} records of {trials}"
        return Ran([_ends(path.parent) for path in records], peak_mb)


def _ends(trial: Path) -> list[float]:
    events = (event for event in read_events(trial) if isinstance(event, CallFinished))
    return [datetime.fromisoformat(event.t).timestamp() for event in events]


def _spec(folder: Path, attempts: int, workers: int, steps: int) -> Path:
    spec = folder / "load.yaml"
    spec.write_text(
        f"tasks: [{TASK}]\nmodels: [openai/gpt-4.1-mini]\nattempts: {attempts}\nenv: sandbox\n"
        f"limits: {{steps: {steps}, time: 6h}}\nworkers: {workers}\n"
    )
    return spec


def _temporary(folder: Path) -> Path:
    temporary = folder / "tmp"
    temporary.mkdir()
    temporary.chmod(0o1777)  # a sandbox that root starts runs as another user
    return temporary


def _batch(spec: Path) -> list[str]:
    return [*AGENT, "batch", str(spec), "--runs", str(spec.parent / "runs"), "--quiet"]
