"""Run batches while calls, sandboxes, containers, workers, a disk and a Docker daemon fail, and reckon afterwards.

scripts/batch-test [--trials 300] [--docker 40] [--without disk,daemon] [--seed N] [--keep DIR]

The trials are units of two batches over demo tasks, one in the sandbox and one in Docker on a daemon of their own. The
same command is given again until both batches have nothing left to do. Then every unit must be accounted for, attempts
at one configuration must agree, nothing may be left running, and the known costs of all records, with the provider's
figures for exactly the calls that are listed as in flight or cut, must be the provider's bill. The exit status is 1 if
anything is wrong.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from scripts.batch_bill import reckon
from scripts.batch_faults import (
    DeadContainer,
    DeadSandbox,
    Fault,
    FullDisk,
    KilledCoordinator,
    KilledWorker,
    StoppedDaemon,
    Striker,
    mounted,
    unmount,
)
from scripts.batch_spec import write_spec
from scripts.second_daemon import DaemonUnusable, SecondDaemon
from tests.wire.study.faults import REFUSED
from tests.wire.study.running import Running
from tests.wire.study.script import TOTAL
from trajectories.batches.reader import read_batch
from trajectories.batches.results import result_of
from trajectories.checks.check import check

ROOT = Path(__file__).parent.parent
RUN_S = 5400.0
"""Longest time of one run of a batch."""
MOST_RUNS = 12
"""Number of times that a batch is run before it must have nothing left to do."""
MOST_IDLE = 3
"""Number of runs in a row that may end without a request: for a full disk, or a daemon that is down."""
DISK_MB = 1500
KINDS = ("429", "500", "cut", "hang_up", "sandbox", "container", "worker", "coordinator", "disk", "daemon")
"""Kinds of faults. The first four are the provider's."""
_PROVIDER = KINDS[:4]
_WORKBENCH = "retrace-workbench"
_STEPS_A_TRIAL = 5
"""Number of calls of a trial, about."""


@dataclass
class Part:
    """One batch of the test, with the environment that its trials run in."""

    env: str
    trials: int
    spec: Path
    variables: dict[str, str]
    runs: Path
    log: Path
    requests: Callable[[], int]
    """Number of requests that the provider had so far."""
    process: subprocess.Popen[bytes] | None = None
    statuses: list[int] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """Folder of the batch."""
        return self.runs / self.spec.stem

    def run(self) -> None:
        """Run the batch until it has nothing left to do."""
        command = [sys.executable, "-m", "agent.cli.main", "batch", str(self.spec), "--runs", str(self.runs)]
        idle = 0
        while len(self.statuses) < MOST_RUNS and idle < MOST_IDLE:
            before = self.requests()
            with self.log.open("ab") as log:
                self.process = subprocess.Popen(
                    command, cwd=ROOT, env=self.variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
            try:
                self.statuses.append(self.process.wait(RUN_S))
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.statuses.append(self.process.wait())
            if self.statuses[-1] == 0:
                return
            idle = idle + 1 if self.requests() == before else 0
            time.sleep(1.0)  # a full disk or a stopped daemon comes back

    def last_output(self) -> str:
        """Return the end of what the batch printed."""
        return self.log.read_text(errors="replace")[-1500:].strip()


@dataclass
class Outcome:
    """Result of a test."""

    struck: Counter[str] = field(default_factory=Counter)
    """Faults that hit something, by kind."""
    states: Counter[str] = field(default_factory=Counter)
    """Units by state."""
    reckoning: str = ""
    runs: list[int] = field(default_factory=list)
    """Exit statuses of all runs."""
    troubles: list[str] = field(default_factory=list)


class BatchTest:
    """One test in a folder of its own."""

    def __init__(
        self,
        folder: Path,
        trials: int,
        docker: int,
        seed: int,
        kinds: Sequence[str] = KINDS,
        report: Callable[[str], None] = print,
    ) -> None:
        self.folder, self.seed, self.report = folder, seed, report
        self.trials, self.docker = trials, docker
        self.kinds = kinds
        self.runs = folder / "runs"
        self.temporary = folder / "tmp"
        for path in (self.runs, self.temporary):
            path.mkdir(parents=True)
        for path in (folder, folder.parent):
            path.chmod(0o755)
        self.temporary.chmod(0o1777)  # a sandbox that root starts runs as another user
        self.outcome = Outcome()

    def run(self) -> Outcome:
        """Run the batches among faults, and look at what is left."""
        total = self.trials * _STEPS_A_TRIAL
        chance = random.Random(self.seed)
        with ExitStack() as ending:
            provider = ending.enter_context(self._provider(total, chance))
            daemon = ending.enter_context(SecondDaemon(self.folder / "docker")) if self.docker else None
            disk = "disk" in self.kinds and mounted(self.runs, DISK_MB)
            if disk:
                ending.callback(unmount, self.runs)
            parts = self._parts(provider, daemon)
            faults = self._faults(parts, daemon, disk=disk)
            with Striker(faults, total, lambda: int(provider.state()["requests"]), chance, self.report) as striker:
                threads = [threading.Thread(target=part.run, daemon=True) for part in parts]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            self.outcome.struck.update(striker.struck)
            self.outcome.struck.update(line.outcome for line in provider.bill() if line.outcome != "answered")
            self._examine(parts, provider, daemon)
        return self.outcome

    @contextmanager
    def _provider(self, total: int, chance: random.Random) -> Iterator[Running]:
        each = max(1, self.trials // 60)
        kinds = [kind for kind in _PROVIDER if kind in self.kinds for _ in range(each)]
        numbers = chance.sample(range(2, total * 3 // 4), len(kinds))
        faults = ",".join(f"{kind}@{number}" for kind, number in zip(kinds, numbers, strict=True))
        words = ["--bill", str(self.folder / "bill.jsonl"), "--latency", "0.1", "--faults", faults]
        with Running(*words) as provider:
            yield provider

    def _parts(self, provider: Running, daemon: SecondDaemon | None) -> list[Part]:
        variables = {**os.environ, **provider.environment(), "TMPDIR": str(self.temporary), "PYTHONPATH": str(ROOT)}
        numbers = {"sandbox": self.trials - self.docker, "docker": self.docker}
        parts = []
        for env, trials in numbers.items():
            if trials:
                spec, units = write_spec(self.folder, env, trials)
                log, requests = self.folder / f"{env}.log", lambda: int(provider.state()["requests"])
                parts.append(Part(env, units, spec, dict(variables), self.runs, log, requests))
        if daemon is not None:
            parts[-1].variables["DOCKER_HOST"] = daemon.host
            daemon.copy_images(*_images())
            daemon.tag(_WORKBENCH, TOTAL.name)  # its image is that of the demos, under another name
        return parts

    def _faults(self, parts: list[Part], daemon: SecondDaemon | None, *, disk: bool) -> list[Fault]:
        def coordinators() -> list[int]:
            return [part.process.pid for part in parts if part.process is not None and part.process.poll() is None]

        each = max(1, self.trials // 60)
        faults: list[Fault] = []
        faults += [DeadSandbox(coordinators)] * each * ("sandbox" in self.kinds)
        faults += [KilledWorker(coordinators)] * max(1, each // 2) * ("worker" in self.kinds)
        faults += [KilledCoordinator(coordinators)] * ("coordinator" in self.kinds)
        if disk:
            faults.append(FullDisk(self.runs))
        if daemon is not None:
            faults += [DeadContainer(daemon)] * max(1, each // 2) * ("container" in self.kinds)
            faults += [StoppedDaemon(daemon)] * ("daemon" in self.kinds)
        return faults

    def _examine(self, parts: list[Part], provider: Running, daemon: SecondDaemon | None) -> None:
        outcome, troubles = self.outcome, self.outcome.troubles
        for part in parts:
            outcome.runs += part.statuses
            with suppress_trouble(troubles, part.env):
                failed = self._count(part)
                if part.statuses[-1] != (1 if failed else 0):
                    troubles.append(f"{part.env}: ends with {part.statuses[-1]}: {part.last_output()}")
        reckoning = reckon([part.folder for part in parts], provider.bill())
        outcome.reckoning = str(reckoning)
        troubles += reckoning.troubles
        troubles += [f"container {container} is left" for container in self._containers(daemon)]
        troubles += self._processes()

    def _count(self, part: Part) -> int:
        """Check that each unit is there once, came to an end that is known, and agrees with the others of its kind.

        Returns the number of units that failed for good, each with its cause.
        """
        batch, troubles = read_batch(part.folder), self.outcome.troubles
        if len(batch.units) != part.trials:
            troubles.append(f"{part.env}: {len(batch.units)} units of {part.trials}")
        results: dict[str, set[tuple[bool | None, float | None, int]]] = {}
        failed = 0
        for unit in batch.units:
            result = result_of(unit)
            failed += result.state == "failed"
            self.outcome.states[result.state + (f" ({result.cause})" if result.state != "finished" else "")] += 1
            if result.state not in ("finished", "failed"):
                troubles.append(f"{unit.trial} is {result.state}: {result.cause} {result.detail}")
            elif result.state == "failed" and not result.cause:
                troubles.append(f"{unit.trial} failed without a cause")
            if result.state == "finished":
                facts = (result.passed, result.quality, result.turns)
                results.setdefault(unit.configuration.id, set()).add(facts)
            troubles += [f"{name}: {found}" for name in unit.folders if (found := _inconsistency(part.folder / name))]
        troubles += [
            f"attempts at {id} differ: {sorted(map(str, each))}" for id, each in results.items() if len(each) > 1
        ]
        troubles += [f"{name} belongs to no unit" for name in batch.strays]
        return failed

    def _containers(self, daemon: SecondDaemon | None) -> list[str]:
        return [] if daemon is None else daemon.containers(everything=True)

    def _processes(self) -> list[str]:
        """Return the processes of trials, workers and coordinators that still run."""
        left = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if f"TMPDIR={self.temporary}".encode() in (path / "environ").read_bytes().split(b"\0"):
                    left.append(f"process {path.name} is left: {(path / 'cmdline').read_bytes()[:120]!r}")
        return left


@contextmanager
def suppress_trouble(troubles: list[str], name: str) -> Iterator[None]:
    """Turn an error into a trouble, so that the other checks are made as well."""
    try:
        yield
    except Exception as error:
        troubles.append(f"{name}: {type(error).__name__}: {error}")


def _inconsistency(trial: Path) -> str:
    if not (trial / "events.jsonl").is_file() or b"\n" not in (trial / "events.jsonl").read_bytes():
        return ""  # killed before it began
    first = check(trial).first
    return "" if first is None else f"inconsistent: {first.place}: {first.text}"


def _images() -> list[str]:
    """Return the names of the demo tasks' images on the machine's own daemon."""
    command = ["docker", "images", "--format", "{{.Repository}}:{{.Tag}}"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return [name for name in lines if name.startswith((f"{_WORKBENCH}:", "retrace-base:"))]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the test and print what came of it; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=300, help="number of trials in both batches, about")
    parser.add_argument("--docker", type=int, default=40, help="number of these in Docker [40]")
    parser.add_argument("--without", default="", help=f"kinds of faults to leave out: {', '.join(KINDS)}")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="seed of the faults")
    parser.add_argument("--keep", type=Path, help="new directory that keeps all files")
    options = parser.parse_args(argv)
    without = set(filter(None, options.without.split(",")))
    if unknown := without - set(KINDS):
        parser.error(f"--without {min(unknown)}: choose from {', '.join(KINDS)}")
    print(f"seed {options.seed}", flush=True)
    kinds = [kind for kind in KINDS if kind not in without]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = options.keep or Path(temporary) / "test"
        report = _reporter(time.monotonic())
        try:
            outcome = BatchTest(folder, options.trials, options.docker, options.seed, kinds, report).run()
        except DaemonUnusable as error:
            print(f"{error}; give --docker 0 to do without Docker", file=sys.stderr)
            return 2
    print("faults: " + ", ".join(f"{kind} {count}" for kind, count in sorted(outcome.struck.items())))
    print("refused requests cost nothing: " + ", ".join(sorted(set(outcome.struck) & set(REFUSED))))
    print("units: " + ", ".join(f"{state} {count}" for state, count in outcome.states.most_common()))
    print(f"runs ended with {', '.join(map(str, outcome.runs))}")
    print(outcome.reckoning)
    for trouble in outcome.troubles:
        print(f"trouble: {trouble}")
    print(f"{outcome.states.total()} units, {outcome.struck.total()} faults, {len(outcome.troubles)} troubles")
    return 1 if outcome.troubles else 0


def _reporter(began_s: float) -> Callable[[str], None]:
    return lambda line: print(f"{time.monotonic() - began_s:6.0f} s  {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
