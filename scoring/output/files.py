"""Files of a report. The suffix decides what is written: the whole report (.json) or tables (.csv, .parquet, .tex,
.md).

A file is written completely or not at all.
"""

from __future__ import annotations

import csv
import io
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from scoring.errors import ScoringError
from scoring.extras import load
from scoring.notes import basis
from scoring.output.cells import Cell, ReportColumn, ReportTable, tabulate, text
from scoring.output.frame import flat, trials_frame
from scoring.output.tables import NAMES, table_named, tables
from scoring.report import Report
from scoring.rows import TrialRow
from scoring.statistics.intervals import Estimate
from trajectories.record.texts.text import printable

TRIALS = "trials"
TABLES = (TRIALS, *NAMES)
SUFFIXES = (".json", ".csv", ".parquet", ".tex", ".md")
Value = str | int | float | bool | None
_ENDINGS = ("", "_low", "_high", "_trials", "_tasks", "_missing")
_MARKDOWN = re.compile(r"[\\`*_\[\]|#~$]")
_MINUS = re.compile(r"-(?=\d)")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def check_outputs(paths: Sequence[Path], table: str | None) -> None:
    """Check that these files can be written, before anything is computed.

    Raises: ScoringError for an unknown suffix or table, a table that no file would hold, or a missing package.
    """
    for path in paths:
        _check(path, table)
    if table is not None and all(path.suffix == ".json" for path in paths):
        raise ScoringError(
            f"--table {table}: chooses the table of a .csv, .parquet, .tex or .md file; name one with --output"
        )


def _check(path: Path, table: str | None) -> None:
    if table is not None and table not in TABLES:
        raise ScoringError(f"--table {table}: there is no such table; the tables are {', '.join(TABLES)}")
    if path.suffix not in SUFFIXES:
        raise ScoringError(f"--output {path}: unknown suffix {path.suffix!r}; use one of {', '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise ScoringError(f"--output {path}: cannot be written: there is no directory {path.parent}")
    if path.is_dir():
        raise ScoringError(f"--output {path}: cannot be written: it is a directory")
    if path.suffix == ".parquet":
        load("pandas", "Parquet")
        load("pyarrow", "Parquet")


def write_output(path: Path, report: Report, rows: Sequence[TrialRow], table: str | None = None) -> None:
    """Write one file. Without `table`, CSV and Parquet hold one row per trial, LaTeX and Markdown hold all other
    tables.

    Raises: ScoringError as `check_outputs` does, and if the file cannot be written.
    """
    _check(path, table)
    match path.suffix:
        case ".json":
            data = (report.model_dump_json(indent=1) + "\n").encode()
        case ".csv":
            data = _csv(*_data(report, rows, table or TRIALS)).encode("utf-8", "replace")
        case ".parquet":
            data = _parquet(report, rows, table or TRIALS)
        case suffix:
            write = latex if suffix == ".tex" else markdown
            chosen = tables(report) if table is None else [_table(report, rows, table)]
            data = write(chosen, (*basis(report), *(note.text for note in report.notes))).encode("utf-8", "replace")
    _replace(path, data)


def _data(report: Report, rows: Sequence[TrialRow], table: str) -> tuple[list[str], list[dict[str, Value]]]:
    """Return the names of the columns, and the rows by these names.

    A column with estimates becomes six: its value, then `_low`, `_high`, `_trials`, `_tasks` and `_missing`.
    """
    if table == TRIALS:
        trials: list[dict[str, Value]] = [flat(row) for row in rows]
        return list(dict.fromkeys(name for row in trials for name in row)), trials
    chosen = table_named(report, table)
    estimates = {
        column.key for column in chosen.columns if any(isinstance(row[column.key], Estimate) for row in chosen.rows)
    }
    names = []
    for column in chosen.columns:
        endings = _ENDINGS if column.key in estimates else ("",)
        names += [column.key + ending for ending in endings]
    lines: list[dict[str, Value]] = []
    for row in chosen.rows:
        line: dict[str, Value] = dict.fromkeys(names)
        for key, cell in row.items():
            if isinstance(cell, Estimate):
                values = (cell.value, cell.low, cell.high, cell.trials, cell.tasks, cell.missing)
                line |= {key + ending: value for ending, value in zip(_ENDINGS, values, strict=True)}
            else:
                line[key] = cell
        lines.append(line)
    return names, lines


def _csv(names: Sequence[str], lines: Sequence[dict[str, Value]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()


def _parquet(report: Report, rows: Sequence[TrialRow], table: str) -> bytes:
    if table == TRIALS:
        frame = trials_frame(rows)
    else:
        names, lines = _data(report, rows, table)
        frame = load("pandas", "Parquet").DataFrame(lines, columns=names)
    file = io.BytesIO()
    frame.to_parquet(file, index=False)
    return file.getvalue()


def _table(report: Report, rows: Sequence[TrialRow], name: str) -> ReportTable:
    if name != TRIALS:
        return table_named(report, name)
    names, lines = _data(report, rows, name)
    return tabulate(TRIALS, "Trials", [_text_column(name) for name in names], lines)


def _text_column(name: str) -> ReportColumn[dict[str, Value]]:
    return ReportColumn(name, name.replace("_", " "), "text", lambda line: _yes_no(line.get(name)))


def _yes_no(value: Value) -> Cell:
    return ("yes" if value else "no") if isinstance(value, bool) else value


def markdown(chosen: Sequence[ReportTable], notes: Sequence[str]) -> str:
    """Return the tables with headings, then the notes as a list."""
    lines = []
    for table in chosen:
        lines += [f"## {_markdown(table.title)}", ""]
        lines.append(_line(_markdown(column.title) for column in table.columns))
        lines.append(_line("---" if column.kind == "text" else "---:" for column in table.columns))
        lines += [_line(map(_markdown, _texts(table, row))) for row in table.rows]
        lines.append("")
    return "\n".join([*lines, *(f"- {_markdown(note)}" for note in notes)]).rstrip() + "\n"


def latex(chosen: Sequence[ReportTable], notes: Sequence[str]) -> str:
    """Return the tables for `booktabs`, each with caption and label, then the notes as comments."""
    lines = ["% needs \\usepackage{booktabs}"]
    for table in chosen:
        lines += ["\\begin{table}", "\\centering", f"\\caption{{{_latex(table.title)}}}"]
        lines.append(f"\\label{{tab:{table.name}}}")
        lines.append(
            f"\\begin{{tabular}}{{{''.join('l' if column.kind == 'text' else 'r' for column in table.columns)}}}"
        )
        lines += ["\\toprule", _row(_latex(column.title) for column in table.columns), "\\midrule"]
        lines += [_row(_latex_cells(table, row)) for row in table.rows]
        lines += ["\\bottomrule", "\\end{tabular}", "\\end{table}", ""]
    return "\n".join([*lines, *(f"% {_plain(note)}" for note in notes)]).rstrip() + "\n"


def _texts(table: ReportTable, row: Mapping[str, Cell]) -> list[str]:
    return [text(row[column.key], column.kind) for column in table.columns]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex_cells(table: ReportTable, row: Mapping[str, Cell]) -> list[str]:
    """Return the cells of a row. Negative numbers have a minus sign instead of a hyphen."""
    return [
        _latex(words) if column.kind == "text" else _MINUS.sub("$-$", _latex(words))
        for words, column in zip(_texts(table, row), table.columns, strict=True)
    ]


def _row(cells: Iterable[str]) -> str:
    line = " & ".join(cells)
    # LaTeX would read a leading [ or * as an option of the previous line break
    return f"{'{}' * line.startswith(('[', '*'))}{line} \\\\"


def _plain(words: str) -> str:
    return printable(" ".join(words.split()))


def _markdown(words: str) -> str:
    return _MARKDOWN.sub(r"\\\g<0>", _plain(words)).replace("<", "&lt;")


def _latex(words: str) -> str:
    return "".join(_LATEX.get(character, character) for character in _plain(words))


def _replace(path: Path, data: bytes) -> None:
    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = file.name
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # the mode of any new file; a temporary file is private
        os.replace(temporary, path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise ScoringError(f"{path}: cannot be written: {error.strerror}") from None
