"""A coordinator in small for tests of the Ray engine: it gives units out, lets every call leave, and hands lost units
out again."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from agent.batch.engines.protocol import Joined, Lost, Told
from agent.batch.engines.ray.engine import RayEngine
from agent.batch.messages import Admitted, AskCall, UnitEnded, Work
from tests.batches.files.writing import configuration, write_batch
from trajectories.batches.configuration import Configuration
from trajectories.batches.inputs import BatchInputs
from trajectories.blobs.store import BlobStore
from trajectories.record.events import TextRef

WORKER = Path(__file__).with_name("ray_worker.py")
PATIENCE_S = 120.0


class Run:
    """A batch of `count` units with `calls` calls each, run by stand-in workers on a cluster."""

    def __init__(
        self,
        folder: Path,
        address: str | None,
        *,
        count: int = 4,
        calls: int = 3,
        seconds: float = 0.05,
        slots: int = 4,
    ) -> None:
        made = configuration()
        self.batch = folder / "runs" / "study"
        write_batch(self.batch)
        sha256 = BatchInputs(self.batch).put(b"a prompt", "prompt")
        self.configuration: Configuration = made.model_copy(update={"inputs": (TextRef(name="p", sha256=sha256),)})
        self.bill = folder / "bill"
        self.bill.touch()
        self.calls = calls
        self.units = {made.unit(number): number for number in range(1, count + 1)}
        self.left = dict(self.units)
        self.running: dict[str, str] = {}
        self.free: dict[str, int] = {}
        self.machines: dict[str, int] = {}
        self.lost: list[Lost] = []
        self.at_loss: dict[str, int] = {}
        """Lines in the batch folder of units whose worker was lost, when that was reported."""
        self.slots = slots
        self.most = calls
        """Number of calls of each unit that may leave for now."""
        self.held: list[tuple[str, AskCall]] = []
        command = [sys.executable, str(WORKER), "{batch}", str(self.bill), str(calls), str(seconds)]
        self.engine = RayEngine(address, command=command)

    def start(self, per_process: int | None = 4) -> None:
        self.engine.start(self.batch, self.slots, per_process)

    def until(self, condition: Callable[[], bool]) -> None:
        """Take news until something is true."""
        until_s = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < until_s, (self.left, self.running, self.lost)
            for news in self.engine.news(0.1):
                self._take(news)
            self._hand_out()
            self._let_leave()

    def until_each_has(self, lines: int) -> None:
        """Let each unit make so many calls, and no more."""
        self.most = lines
        self.until(lambda: all(len(self.lines(number)) >= lines for number in self.units.values()))

    def to_the_end(self) -> None:
        self.most = self.calls
        self.until(lambda: not self.left)

    def lines(self, number: int) -> list[str]:
        path = self.batch / self.configuration.trial(number) / "events.jsonl"
        return path.read_text().splitlines() if path.exists() else []

    def paid(self) -> Counter[str]:
        return Counter(self.bill.read_text().splitlines())

    def check_records(self) -> None:
        """Check that each trial is there once, whole, and with every content that it refers to."""
        names = {path.name for path in self.batch.iterdir() if path.is_dir() and not path.name.startswith(".")}
        names.discard("workers")
        assert names == {self.configuration.trial(number) for number in self.units.values()}
        for number in self.units.values():
            trial = self.batch / self.configuration.trial(number)
            lines = self.lines(number)
            assert len(lines) == self.calls
            for position, line in enumerate(lines):
                content = f"{trial.name} {position}".encode()
                digest = line.split('"blob": "')[1][:64]
                assert BlobStore(trial / "blobs").get(digest) == content
                assert BlobStore(self.batch / ".pool").get(digest) == content
            assert (trial / "evaluation" / "log.txt").read_text() == "ok\n"
            assert (trial / "trial.json").exists()
            assert not list(trial.glob(".new-*"))

    def _take(self, news: Joined | Told | Lost) -> None:
        match news:
            case Joined():
                self.free[news.worker] = news.slots
                self.machines[news.worker] = news.slots
            case Lost():
                self.lost.append(news)
                self.free.pop(news.worker, None)
                self.machines.pop(news.worker, None)
                self.held = [(worker, message) for worker, message in self.held if worker != news.worker]
                for unit, worker in list(self.running.items()):
                    if worker == news.worker:
                        del self.running[unit]
                        self.at_loss[unit] = len(self.lines(self.units[unit]))
            case Told(message=AskCall() as message):
                assert self.running[message.unit] == news.worker
                self.held.append((news.worker, message))
            case Told(message=UnitEnded() as message):
                assert self.running.pop(message.unit) == news.worker
                self.free[news.worker] += 1
                if len(self.lines(self.units[message.unit])) == self.calls:
                    del self.left[message.unit]

    def _let_leave(self) -> None:
        for worker, message in list(self.held):
            if message.call % 1000 < self.most:
                self.held.remove((worker, message))
                self.engine.send(worker, Admitted(call=message.call))

    def _hand_out(self) -> None:
        for unit, number in self.left.items():
            worker = next((name for name, free in self.free.items() if free > 0), None)
            if worker is None:
                return
            if unit in self.running:
                continue
            self.running[unit] = worker
            self.free[worker] -= 1
            how = "resume" if self.lines(number) else "fresh"
            trial = self.configuration.trial(number)
            work = Work(unit=unit, configuration=self.configuration, attempt=number, trial=trial, how=how)
            self.engine.send(worker, work)
