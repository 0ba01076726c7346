"""The page about the files of a batch: every field has a meaning, and its example runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from scripts.model_tables import batch_tables
from tests.batches.files.writing import call, configuration, exited, judged, write_batch, write_trial
from trajectories.batches.events import BatchEvent, UnknownBatchEvent
from trajectories.batches.results import State

PAGE = (Path(__file__).parents[3] / "docs/reference/batches.md").read_text()


def test_every_event_with_every_field_has_a_meaning() -> None:
    tables = batch_tables()
    assert [line for line in tables.splitlines() if re.match(r"\| `.*\|\s*\|$", line)] == []
    for event in get_args(BatchEvent):
        if event is not UnknownBatchEvent:
            assert f"### `{event.model_fields['type'].default}`\n" in tables
    assert tables in PAGE, "run scripts/docs"


def test_every_state_is_described() -> None:
    assert set(re.findall(r"^\| `([a-z]+)` \|", PAGE.split("## States of a unit")[1], re.MULTILINE)) >= {
        *get_args(State)
    }


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    x = configuration("x")
    batch = write_batch(tmp_path / "runs" / "study", x)
    write_trial(batch, x, [*call(1), exited(), *judged(1.0)])
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out == f"base {x.trial(1)} () finished True 0.5 ()\n"
