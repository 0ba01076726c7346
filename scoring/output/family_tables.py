"""Tables of single benchmarks: three of LongCLI-Bench, one of CLI-Tool-Bench."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scoring.families import clitool, longcli
from scoring.families.clitool import SuiteLine
from scoring.output.cells import CONFIGURATION, ReportColumn, TableDesign
from scoring.report import LongCliRow


def _bucket(number: int, name: str) -> ReportColumn[LongCliRow]:
    return ReportColumn(f"f2p_step_{number}", f"F2P step {name}", "count", lambda row: row.f2p_steps[name])


ATTEMPTS: TableDesign[LongCliRow] = TableDesign(
    "longcli",
    "LongCLI-Bench, first turns (Tables 1 and 2)",
    (
        CONFIGURATION,
        ReportColumn("tasks", "tasks", "count", lambda row: row.main.tasks),
        ReportColumn("attempts", "attempts", "count", lambda row: row.main.attempts),
        ReportColumn("pass_rate", "pass@1", "share", lambda row: row.main.pass_rate),
        ReportColumn("pass_at_3", "pass@3", "share", lambda row: row.main.pass_at_3),
        ReportColumn("pass_at_3_paper", "pass@3 (paper)", "share", lambda row: row.main.pass_at_3_paper),
        ReportColumn("f2p_pass", "F2P", "share", lambda row: row.main.f2p_pass),
        ReportColumn("p2p_pass", "P2P", "share", lambda row: row.main.p2p_pass),
        ReportColumn("f2p_step", "F2P step", "share", lambda row: row.main.f2p_step),
        ReportColumn("p2p_step", "P2P step", "share", lambda row: row.main.p2p_step),
        ReportColumn("minutes", "minutes", "number", lambda row: row.main.minutes),
        *(_bucket(number, name) for number, name in enumerate(longcli.BUCKET_NAMES)),
    ),
    lambda report: report.longcli,
)
"""LongCLI-Bench's Tables 1 and 2 in one."""


@dataclass(frozen=True)
class _TurnLine:
    """A line of Table 3: the state at a turn, or the difference between two turns."""

    label: str
    turn: str
    pass_rate: float | None
    step: float | None
    tasks: int | None = None
    attempts: int | None = None
    f2p_pass: float | None = None
    p2p_pass: float | None = None


TURNS: TableDesign[_TurnLine] = TableDesign(
    "turns",
    "State after each turn of self-correction (LongCLI-Bench, Table 3)",
    (
        CONFIGURATION,
        ReportColumn("turn", "turn", "text", lambda line: line.turn),
        ReportColumn("tasks", "tasks", "count", lambda line: line.tasks),
        ReportColumn("attempts", "attempts", "count", lambda line: line.attempts),
        ReportColumn("pass_rate", "passed", "share", lambda line: line.pass_rate),
        ReportColumn("f2p_pass", "F2P", "share", lambda line: line.f2p_pass),
        ReportColumn("p2p_pass", "P2P", "share", lambda line: line.p2p_pass),
        ReportColumn("step", "step", "share", lambda line: line.step),
    ),
    lambda report: (line for row in report.longcli if len(row.turns) > 1 for line in _turn_lines(row)),
)
"""LongCLI-Bench's Table 3, with a line for each turn and each difference of configurations that have several turns."""


def _turn_lines(row: LongCliRow) -> Iterator[_TurnLine]:
    for state in row.turns:
        yield _TurnLine(
            label=row.label,
            turn=str(state.turn),
            pass_rate=state.pass_rate,
            step=state.step,
            tasks=state.tasks,
            attempts=state.attempts,
            f2p_pass=state.f2p_pass,
            p2p_pass=state.p2p_pass,
        )
    for change in row.differences:
        yield _TurnLine(
            label=row.label,
            turn=f"{change.before} to {change.after}",
            pass_rate=change.pass_rate,
            step=change.step,
        )


_LabeledLine = tuple[str, SuiteLine]
"""The label of a configuration, and one of its lines."""


def _metric_columns(metric: str) -> list[ReportColumn[_LabeledLine]]:
    """Return the five columns of a metric."""
    title = metric.upper() if len(metric) == 2 else metric
    return [
        ReportColumn(metric, title, "share", lambda line: line[1].figures[metric].mean),
        ReportColumn(f"{metric}_low", "low", "share", lambda line: line[1].figures[metric].low),
        ReportColumn(f"{metric}_high", "high", "share", lambda line: line[1].figures[metric].high),
        ReportColumn(f"{metric}_n", "n", "count", lambda line: line[1].figures[metric].repositories),
        ReportColumn(f"{metric}_missing", "missing", "count", lambda line: line[1].figures[metric].missing),
    ]


SUITES: TableDesign[_LabeledLine] = TableDesign(
    "suites",
    "CLI-Tool-Bench (90 % intervals, as its paper has them)",
    (
        ReportColumn("configuration", "configuration", "text", lambda line: line[0]),
        ReportColumn("group", "repositories", "text", lambda line: line[1].group),
        *(column for metric in clitool.METRICS for column in _metric_columns(metric)),
    ),
    lambda report: ((row.label, line) for row in report.suites for line in row.lines),
)
"""CLI-Tool-Bench's table."""
