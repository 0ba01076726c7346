"""The faults of `scripts/batch-test` that hit processes, containers, a disk and a daemon while batches run.

Each has a name, and `strike`, which returns a line about what was hit, or an empty one if there was nothing to hit.
The faults of the provider are its own (`tests.wire.study.faults`).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from scripts.measures.memory import descendants
from scripts.second_daemon import SecondDaemon

DOWN_S = 3.0
"""Seconds for which a stopped daemon stays down."""
FULL_S = 2.0
"""Seconds for which a full disk stays full."""
WORKER = "agent.batch.worker"
Coordinators = Callable[[], list[int]]
"""Returns the process ids of the batches that run."""


class Fault(Protocol):
    """One kind of fault."""

    name: str

    def strike(self, chance: random.Random) -> str:
        """Do harm, and return a line about it; an empty one if there was nothing to harm."""


class KilledWorker:
    """Kills a worker with `kill -9`, and all trials in it."""

    name = "worker"

    def __init__(self, coordinators: Coordinators) -> None:
        self._coordinators = coordinators

    def strike(self, chance: random.Random) -> str:
        """See `Fault`."""
        pids = [pid for pid in _below(self._coordinators()) if WORKER in _command(pid)]
        return _killed(chance.choice(pids), "worker") if pids else ""


class KilledCoordinator:
    """Kills a coordinator with `kill -9`."""

    name = "coordinator"

    def __init__(self, coordinators: Coordinators) -> None:
        self._coordinators = coordinators

    def strike(self, chance: random.Random) -> str:
        """See `Fault`."""
        pids = self._coordinators()
        return _killed(chance.choice(pids), "coordinator") if pids else ""


class DeadSandbox:
    """Kills the sandbox of a trial, or of an evaluation."""

    name = "sandbox"

    def __init__(self, coordinators: Coordinators) -> None:
        self._coordinators = coordinators

    def strike(self, chance: random.Random) -> str:
        """See `Fault`."""
        pids = [pid for pid in _below(self._coordinators()) if _command(pid).startswith("bwrap")]
        return _killed(chance.choice(pids), "sandbox") if pids else ""


class DeadContainer:
    """Removes a container of the second daemon."""

    name = "container"

    def __init__(self, daemon: SecondDaemon) -> None:
        self._daemon = daemon

    def strike(self, chance: random.Random) -> str:
        """See `Fault`."""
        containers = self._daemon.containers()
        if not containers:
            return ""
        container = chance.choice(containers)
        self._daemon.remove(container)
        return f"removed container {container}"


class StoppedDaemon:
    """Stops the second daemon with all its containers, and starts it again."""

    name = "daemon"

    def __init__(self, daemon: SecondDaemon) -> None:
        self._daemon = daemon

    def strike(self, chance: random.Random) -> str:
        """See `Fault`."""
        count = len(self._daemon.containers())
        self._daemon.stop()
        time.sleep(DOWN_S)
        self._daemon.start()
        return f"stopped the daemon with {count} containers for {DOWN_S:g} s"


class FullDisk:
    """Fills the disk of the records, and frees it again."""

    name = "disk"

    def __init__(self, disk: Path) -> None:
        self._disk = disk

    def strike(self, chance: random.Random) -> str:
        """See `Fault`."""
        ballast = self._disk / ".ballast"
        try:
            with suppress(OSError), ballast.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 20))
            end_s = time.monotonic() + FULL_S
            while time.monotonic() < end_s:  # whatever is freed meanwhile is taken as well
                with suppress(OSError), ballast.open("ab", buffering=0) as file:
                    file.write(bytes(4096))
        finally:
            ballast.unlink(missing_ok=True)
        return f"filled the disk for {FULL_S:g} s"


class Striker:
    """Strikes when the provider has had so many requests, one fault after the other, in a thread of its own."""

    def __init__(
        self,
        faults: list[Fault],
        total: int,
        requests: Callable[[], int],
        chance: random.Random,
        report: Callable[[str], None],
    ) -> None:
        self.struck: list[str] = []
        """Names of the faults that hit something."""
        self._faults, self._total, self._requests = faults, total, requests
        self._chance, self._report = chance, report
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Striker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        waiting = list(self._faults)
        self._chance.shuffle(waiting)
        at = sorted(self._chance.randint(5, max(6, self._total * 3 // 4)) for _ in waiting)
        while waiting and not self._ended.wait(0.05):
            if self._requests() < at[0]:
                continue
            fault = waiting[0]
            line = fault.strike(self._chance)
            if line:  # otherwise there is nothing to hit yet
                self.struck.append(fault.name)
                self._report(f"after {self._requests()} requests: {line}")
                del waiting[0], at[0]
            else:
                waiting.append(waiting.pop(0))
                self._ended.wait(0.5)


def mounted(folder: Path, megabytes: int) -> bool:
    """Mount a disk of its own on a folder; return False if that is not possible here."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(folder)]
    return not os.geteuid() and not subprocess.run(command, capture_output=True, check=False).returncode


def unmount(folder: Path) -> None:
    """Take the disk off the folder again."""
    subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)


def _below(pids: list[int]) -> list[int]:
    return [below for pid in pids for below in descendants(pid)[1:]]


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def _killed(pid: int, what: str) -> str:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return f"killed {what} {pid}"
    return ""
