"""Workers as processes of this machine, with a pipe each way.

A worker runs in a session of its own, so Ctrl-C reaches only the coordinator. A worker that is lost is replaced. What
it prints goes into a file of the batch.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agent.batch.channel import BadMessage, LineReceiver, LineSender
from agent.batch.code import mismatch
from agent.batch.engines.protocol import Joined, Lost, News, Told
from agent.batch.messages import FROM_WORKER, FromWorker, Hello, Quit, ToWorker
from agent.errors import MachineError
from environments.leftovers.cleaning import clean_trials
from trajectories.interrupts import interruptible
from trajectories.record.layout import BatchFolder

MOST_PER_PROCESS = 100
"""Largest number of trials in one process without `--per-process`."""
_TRIES = 3
"""Number of workers in a row that may end before they say hello."""
_LOG_CHARACTERS = 300
_DRAIN_S = 0.5


def sizes(workers: int, per_process: int | None, cores: int) -> list[int]:
    """Return the number of trials of each process: one process for each core, and more only if they are crowded."""
    most = per_process or min(MOST_PER_PROCESS, -(-workers // min(workers, cores)))
    count = -(-workers // most)
    return [workers // count + (number < workers % count) for number in range(count)]


@dataclass
class _Worker:
    name: str
    slots: int
    process: subprocess.Popen[bytes]
    sender: LineSender
    receiver: LineReceiver[FromWorker]
    log: Path
    has_joined: bool = False


class LocalEngine:
    """Implements `Engine` with processes of this machine."""

    name = "local"

    def __init__(self) -> None:
        self._batch = Path()
        self._workers: dict[str, _Worker] = {}
        self._started = 0
        self._failures = 0
        self._is_closing = False

    def recover(self, batch: Path) -> None:
        """See `Engine`: nothing is on another machine."""

    def start(self, batch: Path, workers: int, per_process: int | None) -> None:
        """See `Engine`."""
        self._batch = batch
        for slots in sizes(workers, per_process, os.cpu_count() or 1):
            self._spawn(slots)

    def news(self, timeout_s: float) -> list[News]:
        """See `Engine`."""
        poll = _poll(self._workers.values())
        by_fd = {worker.receiver.fd: worker for worker in self._workers.values()}
        news: list[News] = []
        with interruptible():
            ready = poll.poll(max(0.0, timeout_s) * 1000)
        for fd, _ in ready:
            news += self._read(by_fd[fd])
        return news

    def send(self, worker: str, message: ToWorker) -> None:
        """See `Engine`."""
        if (known := self._workers.get(worker)) is not None:
            known.sender.send(message)

    def kill(self, worker: str) -> None:
        """See `Engine`."""
        if (known := self._workers.get(worker)) is not None:
            known.process.kill()

    def close(self, grace_s: float) -> None:
        """See `Engine`."""
        self._is_closing = True
        for worker in self._workers.values():
            worker.sender.send(Quit())
            os.close(worker.sender.fd)
        until_s = time.monotonic() + grace_s
        while self._workers and time.monotonic() < until_s:
            self._drain()
        for worker in self._workers.values():
            worker.process.kill()
            self._bury(worker)
        self._workers.clear()
        if self._started:
            clean_trials(_trials(self._batch))

    def _drain(self) -> None:
        """Read and drop what workers still say, so that none waits for a full pipe, until they end."""
        for fd, _ in _poll(self._workers.values()).poll(_DRAIN_S * 1000):
            if not os.read(fd, 1 << 16):
                worker = next(worker for worker in self._workers.values() if worker.receiver.fd == fd)
                del self._workers[worker.name]
                self._bury(worker)

    def _bury(self, worker: _Worker) -> None:
        """Wait for the end of a worker that has closed its pipe or was killed."""
        worker.process.wait()
        os.close(worker.receiver.fd)
        _remove_empty(worker.log)

    def _spawn(self, slots: int) -> None:
        self._started += 1
        name = f"{os.getpid()}.{self._started}"
        log = BatchFolder(self._batch).worker_log(name)
        try:
            log.parent.mkdir(exist_ok=True)
            with log.open("ab") as errors:
                process = subprocess.Popen(
                    [sys.executable, "-m", "agent.batch.worker", "--batch", str(self._batch)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,
                )
        except OSError as error:
            raise MachineError(f"no worker can be started: {error.strerror} ({error.filename})") from None
        assert process.stdin is not None
        assert process.stdout is not None
        incoming = LineReceiver[FromWorker](os.dup(process.stdout.fileno()), FROM_WORKER)
        outgoing = LineSender(os.dup(process.stdin.fileno()))
        process.stdin.close()
        process.stdout.close()
        self._workers[name] = _Worker(name, slots, process, outgoing, incoming, log)

    def _read(self, worker: _Worker) -> list[News]:
        try:
            messages = worker.receiver.receive()
        except BadMessage as error:
            worker.process.kill()
            return self._lose(worker, str(error))
        news: list[News] = []
        for message in messages:
            if isinstance(message, Hello):
                if reason := mismatch(message):
                    worker.process.kill()
                    return [*news, *self._lose(worker, reason)]
                worker.has_joined = True
                self._failures = 0
                news.append(Joined(worker.name, worker.slots, message.host))
            else:
                news.append(Told(worker.name, message))
        return [*news, *self._lose(worker, "")] if worker.receiver.is_closed else news

    def _lose(self, worker: _Worker, reason: str) -> list[News]:
        """Drop a worker, and start another one in its place.

        Raises: MachineError if several in a row have not come to their first message.
        """
        del self._workers[worker.name]
        os.close(worker.sender.fd)
        os.close(worker.receiver.fd)
        status = worker.process.wait()
        reason = reason or _ended(status)
        said = _last_line(worker.log)
        _remove_empty(worker.log)
        if not worker.has_joined:
            self._failures += 1
            if self._failures >= _TRIES:
                raise MachineError(f"workers end before they can be given work: {reason}{said and f': {said}'}")
        if not self._is_closing:
            self._spawn(worker.slots)
        return [Lost(worker.name, f"{reason}{said and f': {said}'}")]


def _poll(workers: Iterable[_Worker]) -> select.poll:
    """Return a poll for messages of these workers."""
    poll = select.poll()
    for worker in workers:
        poll.register(worker.receiver.fd, select.POLLIN)
    return poll


def _ended(status: int) -> str:
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1][:_LOG_CHARACTERS] if lines else ""


def _remove_empty(log: Path) -> None:
    """Remove the file of a worker that printed nothing, and its folder with the last one."""
    try:
        if not log.stat().st_size:
            log.unlink()
            log.parent.rmdir()
    except OSError:
        pass


def _trials(batch: Path) -> list[str]:
    """Return the names of the folders of a batch."""
    try:
        return [entry.name for entry in os.scandir(batch) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
