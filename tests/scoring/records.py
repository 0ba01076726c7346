"""Finished trials on disk, written by the real recorder. A test gives only the fields that it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    Answer,
    CallFinished,
    CallStarted,
    Evaluated,
    EvaluationStarted,
    Exited,
    Limits,
    ModelRef,
    PanelStarted,
    PriceRef,
    Reply,
    Submission,
    TaskRef,
    TextRef,
    TrialStarted,
    Voted,
)
from trajectories.record.exits import Exit
from trajectories.record.panel import INTEGRITY, KINDS, Kind
from trajectories.record.usage import Costs, Usage
from trajectories.record.verdict import Case, Evaluator, SystemChange, Verdict
from trajectories.writing.derived import write_conveniences
from trajectories.writing.recorder import Recorder

_SYSTEM_CHANGE = SystemChange(path="/etc/profile.d/x.sh", kind="added", reached_by="shell_startup")
RATES = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}


def record(
    batch: Path,
    task: str = "a",
    model: str = "m",
    attempt: int = 1,
    *,
    benchmark: str = "bench",
    quality: float | None = 0.0,
    passed: bool | None = None,
    cost: float | None = 0.0,
    steps: int = 1,
    usage: Usage | None = None,
    served: str | None = None,
    exit: str | None = "submitted",
    verdict: bool = True,
    cases: tuple[Case, ...] = (),
    metrics: Mapping[str, float] | None = None,
    rates: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    conveniences: bool = True,
    scripts: Sequence[str] = (),
    exit_code: int = 0,
    votes: Sequence[Sequence[Kind] | None] | None = None,
    tampered: bool | None = None,
    evaluated_with: Mapping[str, str] | None = None,
    **first: Any,
) -> Path:
    """Write a trial whose first call cost all of `cost`.

    Without `exit` the trial stays open; without `quality` the evaluator failed. `scripts` are commands that ended with
    `exit_code`, and `votes` a panel: the violations that each judge sees, or None for a judge without a valid vote.
    """
    directory = batch / f"{task}.{model}.{attempt}"
    directory.mkdir(parents=True)
    recorder = Recorder(directory, pool=batch / ".pool")
    recorder.append(
        TrialStarted(
            trial=directory.name,
            identity=f"{task}/{model}/{sorted((settings or {}).items())}/{attempt}",
            attempt=attempt,
            task=TaskRef(id=f"{benchmark}/{task}", benchmark=benchmark, digest=task),
            model=ModelRef(asked=model, name=f"maker/{model}", settings=dict(settings or {})),
            prompt=TextRef(name="default", sha256="0"),
            limits=Limits(),
            environment="local",
            prices=PriceRef(source="litellm 1", name="litellm-1", sha256="1", rates=dict(rates or RATES)),
            **first,
        )
    )
    for step in range(1, steps + 1):
        recorder.append(CallStarted(step=step, message_ids=("m1",), messages=1, messages_sha256="0"))
        recorder.append(
            CallFinished(
                step=step,
                id=f"r{step}",
                reply=Reply(text="x"),
                model_requested=f"maker/{model}",
                model_served=served or model,
                latency_s=0.1,
                usage=usage or Usage(input=1000, output=100),
                costs=Costs(computed=cost if step == 1 else None if cost is None else 0.0),
            )
        )
    for number, script in enumerate(scripts, start=1):
        action = f"{steps}.{number}"
        recorder.append(ActionStarted(action=action, step=steps, script=script, deadline_s=9))
        output = recorder.output(b"", 0)
        recorder.append(
            ActionFinished(
                action=action, step=steps, ended="exited", exit_code=exit_code, duration_s=0.1, output=output
            )
        )
    if exit is not None:
        recorder.append(Exited(exit=Exit.of(exit), steps=steps))
    if exit is not None and verdict:
        recorder.append(
            EvaluationStarted(evaluation=1, evaluator="made", submission=Submission(kind="archive", sha256="0"))
        )
        recorder.append(
            Evaluated(
                verdict=Verdict(
                    status="error" if quality is None else "scored",
                    error="the evaluator broke" if quality is None else "",
                    passed=None if quality is None else quality == 1 if passed is None else passed,
                    quality=quality,
                    cases=cases,
                    metrics=dict(metrics or {}),
                    evaluator=Evaluator(name="made", version="1"),
                    isolation="none",
                    settings=dict(evaluated_with or {}),
                    tampered=None if tampered is None else (_SYSTEM_CHANGE,) * tampered,
                )
            )
        )
    if votes is not None:
        _panel(recorder, votes)
    recorder.close()
    if conveniences:
        write_conveniences(directory)
    return directory


def _panel(recorder: Recorder, votes: Sequence[Sequence[Kind] | None]) -> None:
    text = TextRef(name="x", sha256="0")
    judges = tuple(ModelRef(asked=f"j{number}", name=f"maker/j{number}") for number in range(len(votes)))
    recorder.append(PanelStarted(panel=1, about=INTEGRITY, questions=KINDS, judges=judges, prompt=text, case=text))
    for number, kinds in enumerate(votes, start=1):
        answers = (
            {str(kind): Answer(violated=kind in kinds, step=1, why="so") for kind in KINDS} if kinds is not None else {}
        )
        recorder.append(Voted(panel=1, judge=number, outcome="failed" if kinds is None else "valid", answers=answers))
