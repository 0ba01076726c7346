"""Trials on disks of every size: whatever fills up, the record is whole, and its exit counts its steps."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from tests.solve.command import agent, script
from trajectories.checks.check import check
from trajectories.reading.reader import read_events
from trajectories.record.events import CallFinished, Exited

SIZES_KIB = [64, 128, 192, 256, 272, 288, 304, 320, 352, 384, 448, 512, 640, 768, 1024, 1536, 2048, 3072, 4096]
RESERVE_KIB = 256


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A function that mounts a disk of so many KiB."""
    mounted: list[Path] = []

    def mount(kib: int) -> Path:
        place = tmp_path / f"disk-{kib}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(place)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            pytest.skip(f"a file system cannot be mounted here: {result.stderr.strip()}")
        mounted.append(place)
        return place

    if os.geteuid():
        pytest.skip("mounting a small file system needs root")
    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("kib", SIZES_KIB)
def test_a_trial_that_fills_its_disk_is_consistent(disk: Callable[[int], Path], tmp_path: Path, kib: int) -> None:
    (tmp_path / "start").mkdir()
    runs = disk(kib)
    steps = [{"text": random.Random(n).randbytes(2000).hex(), "commands": [COMMAND.format(n=n)]} for n in range(40)]
    options = ("--instruction", "Work hard.", "--workspace", "start", "--env", "local", "--runs", str(runs), "--json")
    result = agent(tmp_path, "solve", *options, "--model", script(tmp_path, *steps, SUBMIT))
    assert "Traceback" not in result.err
    assert "internal error" not in result.err
    trials = [path.parent for path in runs.glob("*/*/events.jsonl")]
    if kib <= RESERVE_KIB:
        assert (result.status, trials and trials[0].stat().st_size) != (0, 0)
    checked = [check(trial) for trial in trials if (trial / "events.jsonl").stat().st_size]
    assert all(made.consistent for made in checked), [made.first for made in checked]
    if not checked:
        assert result.status == 1
        assert "no space left" in result.err
        return
    events = list(read_events(trials[0]))
    exits = [event for event in events if isinstance(event, Exited)]
    assert len(exits) == 1, "the reserve is for this"
    assert exits[0].steps == sum(isinstance(event, CallFinished) for event in events)
    if result.status == 0:
        assert exits[0].exit.cause == "submitted"
        assert kib > 1000
    else:
        assert (exits[0].exit.cause, json.loads(result.out)["exit"]["cause"]) == ("disk_full", "disk_full")


COMMAND = "head -c 3000 /dev/urandom >file{n}; head -c 9000 /dev/urandom | base64; head -c 3000 /dev/urandom"
