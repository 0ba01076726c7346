"""The tables of a report: the same for the terminal, CSV, Parquet, LaTeX and Markdown."""

from __future__ import annotations

from collections.abc import Callable

from scoring.output import family_tables
from scoring.output.cells import Field, ReportTable, tabulate
from scoring.report import (
    Comparison,
    Configuration,
    EffortRow,
    HeadlineRow,
    PassesRow,
    RankingRow,
    Report,
    TierRow,
)
from trajectories.record.text import quantity


def tables(report: Report) -> list[ReportTable]:
    """Return all tables of a report that have a row, in reading order."""
    return [table for table in (make(report) for make in _TABLES.values()) if table.rows]


def table_named(report: Report, name: str) -> ReportTable:
    """Return the table of this name (one of `NAMES`), even if it has no row."""
    return _TABLES[name](report)


_CONFIGURATIONS: tuple[Field[Configuration], ...] = (
    Field("configuration", "configuration", "text", lambda row: row.label),
    Field("trials", "trials", "count", lambda row: row.trials),
    Field("tasks", "tasks", "count", lambda row: row.tasks),
    Field("missing_tasks", "missing", "count", lambda row: row.missing_tasks),
    Field("infrastructure", "infra", "count", lambda row: row.infrastructure),
    Field("pass_rate", "passed", "share", lambda row: row.passed.pass_rate),
    Field("quality", "quality", "share", lambda row: row.passed.quality),
    Field("ams", "AMS", "score", lambda row: row.ams),
    Field("gap", "gap", "points", lambda row: -row.gap if row.gap else row.gap),
)


def _configurations(report: Report) -> ReportTable:
    return tabulate("configurations", "Configurations", _CONFIGURATIONS, report.configurations)


_COSTS: tuple[Field[Configuration], ...] = (
    Field("configuration", "configuration", "text", lambda row: row.label),
    Field("passes", "passes", "count", lambda row: row.passed.passes),
    Field("cost_usd", "USD per task", "usd", lambda row: row.passed.cost),
    Field("total_usd", "total USD", "usd", lambda row: row.passed.usd.value),
    Field("known_usd", "known USD", "usd", lambda row: row.passed.usd.known),
    Field("unknown_cost", "unknown", "count", lambda row: row.passed.usd.unknown),
    Field("usd_per_pass", "USD/pass", "usd", lambda row: row.passed.usd_per_pass),
    Field("tokens_per_pass", "tokens/pass", "number", lambda row: row.passed.tokens_per_pass),
    Field("pareto", "Pareto", "text", lambda row: "front" if row.pareto else ""),
)


def _costs(report: Report) -> ReportTable:
    title = f"Costs ({report.cost or 'as given'}, US dollars)"
    return tabulate("costs", title, _COSTS, report.configurations)


_HEADLINES: tuple[Field[HeadlineRow], ...] = (
    Field("configuration", "configuration", "text", lambda row: row.label),
    Field("tasks", "tasks", "count", lambda row: row.headline.mean.tasks),
    Field("missing_tasks", "missing", "count", lambda row: row.headline.mean.missing),
    Field("resolved", "resolved", "share", lambda row: row.headline.resolved),
    Field("almost", "almost", "share", lambda row: row.headline.almost),
    Field("mean", "mean", "share", lambda row: row.headline.mean),
)


def _headlines(report: Report) -> ReportTable:
    title = f"Headlines over {quantity(report.counts.tasks, 'task')}"
    return tabulate("headlines", title, _HEADLINES, report.headlines)


_TIERS: tuple[Field[TierRow], ...] = (
    Field("configuration", "configuration", "text", lambda row: row.label),
    Field("tier", "tier", "text", lambda row: row.score.tier),
    Field("tasks", "tasks", "count", lambda row: row.score.tasks),
    Field("missing_tasks", "missing", "count", lambda row: row.score.missing),
    Field("unknown_cost", "unknown cost", "count", lambda row: row.score.unknown_cost),
    Field("success_rate", "SR", "share", lambda row: row.score.success_rate),
    Field("cost_aubqc", "CostAUBQC", "score", lambda row: row.score.cost_aubqc),
    Field("expensive_failure_rate", "EFR", "share", lambda row: row.score.expensive_failure_rate),
    Field("tier_score", "score", "score", lambda row: row.score.score),
)


def _tiers(report: Report) -> ReportTable:
    return tabulate("tiers", f"Tiers (budgets: {report.profile.name})", _TIERS, report.tiers)


_EFFORT: tuple[Field[EffortRow], ...] = (
    Field("configuration", "configuration", "text", lambda row: row.label),
    Field("tier", "tier", "text", lambda row: row.effort.tier),
    Field("outcome", "outcome", "text", lambda row: "passed" if row.effort.passed else "failed"),
    Field("trials", "trials", "count", lambda row: row.effort.trials),
    Field("steps_median", "steps", "number", lambda row: row.effort.steps.median),
    Field("steps_mean", "mean", "number", lambda row: row.effort.steps.mean),
    Field("commands_median", "commands", "number", lambda row: row.effort.commands.median),
    Field("commands_mean", "mean", "number", lambda row: row.effort.commands.mean),
    Field("tokens_median", "tokens", "number", lambda row: row.effort.tokens.median),
    Field("tokens_mean", "mean", "number", lambda row: row.effort.tokens.mean),
    Field("cost_usd_median", "USD", "usd", lambda row: row.effort.cost_usd.median),
    Field("cost_usd_mean", "mean", "usd", lambda row: row.effort.cost_usd.mean),
    Field("wall_s_median", "minutes", "seconds", lambda row: row.effort.wall_s.median),
    Field("wall_s_mean", "mean", "seconds", lambda row: row.effort.wall_s.mean),
)


def _effort(report: Report) -> ReportTable:
    return tabulate("effort", "Effort of passed and failed trials (median, mean)", _EFFORT, report.effort)


_PASSES: tuple[Field[PassesRow], ...] = (
    Field("configuration", "configuration", "text", lambda row: row.label),
    Field("k", "k", "count", lambda row: row.passes.k),
    Field("pass_at_k", "pass@k", "share", lambda row: row.passes.pass_at_k),
    Field("pass_hat_k", "pass^k", "share", lambda row: row.passes.pass_hat_k),
    Field("tasks", "tasks", "count", lambda row: row.passes.tasks),
    Field("missing_tasks", "too few attempts", "count", lambda row: row.passes.missing),
)


def _passes(report: Report) -> ReportTable:
    return tabulate("passes", "Several attempts", _PASSES, report.passes)


_COMPARISONS: tuple[Field[Comparison], ...] = (
    Field("configuration", "configuration", "text", lambda row: row.label),
    Field("against", "less", "text", lambda row: row.against_label),
    Field("tasks", "tasks of both", "count", lambda row: row.quality.tasks),
    Field("missing_tasks", "of one", "count", lambda row: row.quality.missing),
    Field("pass_rate", "passed", "difference", lambda row: row.pass_rate),
    Field("quality", "quality", "difference", lambda row: row.quality),
    Field("ams", "AMS", "points", lambda row: row.ams),
)


def _comparisons(report: Report) -> ReportTable:
    title = "Differences, paired by task (shares in percentage points)"
    return tabulate("comparisons", title, _COMPARISONS, report.comparisons)


_RANKINGS: tuple[Field[RankingRow], ...] = (
    Field("first", "ranking by", "text", lambda row: row.first),
    Field("second", "and by", "text", lambda row: row.second),
    Field("configurations", "configurations", "count", lambda row: row.agreement.configurations),
    Field("spearman", "Spearman", "points", lambda row: row.agreement.spearman),
    Field("kendall_tau_b", "Kendall tau-b", "points", lambda row: row.agreement.kendall_tau_b),
    Field("score_mae", "score MAE", "score", lambda row: row.agreement.score_mae),
    Field("rank_mae", "rank MAE", "score", lambda row: row.agreement.rank_mae),
)


def _rankings(report: Report) -> ReportTable:
    return tabulate("rankings", "Agreement of rankings", _RANKINGS, report.rankings)


_TABLES: dict[str, Callable[[Report], ReportTable]] = {
    "configurations": _configurations,
    "costs": _costs,
    "headlines": _headlines,
    "tiers": _tiers,
    "passes": _passes,
    "comparisons": _comparisons,
    "rankings": _rankings,
    "longcli": family_tables.longcli_attempts,
    "turns": family_tables.longcli_turns,
    "modes": family_tables.longcli_modes,
    "suites": family_tables.clitool_suites,
    "effort": _effort,
}
NAMES = tuple(_TABLES)
