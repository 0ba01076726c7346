"""Tables of a report in terminals and pipes: they fit, and the values of all configurations stay."""

from __future__ import annotations

import pytest

from scoring.agentmeter.profiles import AGENTMETER
from scoring.output.tables import tables
from scoring.output.terminal import text_table
from scoring.report import Report
from scoring.score import score
from tests.scoring.trials import synthetic
from trajectories.views.tables import UNLIMITED


@pytest.fixture(scope="module")
def report() -> Report:
    rows, tiers = synthetic(setups=3, tasks=6, attempts=2)
    return score(rows, AGENTMETER, tiers=tiers, replicates=20)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_every_table_of_a_report_fits(report: Report, width: int) -> None:
    for table in tables(report):
        lines = list(text_table(table, report.level).lines(width))
        assert max(map(len, lines)) <= width, table.name
        assert all(not line.startswith("[") for line in lines), "an interval below its value"


def test_values_stay_longest_and_numbers_of_trials_go_first(report: Report) -> None:
    (table,) = (table for table in tables(report) if table.name == "configurations")
    text = text_table(table, report.level)
    narrow = list(text.lines(64))
    assert {"configuration", "passed", "quality", "AMS"} <= set(narrow[1].split())
    note = " ".join(narrow[2 + len(table.rows) :])
    assert "passed n" in note
    assert "AMS 95%" in note
    wide = list(text.lines(200))
    assert wide[1].split().count("95%") == wide[1].split().count("n") == 3
    assert len(wide) == 2 + len(table.rows)


def test_a_pipe_gets_value_interval_and_number_of_trials_in_columns_of_their_own(report: Report) -> None:
    (table,) = (table for table in tables(report) if table.name == "configurations")
    _, heading, *rows = text_table(table, report.level).lines(UNLIMITED)
    names = heading.split("\t")
    assert len(set(names)) == len(names)
    assert {"passed", "passed 95%", "passed n"} <= set(names)
    assert all(len(row.split("\t")) == len(names) for row in rows)


def test_no_two_columns_of_a_table_have_one_name_in_a_pipe(report: Report) -> None:
    for table in tables(report):
        _, heading, *_ = text_table(table, report.level).lines(UNLIMITED)
        names = heading.split("\t")
        assert len(set(names)) == len(names), table.name
