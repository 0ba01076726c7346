"""`agent score BATCH`: arms, attempts, turns and superseded records of a real batch folder, without mixing them up."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.batches.files.writing import call, configuration, exited, judged, opened, planned, write_batch, write_trial
from tests.solve.command import agent
from trajectories.batches.configuration import Configuration
from trajectories.batches.events import Ended
from trajectories.batches.journal import BatchWriter
from trajectories.record.events import Chain, PriceRef, TextRef

TASKS = ("a", "b", "c")
PRICES = PriceRef(source="a table", sha256="8" * 64)
PLAIN, OTHER = "plain", "other-prompt"


def grid() -> dict[tuple[str, str], Configuration]:
    """Return two arms over three tasks, which differ in their prompt."""
    prompt = TextRef(name="mine", sha256="9" * 64)
    return {
        (arm, task): configuration(task, arm, prices=PRICES, **fields)
        for arm, fields in ((PLAIN, {}), (OTHER, {"prompt": prompt}))
        for task in TASKS
    }


def ended(quality: float, usd: float = 0.5) -> list[Any]:
    """Return a trial with one call that came to its end and was evaluated."""
    return [*call(1, usd), exited(), *judged(quality)]


@pytest.fixture
def batch(tmp_path: Path) -> tuple[Path, dict[tuple[str, str], Configuration]]:
    """Return a batch of two attempts in which every kind of end occurs."""
    configurations = grid()
    folder = write_batch(tmp_path / "runs" / "study", *configurations.values(), attempts=2)
    for (arm, _), each in configurations.items():
        write_trial(folder, each, ended(float(arm == OTHER)), attempt=1)
    first, second, third = (configurations[OTHER, task] for task in TASKS)
    lost = [*call(1, 2.0), exited("environment_lost")]
    write_trial(folder, first, lost, attempt=2)
    write_trial(folder, first, lost, attempt=2, rerun=1)
    write_trial(folder, first, ended(1.0, 4.0), attempt=2, rerun=2)
    write_trial(folder, second, [*call(1), exited("budget")], attempt=2)
    write_trial(folder, third, lost, attempt=2)
    write_trial(folder, configurations[PLAIN, "a"], [*call(1), exited()], attempt=2)  # not evaluated
    return folder, configurations


def test_arms_have_lines_with_every_unit(batch: tuple[Path, Any], tmp_path: Path) -> None:
    result = agent(tmp_path, "score", "study", "--json")
    assert result.status == 0, result.err
    report = result.json
    plain, other = report["arms"]
    assert (plain["arm"], plain["units"], plain["counted"], plain["unjudged"]) == (PLAIN, 6, 4, 1)
    assert plain["left_out"] == {"not begun": 2}
    assert (other["arm"], other["units"], other["counted"]) == (OTHER, 6, 4)
    assert other["left_out"] == {"ended by environment_lost": 1, "waiting for budget": 1}
    assert (plain["pass_rate"]["value"], other["pass_rate"]["value"]) == (0, 1)
    assert (other["superseded"], other["superseded_usd"]) == (2, 4.0)
    assert other["total"]["value"] == 3 * 0.5 + 4.0 + 2 * 2.0  # the superseded records cost 2 each
    (difference,) = report["arm_differences"]
    assert (difference["arm"], difference["against"], difference["pass_rate"]["value"]) == (OTHER, PLAIN, 1)
    assert difference["detectable_pass_rate"] is not None
    assert report["counts"]["replaced"] == 2
    assert report["counts"]["superseded"] == 0
    assert sum(line["trials"] for line in report["configurations"]) == 8  # never a row for a superseded record
    assert any(note.startswith("4 of 12 planned units have no result") for note in report["notes"])


def test_the_text_shows_the_arms_first_and_names_what_is_left_out(batch: tuple[Path, Any], tmp_path: Path) -> None:
    result = agent(tmp_path, "score", "runs/study")
    assert result.status == 0, result.err
    lines = result.out.splitlines()
    assert "Arms of study" in lines[2]
    assert lines[4].split()[0] == PLAIN
    assert "no result: 1 ended by environment_lost, 2 not begun, 1 waiting for budget" in result.out
    assert "2 trials that infrastructure ended were run again" in result.out


def test_files_hold_the_tables_of_arms_and_no_superseded_trial(batch: tuple[Path, Any], tmp_path: Path) -> None:
    for name, table in (("arms.csv", "arms"), ("differences.csv", "arm-differences")):
        result = agent(tmp_path, "score", "study", "--output", name, "--table", table)
        assert result.status == 0, result.err
    arms = list(csv.DictReader((tmp_path / "arms.csv").open()))
    assert [row["arm"] for row in arms] == [PLAIN, OTHER]
    assert arms[1]["pass_rate"] == "1.0"
    assert arms[1]["left_out"] == "1 ended by environment_lost, 1 waiting for budget"
    assert [row["against"] for row in csv.DictReader((tmp_path / "differences.csv").open())] == [PLAIN]
    assert agent(tmp_path, "score", "study", "--output", "trials.csv").status == 0
    rows = list(csv.DictReader((tmp_path / "trials.csv").open()))
    assert {row["arm"] for row in rows} == {PLAIN, OTHER}
    assert not any(row["trial"].endswith(".r1") for row in rows)
    assert [row["superseded"] for row in rows if row["trial"].endswith(".r2")] == ["2"]


def test_conditions_select_units_as_they_select_trials(batch: tuple[Path, Any], tmp_path: Path) -> None:
    report = agent(tmp_path, "score", "study", "--task", "a", "--json").json
    assert [row["units"] for row in report["arms"]] == [2, 2]
    newest = agent(tmp_path, "score", "study", "--limit", "1", "--json").json
    assert sum(row["units"] for row in newest["arms"]) == 1
    folder, configurations = batch
    one = agent(tmp_path, "score", str(folder / configurations[PLAIN, "a"].trial(1)), "--json").json
    assert [(row["arm"], row["units"]) for row in one["arms"]] == [(PLAIN, 1)]


def test_prices_of_today_are_those_of_superseded_records_as_well(batch: tuple[Path, Any], tmp_path: Path) -> None:
    rates = "m input=1e-3 output=1e-3 cache_read=1e-3 cache_write_5m=1e-3 cache_write_1h=1e-3"
    made = agent(tmp_path, "prices", "snapshot", "mine", "--set", rates)
    assert made.status == 0, made.err
    other = agent(tmp_path, "score", "study", "--prices", "mine", "--json").json["arms"][1]
    assert other["total"]["value"] == pytest.approx(6 * 0.12)  # six records with 120 tokens each
    assert other["superseded_usd"] == pytest.approx(2 * 0.12)


def test_a_chain_is_one_attempt_with_the_costs_of_its_turns(tmp_path: Path) -> None:
    chain = Chain(first="", turns=2, feedback="scores", conversation="fresh", until="fixed")
    plain, chained = configuration("a", "base"), configuration("a", "again", chain=chain, turn=1)
    folder = write_batch(tmp_path / "runs" / "turns", plain, chained)
    write_trial(folder, plain, ended(0.0))
    write_trial(folder, chained, ended(0.0, 1.0))
    write_trial(folder, chained, ended(1.0, 2.0), turn=2)
    report = agent(tmp_path, "score", "turns", "--json").json
    base, again = report["arms"]
    assert (again["units"], again["counted"], again["pass_rate"]["value"], again["total"]["value"]) == (1, 1, 1, 3.0)
    assert base["pass_rate"]["value"] == 0
    assert report["interventions"], "the table of modes is printed as well"


def test_a_model_that_is_not_available_is_a_reason_of_its_own(tmp_path: Path) -> None:
    units = [configuration(task) for task in TASKS]
    folder = write_batch(tmp_path / "runs" / "held", *units)
    write_trial(folder, units[0], ended(1.0))
    with BatchWriter(folder) as writer:
        unit = planned(units[1])
        writer.append(Ended(unit=unit.unit, trial=unit.trial, status="waiting", cause="model_unavailable"))
    (row,) = agent(tmp_path, "score", "held", "--json").json["arms"]
    assert row["left_out"] == {"not begun": 1, "waiting for model_unavailable": 1}


def test_a_record_that_is_gone_or_cannot_be_read_is_named(tmp_path: Path) -> None:
    units = [configuration(task) for task in TASKS]
    folder = write_batch(tmp_path / "runs" / "damaged", *units)
    for unit in units[1:]:
        trial = write_trial(folder, unit, ended(1.0), derived=False)
    (trial / "events.jsonl").write_text("garbage\n{}\n")
    with BatchWriter(folder) as writer:
        gone = planned(units[0])
        writer.append(Ended(unit=gone.unit, trial=gone.trial, status="finished", cause="submitted"))
    assert agent(tmp_path, "score", "damaged").status == 2
    result = agent(folder, "score", ".", "--unreadable", "exclude", "--json")
    (row,) = result.json["arms"]
    assert (row["batch"], row["counted"]) == ("damaged", 1)
    assert row["left_out"] == {"record missing": 1, "record unreadable": 1}


def test_the_first_arm_of_the_spec_is_the_reference_even_if_the_grid_begins_with_another(tmp_path: Path) -> None:
    one, two = configuration("a", "one"), configuration("b", "two")
    folder = write_batch(tmp_path / "runs" / "order", two, one)
    with BatchWriter(folder) as writer:
        writer.append(opened(spec={"arms": {"one": {}, "two": {}}}))
    write_trial(folder, one, ended(1.0))
    write_trial(folder, two, ended(1.0))
    report = agent(tmp_path, "score", "order", "--json").json
    assert [row["arm"] for row in report["arms"]] == ["one", "two"]
    (difference,) = report["arm_differences"]
    assert (difference["pass_rate"]["tasks"], difference["pass_rate"]["missing"]) == (0, 2)


def test_a_damaged_grid_is_an_error_and_a_batch_without_trials_is_explained(tmp_path: Path) -> None:
    unit = configuration("a")
    folder = write_batch(tmp_path / "runs" / "empty", unit)
    nothing = agent(tmp_path, "score", "empty")
    assert nothing.status == 2
    assert len(nothing.err.splitlines()) == 1
    assert "no trial of this batch has begun" in nothing.err
    write_trial(folder, unit, ended(1.0))
    lines = (folder / "grid.jsonl").read_text()
    (folder / "grid.jsonl").write_text(json.dumps({"id": "x"}) + "\n" + lines)
    damaged = agent(tmp_path, "score", "empty")
    assert damaged.status == 2
    assert "grid.jsonl:1" in damaged.err
