"""Guided trials in this process: the real command's options, order and loop, without its output."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Unpack

from agent.continuation.fork import fork
from agent.continuation.resume import resuming
from agent.loop.actions import SUBMIT
from agent.loop.worker import LoopWorker
from agent.trial.fresh import Fresh
from agent.trial.options import OptionChanges, Options
from agent.trial.resolve import resolve
from agent.trial.run import run_new
from trajectories.reading.reader import read_events
from trajectories.record.events import Answered, Asked, Event, Message

ANSWERS = ("Read the given file first.", "Then compare the two results.", "Look at the last line again.")


def file_of_answers(work: Path, *answers: str) -> str:
    """Write a file of answers; return it as a value of `--guidance`."""
    path = work / "answers.json"
    path.write_text(json.dumps(answers))
    return f"file:{path}"


def scripted(work: Path, name: str, turns: Iterable[Any]) -> str:
    """Write a script with these turns; return it as the name of a model."""
    path = work / f"{name}.json"
    path.write_text(json.dumps(list(turns)))
    return f"script:{path}"


def options(work: Path, *turns: Any, **changes: Unpack[OptionChanges]) -> Options:
    """Return the options of a trial with a script of these turns, in a directory of its own."""
    start = work / "start"
    start.mkdir(exist_ok=True)
    (start / "given").write_text("given\n")
    given: OptionChanges = {
        "model": scripted(work, "agent", turns),
        "instruction": "Do the work.",
        "workspace": start,
        "env": "local",
        "runs": work / "runs",
    }
    if "guidance" not in changes:
        given["guidance"] = file_of_answers(work, *ANSWERS)
    return Options.of({}, **{**given, **changes})


def solve(work: Path, *turns: Any, **changes: Unpack[OptionChanges]) -> Path:
    """Run a trial that submits after these turns; return its folder."""
    order = resolve(options(work, *turns, SUBMIT, **changes))
    outcome, _ = run_new(order, Fresh(), LoopWorker(order))
    return outcome.directory


def resume(trial: Path) -> None:
    """Continue a trial."""
    with resuming(trial) as resumption:
        resumption.run()


def branch(parent: Path, step: int, **changes: Unpack[OptionChanges]) -> Path:
    """Fork a trial after a step; return the folder of the fork."""
    order, start = fork(parent, step, **changes)
    outcome, _ = run_new(order, start, LoopWorker(order))
    return outcome.directory


def events(trial: Path) -> list[Event]:
    return list(read_events(trial))


def questions(trial: Path) -> list[tuple[int, str, int]]:
    """Return number, text and remaining count of each question."""
    return [(event.question, event.text, event.left) for event in events(trial) if isinstance(event, Asked)]


def answers(trial: Path) -> list[tuple[int, int, str, str]]:
    """Return question, try, status and text of each answer."""
    return [
        (event.question, event.try_, event.status, event.text) for event in events(trial) if isinstance(event, Answered)
    ]


def told(trial: Path) -> list[str]:
    """Return the answers as the agent was told them."""
    return [event.content for event in events(trial) if isinstance(event, Message) and event.why == "answer"]
