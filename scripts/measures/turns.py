"""Measures of a chain of turns: the time between two of them."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from scripts.measures.figures import Figure, command, timed
from scripts.measures.trial import AGENT, TASK, Sleeping, image_of
from trajectories.reading.reader import read_events
from trajectories.record.events import Event
from trajectories.record.layout import name_of_turn

TURNS = 8


def measure() -> Iterator[Figure]:
    """Yield the only figure."""
    yield time_between_turns()


def time_between_turns() -> Figure:
    """Compare the time from the exit of a turn to the first call of the next one with plain Docker calls.

    The evaluation and the first snapshot of the next turn are not counted.
    """
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "submit.json")
        script.write_text(json.dumps(["true", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"]))
        chain = ["--self-correct", str(TURNS), "--model", f"script:{script}", "--runs", folder, "--quiet"]
        subprocess.run([*AGENT, "solve", "--task", TASK, "--env", "docker", *chain], check=True, capture_output=True)
        (first,) = Path(folder, "single").glob("*.1")
        records = [list(read_events(first.parent / name_of_turn(first.name, n))) for n in range(1, TURNS + 1)]
        ours = statistics.median(_between(*pair) for pair in itertools.pairwise(records))
        with Sleeping(image_of(first)) as name:
            plain = timed(lambda: _plain(name, folder), 10)
    detail = f"{ours * 1000:.0f} ms against {plain * 1000:.0f} ms, evaluation and first snapshot not counted"
    return Figure("between two turns, Docker, against pause, archive, put, unpause", ours / plain, "", 1.5, detail)


def _between(before: list[Event], after: list[Event]) -> float:
    first_call = _last(after, "call_started", first=True)
    snapshot = _last(after, "snapshot", first=True).mono_s - _last(after, "feedback").mono_s
    evaluation = _last(before, "evaluation").mono_s - _last(before, "evaluation_started").mono_s
    whole = datetime.fromisoformat(first_call.t) - datetime.fromisoformat(_last(before, "exit").t)
    return whole.total_seconds() - evaluation - snapshot


def _last(events: list[Event], kind: str, *, first: bool = False) -> Event:
    """Return the last event of a type, or the first one."""
    return next(event for event in (events if first else reversed(events)) if event.type == kind)


def _plain(name: str, folder: str) -> None:
    """Do by hand what happens to the container between two turns."""
    feedback = Path(folder, "feedback", "turn-1")
    feedback.mkdir(parents=True, exist_ok=True)
    (feedback / "tests.log").write_text("1 failed\n")
    command("docker", "pause", name)
    command("docker", "cp", f"{name}:/workspace/.", f"{folder}/exported")
    command("docker", "cp", f"{folder}/feedback", f"{name}:/")
    command("docker", "unpause", name)
