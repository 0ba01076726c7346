"""Records of plans as `agent plan` writes them, without a task and a model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from trajectories.reading.plans.record import RULE
from trajectories.record.events import (
    SCHEMA_VERSION,
    ModelRef,
    PriceRef,
    Purpose,
    RoleCallFinished,
    RoleCallStarted,
    RoleRecordStarted,
    TaskRef,
    TextRef,
)
from trajectories.record.usage import Costs, Usage
from trajectories.writing.recorder import Recorder

TEXT = "1. Read the task again.\n2. Sort the accounts by name.\n"
COST = Costs(computed=0.25, list=0.5)


def answered(text: str = TEXT, costs: Costs = COST, **facts: object) -> RoleCallFinished:
    """Return the result of a call that brought a plan, or with a `status` of its own something else."""
    given = {"status": "answered", "text": text, "costs": costs, "usage": Usage(input=10, output=5), **facts}
    return RoleCallFinished(call=0, **given)  # type: ignore[arg-type]


def plan_record(
    runs: Path,
    name: str = "ledger.opus.1",
    results: Iterable[RoleCallFinished | None] = (answered(),),
    *,
    model: str = "anthropic/claude-opus-4-7",
    rule: str = "no-code",
    t: str = "",
) -> Path:
    """Write a record below `runs` with a call for each result, None for one that was under way; return its folder."""
    directory = runs / "plans" / name
    directory.mkdir(parents=True)
    ref, prompt = ModelRef(asked=model.rpartition("/")[2], name=model), TextRef(name="planner", sha256="0" * 64)
    clock = (lambda: (t, 0.0)) if t else None
    recorder = Recorder(directory, has_steps=False, clock=clock)
    recorder.append(
        RoleRecordStarted(
            schema_version=SCHEMA_VERSION,
            record=name,
            role="planner",
            task=TaskRef(id="demo/ledger", benchmark="demo", digest="0" * 64),
            model=ref,
            prompt=prompt,
            prices=PriceRef(source="a table", sha256="0" * 64),
            options={RULE: rule},
        )
    )
    text = None
    for number, result in enumerate(results, start=1):
        purpose = Purpose(plan=1)
        recorder.append(RoleCallStarted(call=number, role="planner", purpose=purpose, model=ref, prompt=prompt))
        if result is not None:
            recorder.append(result.model_copy(update={"call": number}))
            text = result.text if result.status == "answered" else text
    recorder.close()
    if text is not None:
        (directory / "plan.md").write_text(text.strip("\n") + "\n")
    return directory
