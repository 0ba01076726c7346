"""The tables of a batch by arm: figures of each arm, and its differences to the first one."""

from __future__ import annotations

from collections.abc import Callable

from scoring.arms.tables import ArmDifference, ArmRow
from scoring.output.cells import Cell, ReportColumn, TableDesign
from scoring.report import Report
from scoring.statistics.diagnostics import Total


def _title(report: Report) -> str:
    batches = dict.fromkeys(row.batch for row in report.arms)
    return f"Arms of {', '.join(batches)}"


def _left_out(row: ArmRow) -> str:
    return ", ".join(f"{number} {reason}" for reason, number in row.left_out.items())


def _total(part: Callable[[ArmRow], Total | None]) -> Callable[[ArmRow], Cell]:
    return lambda row: None if (total := part(row)) is None else total.value


ARMS: TableDesign[ArmRow] = TableDesign(
    "arms",
    _title,
    (
        ReportColumn("arm", "arm", "text", lambda row: row.arm),
        ReportColumn("batch", "batch", "text", lambda row: row.batch, is_minor=True),
        ReportColumn("model", "model", "text", lambda row: row.model),
        ReportColumn("units", "units", "count", lambda row: row.units),
        ReportColumn("counted", "count", "count", lambda row: row.counted),
        ReportColumn("unjudged", "unjudged", "count", lambda row: row.unjudged or None, is_minor=True),
        ReportColumn("tasks", "tasks", "count", lambda row: row.tasks),
        ReportColumn("pass_rate", "passed", "share", lambda row: row.pass_rate),
        ReportColumn("quality", "quality", "share", lambda row: row.quality),
        ReportColumn("usd", "USD", "usd", lambda row: row.usd),
        ReportColumn("wall_s", "minutes", "seconds", lambda row: row.wall_s),
        ReportColumn("total_usd", "total USD", "usd", lambda row: row.total.value, is_minor=True),
        ReportColumn("known_usd", "known USD", "usd", lambda row: row.total.known, is_minor=True),
        ReportColumn("superseded", "run again", "count", lambda row: row.superseded or None, is_minor=True),
        ReportColumn(
            "superseded_usd",
            "rerun USD",
            "usd",
            lambda row: row.superseded_usd if row.superseded else None,
            is_minor=True,
        ),
        ReportColumn("expert_usd", "expert USD", "usd", _total(lambda row: row.expert), is_minor=True),
        ReportColumn("plan_usd", "plans USD", "usd", _total(lambda row: row.plans), is_minor=True),
        ReportColumn("left_out", "without a result", "text", _left_out, is_minor=True),
    ),
    lambda report: report.arms,
)
"""A line for each arm and model."""

ARM_DIFFERENCES: TableDesign[ArmDifference] = TableDesign(
    "arm-differences",
    "Differences of arms, paired by task (shares in percentage points)",
    (
        ReportColumn("arm", "arm", "text", lambda row: row.arm),
        ReportColumn("batch", "batch", "text", lambda row: row.batch, is_minor=True),
        ReportColumn("model", "model", "text", lambda row: row.model),
        ReportColumn("against", "less", "text", lambda row: row.against),
        ReportColumn("tasks", "tasks of both", "count", lambda row: row.pass_rate.tasks),
        ReportColumn("missing_tasks", "of one", "count", lambda row: row.pass_rate.missing, is_minor=True),
        ReportColumn("pass_rate", "passed", "difference", lambda row: row.pass_rate),
        ReportColumn("detectable_pass_rate", "detectable", "difference", lambda row: row.detectable_pass_rate),
        ReportColumn("quality", "quality", "difference", lambda row: row.quality),
        ReportColumn("detectable_quality", "detectable", "difference", lambda row: row.detectable_quality),
        ReportColumn("usd", "USD", "more_usd", lambda row: row.usd),
        ReportColumn("detectable_usd", "detectable", "more_usd", lambda row: row.detectable_usd, is_minor=True),
        ReportColumn("wall_s", "minutes", "more_seconds", lambda row: row.wall_s),
        ReportColumn(
            "detectable_wall_s", "detectable", "more_seconds", lambda row: row.detectable_wall_s, is_minor=True
        ),
    ),
    lambda report: report.arm_differences,
)
"""A line for each arm but the first of each model."""
