"""The table of trials in terminals of different widths."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from tests.analysis.trials import Did, Step, record
from trajectories.reading.runs import Listed, listed
from trajectories.views.listing import _PART, Listing
from trajectories.writing.derived import write_conveniences

MODEL = "a-long-name-of-a-model-with-46-characters-in-it"
LEAST = 16
"""Least width to which the column of the model is cut."""


@pytest.fixture
def trial(tmp_path: Path) -> Listed:
    directory = record(tmp_path / "t.m.0.1", [Step([Did("ls")])])
    events = directory / "events.jsonl"
    events.write_text(events.read_text().replace('"asked":"m"', f'"asked":"{MODEL}"'))
    return listed(directory)


def lines(trial: Listed, width: int) -> list[str]:
    out = io.StringIO()
    for table in Listing([trial]).tables(width):
        Console(file=out, width=width).print(table)
    return out.getvalue().splitlines()


def test_a_copied_trial_is_listed_where_it_is(trial: Listed, tmp_path: Path) -> None:
    write_conveniences(trial.directory)
    copy = shutil.copytree(trial.directory, tmp_path / "copies" / trial.directory.name)
    shutil.rmtree(trial.directory)
    summary = listed(copy).summary
    assert summary is not None
    assert summary.trial == str(copy)


def test_a_row_has_the_values_of_the_trial_below_their_names(trial: Listed) -> None:
    names, row = lines(trial, 200)
    assert names.split() == ["trial", "task", "model", "exit", "steps", "cost", "time", "quality", "started"]
    for name, value in (("trial", "t.m.0.1"), ("task", "demo/x"), ("model", MODEL), ("exit", "submitted")):
        assert row[names.index(name) :].startswith(value)
    assert row[: names.index("steps") + len("steps")].endswith(" 1")


def test_a_column_is_only_cut_and_then_left_out_if_the_terminal_is_too_narrow(trial: Listed) -> None:
    names, row = lines(trial, 200)
    whole = len(row)
    assert lines(trial, whole)[1] == row
    assert "…" in lines(trial, whole - 1)[1]
    narrowest = whole - (len(MODEL) - LEAST)
    assert lines(trial, narrowest)[0].split() == names.split()
    assert lines(trial, narrowest - 1)[0].split() == [name for name in names.split() if name != "time"]


def test_an_unreadable_trial_is_a_row(tmp_path: Path) -> None:
    _, row = lines(Listed(tmp_path / "broken\x1b", None, "cut off"), 200)
    assert row.split() == ["broken␛", "unreadable"]


def test_a_long_list_is_one_table_with_one_heading(trial: Listed) -> None:
    out = io.StringIO()
    for table in Listing([trial] * (2 * _PART + 1)).tables(200):
        Console(file=out, width=200).print(table)
    heading, *rows = out.getvalue().splitlines()
    assert heading.startswith("trial")
    assert rows == [rows[0]] * (2 * _PART + 1)
