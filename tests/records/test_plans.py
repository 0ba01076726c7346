"""A record of a plan of an earlier release is read, checked, shown and given to a trial by the code of today."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.guidance.plans import given_plan
from benchmarks.task.registry import resolve_task
from trajectories.blobs.store import BlobStore
from trajectories.checks.check import check
from trajectories.reading.plans.record import read_plan

RUNS = sorted(path.parent for path in Path(__file__).parent.glob("v*/plans"))


@pytest.mark.parametrize("runs", RUNS, ids=lambda runs: runs.name)
def test_the_record_of_a_plan_is_read_as_it_was_written(runs: Path) -> None:
    directory = runs / "plans" / "cronwhen.claude-opus-4-7.1"
    record = read_plan(directory)
    assert [(call.call, call.try_, call.status) for call in record.calls] == [
        (1, 1, "failed"),
        (2, 2, "malformed"),
        (3, 1, "answered"),
    ]
    assert (record.author, record.model.name, record.rule) == ("model", "anthropic/claude-opus-4-7", "no-code")
    assert record.costs.model_dump() == pytest.approx({"billed": None, "computed": 0.0146235, "list": 0.018165})
    assert record.text is not None
    assert record.text.startswith("1. Read the README")
    assert check(directory).findings == []
    assert BlobStore(directory / "blobs").get(record.prompt.sha256).startswith(b"system:")
    given = given_plan(directory, runs, None, resolve_task("demo/cronwhen")[1])
    assert (given.text, given.ref.record) == ((directory / "plan.md").read_text(), directory.name)
    assert given.ref.sha256 == "a89a6a79d9c874d6ceb5b6140634b3c3fa34a2a9f92ef1b6c7d4dc1f225cb9b6"
