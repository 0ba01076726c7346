"""The documented study with five arms: its provider, its runs, its table and its bill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.solve.command import AGENT, agent, environment
from trajectories.batches.events import Started
from trajectories.batches.journal import read_batch_events
from trajectories.batches.reader import read_batch
from trajectories.batches.results import UnitResult, results_of

STUDIES = Path(__file__).parents[3] / "docs" / "studies"
TABLE = {
    "base": (0.0, 0.942),
    "self-correction": (0.5, 0.992),
    "plan": (0.0, 0.958),
    "guidance": (0.0, 0.975),
    "all": (1.0, 1.0),
}
"""Pass rate and quality of each arm."""


class FiveArms:
    """The study in a folder of its own, with its provider, in a `with`."""

    def __init__(self, folder: Path, *, attempts: int, delay_s: float = 0.1) -> None:
        self.folder = folder
        self.directory = folder / "runs" / "five-arms"
        shutil.copytree(STUDIES / "five-arms", folder / "study")
        spec = folder / "study" / "study.yaml"
        spec.write_text(spec.read_text().replace("attempts: 2", f"attempts: {attempts}"))
        self._delay_s = delay_s

    def __enter__(self) -> FiveArms:
        command = [sys.executable, str(STUDIES / "table4" / "provider.py"), "--bill", str(self.folder / "bill.jsonl")]
        self._provider = subprocess.Popen(
            [*command, "--until-eof", "--delay", str(self._delay_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._provider.stdout is not None
        self.variables = {"OPENAI_API_BASE": self._provider.stdout.readline().strip(), "OPENAI_API_KEY": "none"}
        return self

    def __exit__(self, *_: object) -> None:
        self._provider.kill()
        self._provider.communicate()

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        """Start the batch, with its output in files."""
        return subprocess.Popen(
            [*AGENT, "batch", "study/study.yaml", *options],
            cwd=self.folder,
            env=environment(self.folder, **self.variables),
            stdin=subprocess.DEVNULL,
            stdout=(self.folder / "out").open("ab"),
            stderr=(self.folder / "err").open("ab"),
            start_new_session=True,
        )

    def finish(self, *options: str, timeout_s: float = 600) -> None:
        """Run the batch to its end."""
        process = self.start(*options)
        status = process.wait(timeout_s)
        assert status == 0, (self.folder / "err").read_text()

    @property
    def bill(self) -> list[dict[str, Any]]:
        """The lines of the provider's bill."""
        path = self.folder / "bill.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def wait_for_bill(self, calls: int, process: subprocess.Popen[bytes], timeout_s: float = 300) -> None:
        """Wait until so many calls are billed."""
        until_s = time.monotonic() + timeout_s
        while len(self.bill) < calls:
            assert process.poll() is None, (self.folder / "err").read_text()
            assert time.monotonic() < until_s
            time.sleep(0.02)

    def table(self) -> dict[str, tuple[float, float]]:
        """Return the pass rate and the quality of each arm, as `agent score` has them."""
        scored = agent(self.folder, "score", "runs/five-arms", "--cost", "billed", "--json")
        assert scored.status == 0, scored.err
        return {
            row["arm"]: (row["pass_rate"]["value"], round(row["quality"]["value"], 3)) for row in scored.json["arms"]
        }

    def workers(self) -> set[str]:
        """Return the names of the workers that were given units."""
        return {event.worker for event in read_batch_events(self.directory) if isinstance(event, Started)}

    def results(self) -> list[UnitResult]:
        """Return the results of all units."""
        return list(results_of(read_batch(self.directory).units))

    def check_bill(self) -> int:
        """Check that what the records know and what they list as unknown is the bill; return the number of unknown."""
        results = self.results()
        known_usd = sum(result.spending.usd for result in results)
        calls = sum(result.spending.calls for result in results)
        unknown = sum(len(result.open_calls) for result in results)
        billed_usd = sum(line["usd"] for line in self.bill)
        assert calls - unknown <= len(self.bill) <= calls
        if unknown:
            assert known_usd <= billed_usd + 1e-9
        else:
            assert abs(known_usd - billed_usd) < 1e-9
        return unknown

    def check_no_call_twice(self) -> None:
        """Check that a request which the records know as answered was billed once for each record that has it."""
        results = self.results()
        unknown = sum(len(result.open_calls) for result in results)
        finished = sum(result.spending.calls - len(result.open_calls) for result in results)
        assert len(self.bill) - finished <= unknown, "a request beyond those of the records was paid for"


def worker_of(coordinator: int) -> int:
    """Return the id of a worker process."""
    children = Path(f"/proc/{coordinator}/task/{coordinator}/children").read_text().split()
    return next(pid for pid in map(int, children) if b"agent.batch.worker" in Path(f"/proc/{pid}/cmdline").read_bytes())


def kill(pid: int) -> None:
    """Kill a process at once."""
    os.kill(pid, signal.SIGKILL)
