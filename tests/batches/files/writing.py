"""Write the files of a batch without running it: a grid, a journal, and the records of its trials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.record.test_recorder import started
from trajectories.batches.configuration import Configuration
from trajectories.batches.events import BatchOpened, Holder, Planned
from trajectories.batches.grid import append_to_grid
from trajectories.batches.journal import BatchWriter
from trajectories.record.events import (
    BaseEvent,
    CallFinished,
    CallStarted,
    Evaluated,
    EvaluationStarted,
    Exited,
    Reply,
    Snapshot,
    Submission,
    TaskRef,
)
from trajectories.record.exits import Cause, Exit
from trajectories.record.layout import name_of_rerun, name_of_turn
from trajectories.record.usage import Costs, Usage
from trajectories.record.verdict import Evaluator, Verdict
from trajectories.writing.claim import stem_of
from trajectories.writing.derived import write_conveniences
from trajectories.writing.recorder import Recorder

USAGE = Usage(input=100, output=20)


def opened(**fields: Any) -> BatchOpened:
    holder = Holder(host="node", pid=7)
    return BatchOpened(**{
        "coordinator": holder, "spec": {"tasks": ["x"]}, "engine": "local",
        "workers": 2, "evaluations": 1, "reruns": 2, **fields,
    })  # fmt: skip


def configuration(task: str = "x", arm: str = "base", **fields: Any) -> Configuration:
    """Return a configuration of a task; `fields` are those of event 0."""
    ref = TaskRef(id=f"demo/{task}", benchmark="demo", digest=task)
    first = started().model_copy(update={"trial": "", "identity": "", "task": ref, "mode": "base", **fields})
    return Configuration(id=Configuration.id_of(first), arm=arm, stem=stem_of(first), first=first)


def planned(configuration: Configuration, attempt: int = 1) -> Planned:
    return Planned(
        unit=configuration.unit(attempt),
        configuration=configuration.id,
        arm=configuration.arm,
        attempt=attempt,
        trial=configuration.trial(attempt),
    )


def write_batch(directory: Path, *configurations: Configuration, attempts: int = 1) -> Path:
    """Write a batch of which nothing has been started."""
    directory.mkdir(parents=True)
    append_to_grid(directory, configurations)
    with BatchWriter(directory) as writer:
        writer.append(opened())
        for each in configurations:
            for attempt in range(1, attempts + 1):
                writer.append(planned(each, attempt))
    return directory


def call(step: int, usd: float | None = 0.5, *, usage: Usage | None = USAGE) -> list[BaseEvent]:
    """Return a call that made a step."""
    return [
        asked(step),
        CallFinished(
            step=step,
            id=f"r{step}",
            reply=Reply(text="x"),
            model_requested="m",
            latency_s=0.1,
            usage=usage,
            costs=Costs(computed=usd),
        ),
    ]


def asked(step: int, try_: int = 1) -> CallStarted:
    return CallStarted(step=step, try_=try_, message_ids=(), messages=0, messages_sha256="")


def exited(cause: Cause = "submitted", steps: int = 1, detail: str = "") -> Exited:
    return Exited(exit=Exit.of(cause, detail), steps=steps)


def judged(quality: float | None, *, passed: bool | None = None) -> list[BaseEvent]:
    """Return an evaluation with this quality; None is a verdict that is an error."""
    verdict = Verdict(
        status="error" if quality is None else "scored",
        passed=None if quality is None else quality == 1.0 if passed is None else passed,
        quality=quality,
        cases=(),
        error="the evaluator failed" if quality is None else "",
        evaluator=Evaluator(name="suite", version="1"),
        isolation="container",
    )
    submission = Submission(kind="archive", sha256="0" * 64)
    return [EvaluationStarted(evaluation=1, evaluator="suite", submission=submission), Evaluated(verdict=verdict)]


def write_trial(
    batch: Path,
    configuration: Configuration,
    events: Iterable[BaseEvent] | Sequence[BaseEvent],
    *,
    attempt: int = 1,
    rerun: int = 0,
    turn: int = 1,
    snapshot: bool = True,
    derived: bool = True,
) -> Path:
    """Write a trial of a unit: event 0, a snapshot, then these events."""
    first = name_of_rerun(configuration.trial(attempt), rerun)
    name = name_of_turn(first, turn)
    start = configuration.first_event(attempt)
    start = start.model_copy(update={"trial": name, "turn": None if start.chain is None else turn})
    if rerun:
        before = name_of_rerun(configuration.trial(attempt), rerun - 1)
        start = start.model_copy(update={"rerun": rerun, "replaces": before})
    directory = batch / name
    directory.mkdir()
    recorder = Recorder(directory)
    recorder.append(start)
    for event in [*([Snapshot(step=0, changes=(), complete=True)] if snapshot else []), *events]:
        recorder.append(event)
    recorder.close()
    if derived:
        write_conveniences(directory)
    return directory
