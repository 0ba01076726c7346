"""The tables of a report: the same for the terminal, CSV, Parquet, LaTeX and Markdown."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from scoring.output import family_tables
from scoring.output.arm_tables import ARM_DIFFERENCES, ARMS
from scoring.output.cells import CONFIGURATION, Cell, ReportColumn, ReportTable, TableDesign
from scoring.output.mode_tables import MODES
from scoring.report import (
    Comparison,
    Configuration,
    EffortRow,
    HeadlineRow,
    PanelRow,
    PassesRow,
    RankingRow,
    Report,
    TierRow,
    ViolationsRow,
)
from trajectories.record.panel import KINDS, Kind
from trajectories.record.texts.text import quantity


def tables(report: Report) -> list[ReportTable]:
    """Return all tables of a report that have a row, in reading order."""
    return [table for table in (of(report) for of in _TABLES.values()) if table.rows]


def table_named(report: Report, name: str) -> ReportTable:
    """Return the table of this name (one of `NAMES`), even if it has no row."""
    return _TABLES[name](report)


def _share_of_kind(kind: Kind, row: ViolationsRow) -> Cell:
    return row.by_kind[kind].value


def _judges_of_kind(kind: Kind, row: PanelRow) -> Cell:
    return row.by_kind[kind]


def _word(answer: bool | None) -> str | None:
    return {True: "yes", False: "no", None: None}[answer]


_CONFIGURATIONS: TableDesign[Configuration] = TableDesign(
    "configurations",
    "Configurations",
    (
        CONFIGURATION,
        ReportColumn("trials", "trials", "count", lambda row: row.trials),
        ReportColumn("tasks", "tasks", "count", lambda row: row.tasks),
        ReportColumn("missing_tasks", "missing", "count", lambda row: row.missing_tasks, is_minor=True),
        ReportColumn("infrastructure", "infra", "count", lambda row: row.infrastructure, is_minor=True),
        ReportColumn("flagged", "flagged", "count", lambda row: row.flagged, is_minor=True),
        ReportColumn("pass_rate", "passed", "share", lambda row: row.passed.pass_rate),
        ReportColumn("quality", "quality", "share", lambda row: row.passed.quality),
        ReportColumn("ams", "AMS", "score", lambda row: row.ams),
        ReportColumn("gap", "gap", "points", lambda row: -row.gap if row.gap else row.gap, is_minor=True),
    ),
    lambda report: report.configurations,
)


_COSTS: TableDesign[Configuration] = TableDesign(
    "costs",
    lambda report: f"Costs ({report.cost or 'as given'}, US dollars)",
    (
        CONFIGURATION,
        ReportColumn("passes", "passes", "count", lambda row: row.passed.passes),
        ReportColumn("cost_usd", "USD per task", "usd", lambda row: row.passed.cost),
        ReportColumn("total_usd", "total USD", "usd", lambda row: row.passed.usd.value),
        ReportColumn("known_usd", "known USD", "usd", lambda row: row.passed.usd.known, is_minor=True),
        ReportColumn("unknown_cost", "unknown", "count", lambda row: row.passed.usd.unknown, is_minor=True),
        ReportColumn("plan_usd", "plans USD", "usd", lambda row: row.plans.value if row.plans else None, is_minor=True),
        ReportColumn(
            "expert_usd", "expert USD", "usd", lambda row: row.expert.value if row.expert else None, is_minor=True
        ),
        ReportColumn("usd_per_pass", "USD/pass", "usd", lambda row: row.passed.usd_per_pass),
        ReportColumn("tokens_per_pass", "tokens/pass", "number", lambda row: row.passed.tokens_per_pass),
        ReportColumn("pareto", "Pareto", "text", lambda row: "front" if row.pareto else ""),
    ),
    lambda report: report.configurations,
)


_HEADLINES: TableDesign[HeadlineRow] = TableDesign(
    "headlines",
    lambda report: f"Headlines over {quantity(report.counts.tasks, 'task')}",
    (
        CONFIGURATION,
        ReportColumn("tasks", "tasks", "count", lambda row: row.headline.mean.tasks),
        ReportColumn("missing_tasks", "missing", "count", lambda row: row.headline.mean.missing, is_minor=True),
        ReportColumn("resolved", "resolved", "share", lambda row: row.headline.resolved),
        ReportColumn("almost", "almost", "share", lambda row: row.headline.almost),
        ReportColumn("mean", "mean", "share", lambda row: row.headline.mean),
    ),
    lambda report: report.headlines,
)


_VIOLATIONS: TableDesign[ViolationsRow] = TableDesign(
    "violations",
    "Violations of the benchmark's rules (ProgramBench, Table 3)",
    (
        CONFIGURATION,
        ReportColumn("trials", "trials", "count", lambda row: row.trials),
        ReportColumn("examined", "examined", "count", lambda row: row.examined),
        ReportColumn("flagged", "flagged", "share", lambda row: row.flagged),
        *(ReportColumn(kind, kind.replace("_", " "), "share", partial(_share_of_kind, kind)) for kind in KINDS),
        ReportColumn("tampered", "tampered", "count", lambda row: row.tampered),
        ReportColumn("panels", "panels", "count", lambda row: row.panels),
        ReportColumn("disagreement", "disagree", "share", lambda row: row.disagreement),
        ReportColumn("resolved", "resolved", "share", lambda row: row.resolved),
        ReportColumn("resolved_unflagged", "not flagged", "share", lambda row: row.resolved_unflagged),
    ),
    lambda report: report.violations,
)


_PANELS: TableDesign[PanelRow] = TableDesign(
    "panels",
    "Judges who see a violation, by trial",
    (
        CONFIGURATION,
        ReportColumn("task", "task", "text", lambda row: row.task),
        ReportColumn("trial", "trial", "text", lambda row: row.trial),
        ReportColumn("judges", "judges", "count", lambda row: row.judges),
        ReportColumn("valid", "valid", "count", lambda row: row.valid),
        ReportColumn("violated", "any violation", "count", lambda row: row.violated),
        *(ReportColumn(kind, kind.replace("_", " "), "count", partial(_judges_of_kind, kind)) for kind in KINDS),
        ReportColumn("unanimous", "unanimous", "text", lambda row: _word(row.unanimous)),
        ReportColumn("panel", "panel", "text", lambda row: _word(row.panel_flagged)),
        ReportColumn("rules", "rules", "text", lambda row: _word(row.rules_flagged)),
        ReportColumn("tampered", "tampered", "text", lambda row: _word(row.tampered)),
        ReportColumn("flagged", "flagged", "text", lambda row: _word(row.flagged)),
    ),
    lambda report: report.panels,
)


_TIERS: TableDesign[TierRow] = TableDesign(
    "tiers",
    lambda report: f"Tiers (budgets: {report.profile.name})",
    (
        CONFIGURATION,
        ReportColumn("tier", "tier", "text", lambda row: row.score.tier),
        ReportColumn("tasks", "tasks", "count", lambda row: row.score.tasks),
        ReportColumn("missing_tasks", "missing", "count", lambda row: row.score.missing, is_minor=True),
        ReportColumn("unknown_cost", "unknown cost", "count", lambda row: row.score.unknown_cost, is_minor=True),
        ReportColumn("success_rate", "SR", "share", lambda row: row.score.success_rate),
        ReportColumn("cost_aubqc", "CostAUBQC", "score", lambda row: row.score.cost_aubqc),
        ReportColumn("expensive_failure_rate", "EFR", "share", lambda row: row.score.expensive_failure_rate),
        ReportColumn("tier_score", "score", "score", lambda row: row.score.score),
    ),
    lambda report: report.tiers,
)


_EFFORT: TableDesign[EffortRow] = TableDesign(
    "effort",
    "Effort of passed and failed trials (median, mean)",
    (
        CONFIGURATION,
        ReportColumn("tier", "tier", "text", lambda row: row.effort.tier),
        ReportColumn("outcome", "outcome", "text", lambda row: "passed" if row.effort.passed else "failed"),
        ReportColumn("trials", "trials", "count", lambda row: row.effort.trials),
        ReportColumn("steps_median", "steps", "number", lambda row: row.effort.steps.median),
        ReportColumn("steps_mean", "mean", "number", lambda row: row.effort.steps.mean),
        ReportColumn("commands_median", "commands", "number", lambda row: row.effort.commands.median),
        ReportColumn("commands_mean", "mean", "number", lambda row: row.effort.commands.mean),
        ReportColumn("tokens_median", "tokens", "number", lambda row: row.effort.tokens.median),
        ReportColumn("tokens_mean", "mean", "number", lambda row: row.effort.tokens.mean),
        ReportColumn("cost_usd_median", "USD", "usd", lambda row: row.effort.cost_usd.median),
        ReportColumn("cost_usd_mean", "mean", "usd", lambda row: row.effort.cost_usd.mean),
        ReportColumn("wall_s_median", "minutes", "seconds", lambda row: row.effort.wall_s.median),
        ReportColumn("wall_s_mean", "mean", "seconds", lambda row: row.effort.wall_s.mean),
    ),
    lambda report: report.effort,
)


_PASSES: TableDesign[PassesRow] = TableDesign(
    "passes",
    "Several attempts",
    (
        CONFIGURATION,
        ReportColumn("k", "k", "count", lambda row: row.passes.k),
        ReportColumn("pass_at_k", "pass@k", "share", lambda row: row.passes.pass_at_k),
        ReportColumn("pass_hat_k", "pass^k", "share", lambda row: row.passes.pass_hat_k),
        ReportColumn("tasks", "tasks", "count", lambda row: row.passes.tasks),
        ReportColumn("missing_tasks", "too few attempts", "count", lambda row: row.passes.missing, is_minor=True),
    ),
    lambda report: report.passes,
)


_COMPARISONS: TableDesign[Comparison] = TableDesign(
    "comparisons",
    "Differences, paired by task (shares in percentage points)",
    (
        CONFIGURATION,
        ReportColumn("against", "less", "text", lambda row: row.against_label),
        ReportColumn("tasks", "tasks of both", "count", lambda row: row.quality.tasks),
        ReportColumn("missing_tasks", "of one", "count", lambda row: row.quality.missing, is_minor=True),
        ReportColumn("pass_rate", "passed", "difference", lambda row: row.pass_rate),
        ReportColumn("quality", "quality", "difference", lambda row: row.quality),
        ReportColumn("ams", "AMS", "points", lambda row: row.ams),
    ),
    lambda report: report.comparisons,
)


_RANKINGS: TableDesign[RankingRow] = TableDesign(
    "rankings",
    "Agreement of rankings",
    (
        ReportColumn("first", "ranking by", "text", lambda row: row.first),
        ReportColumn("second", "and by", "text", lambda row: row.second),
        ReportColumn("configurations", "configurations", "count", lambda row: row.agreement.configurations),
        ReportColumn("spearman", "Spearman", "points", lambda row: row.agreement.spearman),
        ReportColumn("kendall_tau_b", "Kendall tau-b", "points", lambda row: row.agreement.kendall_tau_b),
        ReportColumn("score_mae", "score MAE", "score", lambda row: row.agreement.score_mae),
        ReportColumn("rank_mae", "rank MAE", "score", lambda row: row.agreement.rank_mae),
    ),
    lambda report: report.rankings,
)


_DESIGNS = (
    ARMS,
    ARM_DIFFERENCES,
    _CONFIGURATIONS,
    _COSTS,
    _HEADLINES,
    _VIOLATIONS,
    _PANELS,
    _TIERS,
    _PASSES,
    _COMPARISONS,
    _RANKINGS,
    family_tables.ATTEMPTS,
    family_tables.TURNS,
    MODES,
    family_tables.SUITES,
    _EFFORT,
)
_TABLES: dict[str, Callable[[Report], ReportTable]] = {design.name: design.of for design in _DESIGNS}
NAMES = tuple(_TABLES)
