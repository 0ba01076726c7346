"""A batch that runs as its user runs it: the real command, real workers, and the provider of a study."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.solve.command import AGENT, environment
from tests.wire.study.running import Running
from trajectories.batches.reader import Batch, read_batch
from trajectories.batches.results import UnitResult, results_of

WAIT_S = 120.0
BUSY = """
name: study
tasks: [ledger]
models: [openai/gpt-4.1-mini]
env: sandbox
"""


class Study:
    """A spec in a folder of its own, and its provider."""

    def __init__(self, folder: Path, provider: Running, spec: str) -> None:
        self.folder, self.provider = folder, provider
        self.directory = folder / "runs" / "study"
        (folder / "study.yaml").write_text(spec)

    def start(self, *options: str, **variables: str) -> subprocess.Popen[str]:
        """Start `agent batch study.yaml` and return its process."""
        return subprocess.Popen(
            [*AGENT, "batch", "study.yaml", "--json", *options],
            cwd=self.folder,
            env=environment(self.folder, **{**self.provider.environment(), **variables}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *options: str, **variables: str) -> tuple[int, dict[str, Any], str]:
        """Run the batch to its end; return the exit status, the JSON and what was printed beside it."""
        process = self.start(*options, **variables)
        out, err = process.communicate(timeout=WAIT_S)
        return process.returncode, json.loads(out) if out else {}, err

    def wait_for(self, condition: Any, process: subprocess.Popen[str]) -> None:
        """Wait until a condition is met while the process runs."""
        until_s = time.monotonic() + WAIT_S
        while not condition():
            if process.poll() is not None:
                raise AssertionError(f"the batch ended early: {process.communicate()}")
            assert time.monotonic() < until_s, "nothing came"
            time.sleep(0.05)

    def wait_for_requests(self, count: int, process: subprocess.Popen[str]) -> None:
        """Wait until the provider has got so many requests in all."""
        self.wait_for(lambda: self.provider.state()["requests"] >= count, process)

    def batch(self) -> Batch:
        """Return the batch as its files tell it."""
        return read_batch(self.directory)

    def results(self) -> list[UnitResult]:
        """Return the results of all units."""
        return list(results_of(self.batch().units))

    def workers(self, coordinator: int) -> list[int]:
        """Return the ids of the worker processes of a coordinator."""
        children = Path(f"/proc/{coordinator}/task/{coordinator}/children").read_text().split()
        return [pid for pid in map(int, children) if b"agent.batch.worker" in _command(pid)]

    def check_bill(self) -> None:
        """Check that the costs of all records, and the bill of the calls whose cost they do not know, are the bill."""
        results = self.results()
        known_usd = sum(result.spending.usd for result in results)
        unknown = sum(len(result.open_calls) for result in results)
        state = self.provider.state()
        calls = sum(result.spending.calls for result in results)
        refused = sum(not line.billed for line in self.provider.bill())
        assert calls - unknown <= state["requests"] <= calls, "each request is a call of a record"
        if not unknown:
            assert abs(known_usd - state["usd"]) < 1e-9
        else:
            kept_usd = sum(result.kept_usd for result in results)
            assert known_usd - 1e-9 <= state["usd"] <= known_usd + kept_usd + 1e-9
        assert refused <= calls


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def alive(pid: int) -> bool:
    """Report if a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def interrupt(process: subprocess.Popen[str]) -> None:
    """Send what Ctrl-C sends."""
    process.send_signal(signal.SIGINT)
