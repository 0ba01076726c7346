"""The table of trials in terminals of different widths."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from tests.analysis.trials import Did, Step, record
from tests.record.intervention_records import write_chain
from trajectories.checks.check import check
from trajectories.reading.runs import Listed, listed
from trajectories.views.listing import Listing
from trajectories.views.tables import UNLIMITED
from trajectories.writing.derived import write_conveniences

MODEL = "a-long-name-of-a-model-with-46-characters-in-it"


@pytest.fixture
def trial(tmp_path: Path) -> Listed:
    directory = record(tmp_path / "t.m.0.1", [Step([Did("ls")])])
    events = directory / "events.jsonl"
    events.write_text(events.read_text().replace('"asked":"m"', f'"asked":"{MODEL}"'))
    return listed(directory)


def lines(trial: Listed, width: int) -> list[str]:
    out = io.StringIO()
    Listing([trial]).print(Console(file=out, width=width))
    return out.getvalue().splitlines()


def test_a_copied_trial_is_listed_where_it_is(trial: Listed, tmp_path: Path) -> None:
    write_conveniences(trial.directory)
    copy = shutil.copytree(trial.directory, tmp_path / "copies" / trial.directory.name)
    shutil.rmtree(trial.directory)
    summary = listed(copy).summary
    assert summary is not None
    assert summary.trial == str(copy)


def test_a_summary_of_an_earlier_version_is_made_again_and_no_inconsistency(trial: Listed) -> None:
    """Whatever field this version added: without it, a table would show nothing in its column."""
    write_conveniences(trial.directory)
    path = trial.directory / "trial.json"
    for place, name in (("entry", "prompt"), (None, "label")):
        stored = json.loads(path.read_text())
        del (stored if place is None else stored[place])[name]
        path.write_text(json.dumps({**stored, "steps": 7}))
        summary = listed(trial.directory).summary
        assert summary is not None
        assert (summary.steps, summary.entry.prompt) == (1, "default")
        path.write_text(json.dumps(stored))
        assert "conveniences" not in {finding.rule for finding in check(trial.directory).findings}


def test_a_row_has_the_values_of_the_trial_below_their_names(trial: Listed) -> None:
    names, row = lines(trial, 200)
    assert names.split() == ["trial", "task", "model", "exit", "steps", "cost", "time", "started"]
    for name, value in (("trial", "t.m.0.1"), ("task", "demo/x"), ("model", MODEL), ("exit", "submitted")):
        assert row[names.index(name) :].startswith(value)
    assert row[: names.index("steps") + len("steps")].endswith(" 1")


def test_a_narrow_terminal_has_fewer_columns_and_a_note(trial: Listed) -> None:
    names, row, *note = lines(trial, 80)
    assert names.split() == ["trial", "task", "exit", "steps", "cost", "time", "started"]
    assert row.startswith("t.m.0.1  demo/x  submitted")
    assert " ".join(note) == "not shown in 80 columns: model (a wider terminal or a pipe shows all)"


def test_an_id_is_whole_in_the_narrowest_terminal(trial: Listed) -> None:
    names, row, *_ = lines(trial, 30)
    assert names.split() == ["trial", "exit", "steps"]
    assert row.split()[0] == "t.m.0.1"


def test_a_pipe_gets_every_column_without_padding(trial: Listed) -> None:
    names, row = lines(trial, UNLIMITED)
    cells = dict(zip(names.split("\t"), row.split("\t"), strict=True))
    assert cells["trial"] == "t.m.0.1"
    assert cells["model"] == MODEL
    assert cells["fork of"] == cells["mode"] == cells["turn"] == ""


def test_turns_and_modes_have_columns_if_there_are_any(tmp_path: Path, trial: Listed) -> None:
    _, second = write_chain(tmp_path / "b", {"a": "failed"}, {"a": "passed"})
    names, row = lines(listed(second), 200)
    assert names.split()[-2:] == ["mode", "turn"]
    assert row.endswith("self-correction  2 of 3")
    assert "mode" not in lines(trial, 200)[0].split()


def test_an_unreadable_trial_is_a_row(tmp_path: Path) -> None:
    _, row = lines(Listed(tmp_path / "broken\x1b", None, "cut off"), 200)
    assert row.split() == ["broken␛", "unreadable"]


def test_a_long_list_is_one_table_with_one_heading(trial: Listed) -> None:
    out = io.StringIO()
    Listing([trial] * 500).print(Console(file=out, width=200))
    heading, *rows = out.getvalue().splitlines()
    assert heading.startswith("trial")
    assert rows == [rows[0]] * 500
