"""Files of a report: complete, equal to the report, and escaped for their format."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, strategies as st

from scoring.errors import ScoringError
from scoring.output.cells import Column, ReportTable, text
from scoring.output.files import TABLES, check_outputs, latex, markdown, write_output
from scoring.output.frame import trials_frame
from scoring.output.tables import NAMES, table_named, tables
from scoring.report import Report
from scoring.score import score
from scoring.statistics.intervals import Estimate
from tests.scoring.trials import synthetic, trial

ROWS, TIERS_OF = synthetic(setups=3, tasks=9, attempts=2)
REPORT = score(ROWS, tiers=TIERS_OF, cost="computed")
ODD = "a|b_c & 50% $x$ #1 {y} ~^\\ <b> [l](u) *s* `q`\n\x1b[31m\u202e"


def written(path: Path, table: str | None = None, report: Report = REPORT, rows: list = ROWS) -> str:
    write_output(path, report, rows, table)
    return path.read_text(encoding="utf-8")


def test_json_is_the_whole_report(tmp_path: Path) -> None:
    assert Report.model_validate_json(written(tmp_path / "r.json")) == REPORT


def test_csv_and_parquet_have_one_row_per_trial(tmp_path: Path) -> None:
    frame = trials_frame(ROWS)
    write_output(tmp_path / "r.parquet", REPORT, ROWS)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "r.parquet"), frame, check_dtype=False)
    lines = list(csv.DictReader(io.StringIO(written(tmp_path / "r.csv"))))
    assert list(lines[0]) == list(frame.columns)
    assert [float(line["cost_usd"]) for line in lines] == list(frame["cost_usd"])
    assert {line["turn"] for line in lines} == {""}


@pytest.mark.parametrize("name", TABLES)
def test_every_table_goes_into_every_kind_of_file(tmp_path: Path, name: str) -> None:
    for suffix in (".csv", ".parquet", ".tex", ".md"):
        write_output(tmp_path / f"t{suffix}", REPORT, ROWS, name)
    frame = pd.read_parquet(tmp_path / "t.parquet")
    lines = list(csv.reader((tmp_path / "t.csv").open(newline="", encoding="utf-8")))
    assert lines[0] == list(frame.columns)
    assert len(lines) - 1 == len(frame) == (len(ROWS) if name == "trials" else len(table_named(REPORT, name).rows))


def test_a_table_of_data_has_intervals_and_numbers_in_columns(tmp_path: Path) -> None:
    (first, *_) = csv.DictReader(io.StringIO(written(tmp_path / "t.csv", "configurations")))
    best = REPORT.configurations[0]
    assert best.ams is not None
    assert (float(first["ams"]), float(first["ams_low"]), int(first["ams_tasks"])) == (best.ams.value, best.ams.low, 9)
    assert int(first["quality_trials"]) == best.passed.quality.trials


def test_latex_and_markdown_hold_the_same_cells(tmp_path: Path) -> None:
    tex, md = written(tmp_path / "r.tex"), written(tmp_path / "r.md")
    for table in tables(REPORT):
        assert f"\\label{{tab:{table.name}}}" in tex
        assert f"## {table.title}" in md.replace("\\", "")
        for row in table.rows:
            cells = [text(row[column.key], column.kind) for column in table.columns]
            escaped = " & ".join(cells).replace("%", r"\%").replace("$", r"\$").replace("_", r"\_")
            assert escaped in re.sub(r"\$-\$(?=\d)", "-", tex)
            assert f"| {' | '.join(cells)} |" in md.replace("\\", "")


def test_hostile_names_do_not_break_a_table(tmp_path: Path) -> None:
    rows = [trial("a", "s", label=ODD, model=ODD, quality=1.0, cost_usd=1.0)]
    report = score(rows)
    md = written(tmp_path / "r.md", report=report, rows=rows)
    assert "\x1b" not in md
    assert "\u202e" not in md
    tables = [block.splitlines() for block in re.split(r"\n{2,}", md) if block.startswith("|")]
    assert len(tables) >= 3
    for header, *lines in tables:
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {len(re.findall(r"\|", header))}, header
    assert "<b>" not in md
    tex = written(tmp_path / "r.tex", report=report, rows=rows)
    assert r"a\textbar{}b\_c \& 50\% \$x\$ \#1 \{y\} \textasciitilde{}\textasciicircum{}\textbackslash{}" in tex


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_stays_in_its_cell(first: str, second: str) -> None:
    table = ReportTable("t", "T", (Column("a", "A", "text"), Column("b", "B", "text")), ({"a": first, "b": second},))
    (line,) = (line for line in latex([table], []).splitlines() if line.endswith(r"\\") and line != r"A & B \\")
    assert len(re.findall(r"(?<!\\)&", line)) == 1
    assert not re.search(r"(?<!\\)[%#$_]", line)
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", line):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    (row,) = markdown([table], []).split("\n")[4:5]
    assert len(re.findall(r"(?<!\\)\|", row)) == 3


def test_latex_figures_have_a_minus_and_rows_are_not_read_as_arguments() -> None:
    columns = (Column("a", "A", "text"), Column("b", "B", "points"))
    table = ReportTable("t", "T", columns, ({"a": "[x-1", "b": -0.5}, {"a": "*", "b": None}))
    lines = latex([table], []).splitlines()
    assert r"{}[x-1 & $-$0.500 \\" in lines
    assert r"{}* & - \\" in lines


def test_files_for_people_name_the_basis_of_their_figures(tmp_path: Path) -> None:
    for suffix in (".md", ".tex"):
        content = written(tmp_path / f"r{suffix}")
        assert "intervals: 95%, rates by Wilson" in content
        assert f"budgets: profile agentmeter, sha256 {REPORT.profile_sha256[:12]}" in content


def test_an_output_in_a_missing_directory_is_rejected_before_anything_is_computed(tmp_path: Path) -> None:
    with pytest.raises(ScoringError, match=r"no/x\.csv: cannot be written: there is no directory"):
        check_outputs([tmp_path / "no" / "x.csv"], None)


def test_cells_as_people_read_them() -> None:
    estimate = Estimate(value=0.5, low=0.25, high=0.75, trials=4, tasks=2)
    assert text(estimate, "share") == "50.0% [25.0, 75.0] n=4"
    assert text(estimate, "usd") == "$0.500 [0.250, 0.750] n=4"
    assert text(estimate, "points") == "+0.500 [+0.250, +0.750] n=4"
    assert text(Estimate(value=0.5, trials=1, tasks=1), "score") == "0.500 n=1"
    assert text(Estimate(value=None, trials=0, tasks=0), "share") == "- n=0"
    assert text(None, "usd") == "-"
    assert (text(1234.5, "usd"), text(0.000123, "usd"), text(0.0, "usd")) == ("$1,234.50", "$0.000123", "$0")


def test_a_file_is_replaced_completely_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("before")
    with pytest.raises(ScoringError, match="there is no such table"):
        write_output(tmp_path / "r.csv", REPORT, ROWS, "none")
    with pytest.raises(ScoringError, match=r"unknown suffix ''; use one of \.json, \.csv, \.parquet, \.tex, \.md"):
        write_output(tmp_path / "r", REPORT, ROWS)
    assert json.loads(written(path))["benchmark"] == "bench"
    (tmp_path / "taken.json").mkdir()
    with pytest.raises(ScoringError, match="cannot be written"):
        write_output(tmp_path / "taken.json", REPORT, ROWS)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["r.json", "taken.json"]


def test_tables_and_their_columns_have_unique_names() -> None:
    assert len(set(TABLES)) == len(TABLES) == 1 + len(NAMES)
    for name in NAMES:
        keys = [column.key for column in table_named(REPORT, name).columns]
        assert len(set(keys)) == len(keys), name
