"""Tables in terminals of any width and in pipes: whole cells, the most important columns, no padding in a pipe."""

from __future__ import annotations

import os
import pty

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len

from agent.cli.output import width
from agent.cli.tables import rows_table
from trajectories.views.tables import ALWAYS, UNLIMITED, TextColumn, TextTable, facts_table

WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=12)


@st.composite
def tables(draw: st.DrawFn) -> TextTable:
    columns = [
        TextColumn(f"c{number}", right=draw(st.booleans()), rank=ALWAYS if number == 0 else draw(st.integers(1, 4)))
        for number in range(draw(st.integers(1, 6)))
    ]
    row = st.lists(WORDS, min_size=len(columns), max_size=len(columns))
    return TextTable(columns, draw(st.lists(row, min_size=1, max_size=5)))


@given(tables(), st.integers(30, 100))
def test_a_table_fits_with_whole_cells_of_its_most_important_columns(table: TextTable, terminal: int) -> None:
    heading, *lines = table.lines(terminal)
    rows, note = lines[: len(table.rows)], " ".join(lines[len(table.rows) :])
    shown = [column for column in table.columns if column.title in heading.split()]
    assert table.columns[0] in shown
    for cells, line in zip(table.rows, rows, strict=True):
        assert line.split() == [cell for cell, column in zip(cells, table.columns, strict=True) if column in shown]
    left_out = [column for column in table.columns if column not in shown]
    assert all(column.title in note for column in left_out)
    assert bool(note) == bool(left_out)
    if left_out:
        assert f"not shown in {terminal} columns" in note
    if len(shown) > 1:
        assert max(map(cell_len, [heading, *rows])) <= terminal
    for column in left_out:  # it does not fit beside the columns that are more important
        before = [other for other in shown if (other.rank, other.title) < (column.rank, column.title)]
        widths = [
            max(cell_len(words) for words in (other.title, *(row[table.columns.index(other)] for row in table.rows)))
            for other in [*before, column]
        ]
        assert sum(widths) + 2 * (len(widths) - 1) > terminal


@given(tables())
def test_a_pipe_gets_all_columns_without_padding(table: TextTable) -> None:
    heading, *rows = table.lines(UNLIMITED)
    assert heading.split("\t") == [column.title for column in table.columns]
    assert [row.split("\t") for row in rows] == [list(row) for row in table.rows]


@given(st.lists(st.text(), min_size=2, max_size=2))
def test_a_row_is_one_line_whatever_its_cells_hold(cells: list[str]) -> None:
    table = TextTable([TextColumn("a", rank=ALWAYS), TextColumn("b", rank=ALWAYS)], [cells])
    for terminal in (80, UNLIMITED):
        lines = list(table.lines(terminal))
        assert len(lines) == 2
        assert "\x1b" not in lines[1]
        assert "\n" not in lines[1]
    assert lines[1].count("\t") == 1


def test_columns_without_a_value_are_shown_in_pipes_only() -> None:
    table = TextTable(
        [TextColumn("a", rank=ALWAYS), TextColumn("b"), TextColumn("c")], [("x", "", "1"), ("y", "-", "")]
    )
    assert list(table.lines(80)) == ["a  c", "x  1", "y"]
    assert list(table.lines(UNLIMITED)) == ["a\tb\tc", "x\t\t1", "y\t-\t"]


def test_an_excerpt_takes_the_rest_of_the_line() -> None:
    table = TextTable(
        [TextColumn("action", rank=ALWAYS), TextColumn("shown by", is_excerpt=True)], [("1.1", "date " * 30)]
    )
    row = list(table.lines(50))[1]
    assert row.endswith("…")
    assert len(row) <= 50
    assert next(table.lines(20)) == "action"
    assert list(table.lines(UNLIMITED))[1] == f"1.1\t{'date ' * 30}"


def test_a_column_that_needs_its_neighbors_has_a_full_name_in_notes_and_pipes() -> None:
    table = TextTable(
        [TextColumn("task", rank=ALWAYS), TextColumn("n", name="passed n")], [("a-long-name-of-a-task", "3")]
    )
    assert "passed n" in " ".join(table.lines(22))
    assert next(table.lines(UNLIMITED)) == "task\tpassed n"


def test_facts_have_no_heading() -> None:
    assert list(facts_table([("docker", "works"), ("cpus", "2")]).lines(80)) == ["docker  works", "cpus    2"]


def test_rows_of_values_become_a_table() -> None:
    rows = [{"model": "m", "input": 1.5, "key": True}, {"model": "longer", "input": None, "key": False}]
    table = rows_table(("model", "input", "key"), rows, text=("model", "key"), first_out=("input",), missing="")
    assert list(table.lines(80)) == ["model   input  key", "m         1.5  yes", "longer         no"]
    assert [line.split() for line in table.lines(13)][:2] == [["model", "key"], ["m", "yes"]]


def test_an_output_that_is_no_terminal_has_no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert width() == UNLIMITED
    monkeypatch.setenv("COLUMNS", "90")
    assert width() == 90


def test_a_terminal_has_its_own_width(monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl
    import struct
    import sys
    import termios

    monkeypatch.delenv("COLUMNS", raising=False)
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 72, 0, 0))
    try:
        with os.fdopen(child, "w") as terminal:
            monkeypatch.setattr(sys, "stdout", terminal)
            monkeypatch.setattr(sys, "__stdout__", terminal)
            assert width() == 72
    finally:
        os.close(parent)
