"""Measures of `agent show`: the processor time until the first screen of a long trial, and for parts of it."""

from __future__ import annotations

import os
import pty
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.measures.figures import Figure
from scripts.measures.record import Long
from trajectories.record.events import Exited, Limits, ModelRef, TaskRef, TextRef, TrialStarted
from trajectories.record.exits import Exit
from trajectories.record.layout import TrialFolder
from trajectories.writing.derived import write_conveniences
from trajectories.writing.recorder import Recorder

STEPS = 3_000
_SCREEN = "head -n 50"
"""A pager that takes one screen, as a user does who leaves it."""
_RUNS = 5


def measure() -> Iterator[Figure]:
    """Yield all figures."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _figures(_recorded(Path(folder)), STEPS)


def _recorded(folder: Path) -> Path:
    """Record a long trial, and return its directory."""
    first = folder / "batch" / "first"
    first.mkdir(parents=True)
    recorder = Recorder(first)
    recorder.append(
        TrialStarted(
            trial="first",
            identity="0",
            task=TaskRef(id="made/task", benchmark="made", digest="0"),
            model=ModelRef(asked="m", name="m"),
            prompt=TextRef(name="default", sha256="0"),
            limits=Limits(),
            environment="sandbox",
        )
    )
    recorder.close()
    long = Long(folder / "batch" / "long", first)
    for _ in range(STEPS):
        long.step()
    long.recorder.append(Exited(exit=Exit.of("submitted"), steps=STEPS))
    long.recorder.close()
    write_conveniences(long.recorder.directory)
    return long.recorder.directory


def _figures(trial: Path, steps: int) -> Iterator[Figure]:
    """Compare the processor time of `agent show` for a long trial with that of `agent --version`."""
    version_s = _cpu_s("--version")
    screen_s = _cpu_s("show", str(trial))
    detail = f"{screen_s:.2f} s against {version_s:.2f} s of processor time, with a pager"
    name = f"first screen of `agent show` of {steps} steps, against `agent --version`"
    yield Figure(name, screen_s / version_s, "", 5, detail)
    for options in (("--tail", "2"), ("--output", f"{steps // 2}.1")):
        part_s = _cpu_s("show", str(trial), *options)
        detail = f"{part_s:.2f} s against {version_s:.2f} s of processor time, with the index of steps"
        yield Figure(f"`agent show {' '.join(options)}` of {steps} steps", part_s / version_s, "", 5, detail)
    index = TrialFolder(trial).steps.stat().st_size
    events = TrialFolder(trial).events.stat().st_size
    detail = f"{index / steps:.0f} bytes a step against {events / steps:.0f} of events with 20 lines of output"
    yield Figure("size of the index of steps, against the events", index / events, "", 0.15, detail)


def _cpu_s(*argv: str) -> float:
    """Return the median processor time of the command on a terminal, its pager included."""
    return statistics.median(_once(argv) for _ in range(_RUNS))


def _once(argv: tuple[str, ...]) -> float:
    main, terminal = pty.openpty()
    agent = str(Path(sys.executable).with_name("agent"))
    variables = {**os.environ, "PAGER": _SCREEN, "COLUMNS": "100", "LINES": "50"}
    process = subprocess.Popen([agent, *argv], stdin=terminal, stdout=terminal, stderr=terminal, env=variables)
    os.close(terminal)
    try:
        while os.read(main, 1 << 16):
            pass
    except OSError:  # the other end of a terminal was closed
        pass
    os.close(main)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{argv} ended with {process.returncode}"
    return used.ru_utime + used.ru_stime
