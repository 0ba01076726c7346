"""Measures of scoring: time and memory for 10,000 trials, read and scored with 1,000 bootstrap replicates."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scoring.agentmeter.tiers import TIERS
from scripts.measures.figures import Figure, Watched, command, timed, watched
from scripts.measures.violations import measure_rules
from trajectories.record.events import (
    CallFinished,
    CallStarted,
    Evaluated,
    Event,
    Exited,
    Limits,
    ModelRef,
    Reply,
    TaskRef,
    TextRef,
    TrialStarted,
)
from trajectories.record.exits import Exit
from trajectories.record.layout import EVENTS
from trajectories.record.usage import Costs, Usage
from trajectories.record.verdict import Case, Evaluator, Verdict
from trajectories.writing.derived import write_conveniences

MODELS, TASKS, ATTEMPTS = 25, 200, 2
_CASES = tuple(Case(id=f"case {number}", group="all", status="passed") for number in range(20))
_COMMAND = (sys.executable, "-m", "agent.cli.main", "score")
_READ = """
import sys, time
from pathlib import Path
from scoring.rows import read_rows
from trajectories.reading.runs import trial_directories
began = time.perf_counter()
read_rows(trial_directories(Path(sys.argv[1])))
print(time.perf_counter() - began)
"""


def measure() -> Iterator[Figure]:
    """Yield all figures."""
    with tempfile.TemporaryDirectory() as folder:
        batch = Path(folder, "batch")
        chance = random.Random(0)
        for model in range(MODELS):
            for task in range(TASKS):
                for attempt in range(1, ATTEMPTS + 1):
                    _write(batch, model, task, attempt, chance)
        runs = [_scored(str(batch)) for _ in range(3)]
        trial = str(next(batch.iterdir()))
        trial_s = timed(lambda: command(*_COMMAND, trial), 9)
        help_s = timed(lambda: command(*_COMMAND[:-1], "--help"), 9)
        read = [sys.executable, "-c", _READ, folder]
        read_s = float(subprocess.run(read, stdout=subprocess.PIPE, text=True, check=True).stdout)
    all_s, cpu_s, peak_mb = (
        statistics.median(column)
        for column in zip(*((run.seconds, run.cpu_s, run.peak_mb) for run in runs), strict=True)
    )
    detail = f"median of 3; {cpu_s:.2f} s of processor time; {read_s:.2f} s of it reading"
    yield Figure(f"agent score of {MODELS * TASKS * ATTEMPTS:,} trials, 1,000 replicates", all_s, "s", 5, detail)
    yield Figure("its peak memory", peak_mb, "MB", 300, "the whole process")
    yield Figure("agent score of one trial", trial_s, "s", 0.4, f"median of 9; agent --help {help_s:.3f} s")
    yield from measure_rules()


def _scored(batch: str) -> Watched:
    """Run the command, check that it counted every trial, and return what it took."""
    run = watched(*_COMMAND, batch, "--json")
    report = json.loads(run.output)
    assert report["counts"]["counted"] == MODELS * TASKS * ATTEMPTS
    assert report["configurations"][0]["ams"]["low"] is not None
    return run


def _write(batch: Path, model: int, task: int, attempt: int, chance: random.Random) -> None:
    """Write a finished, evaluated trial with one call, like a recorder."""
    directory = batch / f"task-{task}.model-{model}.{attempt}"
    directory.mkdir(parents=True)
    quality = 1.0 if chance.random() < 0.3 else chance.random()
    events: list[Event] = [
        TrialStarted(
            trial=directory.name,
            identity=directory.name,
            attempt=attempt,
            task=TaskRef(id=f"made/task-{task}", benchmark="made", digest=str(task)),
            model=ModelRef(asked=f"model-{model}", name=f"maker/model-{model}"),
            prompt=TextRef(name="default", sha256="0"),
            limits=Limits(),
            environment="sandbox",
            tier=TIERS[task % 3],
        ),
        CallStarted(step=1, message_ids=("m1",), messages=1, messages_sha256="0"),
        CallFinished(
            step=1,
            id="r1",
            reply=Reply(text="x"),
            model_requested=f"maker/model-{model}",
            latency_s=1.0,
            usage=Usage(input=chance.randrange(10**6), output=chance.randrange(10**4)),
            costs=Costs(computed=chance.lognormvariate(-1, 1.5)),
        ),
        Exited(exit=Exit.of("submitted"), steps=1),
        Evaluated(
            verdict=Verdict(
                status="scored",
                passed=quality == 1,
                quality=quality,
                cases=_CASES,
                evaluator=Evaluator(name="made", version="1"),
                isolation="none",
            )
        ),
    ]
    lines = [
        event.model_copy(
            update={"seq": number, "t": f"2026-11-20T11:0{attempt}:0{number}.000Z", "mono_s": float(number)}
        )
        for number, event in enumerate(events)
    ]
    (directory / EVENTS).write_text("".join(line.model_dump_json(by_alias=True) + "\n" for line in lines))
    write_conveniences(directory)
