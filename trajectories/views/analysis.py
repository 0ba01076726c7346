"""Terminal view of an analysis: one column for each trial, or median and range of many trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from trajectories.analysis.aggregate import Analysis, Cell, row
from trajectories.analysis.report import TrialAnalysis
from trajectories.record.texts.text import printable
from trajectories.views.tables import ALWAYS, TextColumn, TextTable

_COLUMNS = 4
"""Largest number of trials with a column each; more are shown as median and range."""
_LISTED = 5
"""Number of repetitions and observations that are shown for each trial."""
_CUT = 90
"""Number of characters of a command that are shown."""


def print_analysis(console: Console, analysis: Analysis) -> None:
    """Print the table of figures and, for few trials, the remarkable facts about each."""
    single = len(analysis.trials) <= _COLUMNS
    table = _by_trial(analysis.trials) if single else _summary_of_all(analysis)
    table.print(console)
    for trial in analysis.trials if single else ():
        for line in _remarkable(trial):
            console.print(Text(printable(line)), soft_wrap=True)
    for broken in analysis.unreadable:
        console.print(Text(printable(f"unreadable: {broken.problem}"), "red"), soft_wrap=True)


def _by_trial(trials: Sequence[TrialAnalysis]) -> TextTable:
    """Return a table with a column for each trial; several ones are numbered, since their ids are long."""
    ids = [Path(trial.trial).name for trial in trials]
    headings = ids if len(ids) == 1 else [str(number) for number in range(1, len(ids) + 1)]
    columns = [
        TextColumn("", rank=ALWAYS, name="figure"),
        *(TextColumn(heading, right=True, name=id) for heading, id in zip(headings, ids, strict=True)),
    ]
    figures = [row(trial) for trial in trials]
    rows = [
        (name.replace("_", " "), *(_cell(name, of_trial[name]) for of_trial in figures))
        for name in figures[0]
        if name != "trial"
    ]
    title = "" if len(ids) == 1 else "\n".join(f"{heading}: {id}" for heading, id in zip(headings, ids, strict=True))
    return TextTable(columns, rows, printable(title))


def _summary_of_all(analysis: Analysis) -> TextTable:
    columns = [TextColumn("", rank=ALWAYS, name="figure")]
    columns += [TextColumn(name, right=True) for name in ("median", "mean", "min", "max", "known")]
    rows = []
    for name, spread in analysis.aggregate.spreads.items():
        cells = (_cell(name, value) for value in (spread.median, spread.mean, spread.min, spread.max))
        rows.append((name.replace("_", " "), *cells, str(spread.known)))
    return TextTable(columns, rows, f"{len(analysis.trials)} trials")


def _remarkable(trial: TrialAnalysis) -> Iterator[str]:
    name = Path(trial.trial).name
    if trial.structure and trial.structure.languages:
        shares = ", ".join(f"{language} {part.share:.0%}" for language, part in trial.structure.languages.items())
        yield f"\n{name}: {shares}"
    for repetition in trial.repetitions[:_LISTED]:
        where = f"{repetition.first} to {repetition.last}"
        in_a_row = f", {repetition.in_a_row} in a row" if repetition.in_a_row > 1 else ""
        times = f"{repetition.times} times with the same outcome ({where}{in_a_row})"
        yield f"{name}: {times}: {repetition.command[:_CUT]}"
    for cost in trial.observations.largest[:_LISTED]:
        count = f"{cost.tokens:,} tokens ({cost.how}) in {cost.later_calls} later prompts: {cost.added_tokens:,}"
        yield f"{name}: observation {cost.action or '?'}: {count}   {cost.command[:_CUT]}"
    for note in trial.notes:
        yield f"{name}: {note}"


def _cell(name: str, value: Cell) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if name.endswith("_share"):
        return f"{value:.1%}"
    return f"{value:,.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"
