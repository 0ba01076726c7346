"""A measured figure with its target, and timing of whole commands."""

from __future__ import annotations

import itertools
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of output; `limit` is the largest value (the smallest, if `at_least`) that meets the target."""

    name: str
    value: float
    unit: str
    limit: float
    detail: str
    at_least: bool = False

    @property
    def met(self) -> bool:
        """True if the value meets the target."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        word = "met" if self.met else "MISSED"
        return f"{word:6} {self.name}: {self.value:.3f} {self.unit} (target {sign} {self.limit:g}); {self.detail}"


def timed(action: Callable[[], object], runs: int, warm_up: int = 1) -> float:
    """Return the median seconds of `runs` calls after `warm_up` uncounted ones."""
    for _ in range(warm_up):
        action()
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def command(*argv: str, env: dict[str, str] | None = None) -> None:
    """Run a command to its end, and discard its output.

    Raises: CalledProcessError.
    """
    subprocess.run(
        argv,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})},
    )


_WATCHED = """
import resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
"""
"""Program of a small process in between, because a child's peak memory includes that of its parent when it started."""


@dataclass(frozen=True)
class Watched:
    """A command that ended, with the seconds and the MB that it took."""

    output: str
    seconds: float
    cpu_s: float
    peak_mb: float


def watched(*argv: str) -> Watched:
    """Run a command to its end and measure it.

    Raises: CalledProcessError.
    """
    process = subprocess.run([sys.executable, "-c", _WATCHED, *argv], capture_output=True, text=True, check=True)
    seconds, cpu_s, peak_kb = map(float, process.stderr.splitlines()[-1].split())
    return Watched(process.stdout, seconds, cpu_s, peak_kb / 1024)


def interleaved(*actions: Callable[[], object], runs: int) -> list[float]:
    """Return the median seconds of actions that are run in turn, so that a noisy machine affects all."""
    times: list[list[float]] = [[] for _ in actions]
    for action in actions:
        action()
    for _ in range(runs):
        for index, action in enumerate(actions):
            began = time.perf_counter()
            action()
            times[index].append(time.perf_counter() - began)
    return [statistics.median(each) for each in times]


def cpu_in_turn(*commands: Sequence[str], runs: int) -> list[float]:
    """Return the median seconds of processor time of several commands, which are run in turn."""
    for argv in commands:
        command(*argv)
    rounds = []
    for _ in range(runs):
        ends = [_children_cpu_s()]
        for argv in commands:
            command(*argv)
            ends.append(_children_cpu_s())
        rounds.append([later - earlier for earlier, later in itertools.pairwise(ends)])
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def machine() -> str:
    """Return the number of cores and the memory of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB"


def median_gap(times: Sequence[float]) -> float:
    """Return the median of the differences of consecutive times."""
    return statistics.median(later - earlier for earlier, later in itertools.pairwise(times))
