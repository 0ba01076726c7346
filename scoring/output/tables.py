"""A report as tables: the same for the terminal, CSV, Parquet, LaTeX and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scoring.output import family_tables as special
from scoring.output.cells import Cell, Table, table
from scoring.report import Report
from trajectories.record.text import quantity


def tables(report: Report) -> list[Table]:
    """All tables of a report that have a row, in the order in which they are read."""
    return [table for table in (make(report) for make in _TABLES.values()) if table.rows]


def table_named(report: Report, name: str) -> Table:
    """One of them, perhaps without a row; `name` is of `NAMES`."""
    return _TABLES[name](report)


def _configurations(report: Report) -> Table:
    return table(
        "configurations",
        "Configurations",
        """
        configuration text configuration
        trials count trials
        tasks count tasks
        missing_tasks count missing
        infrastructure count infra
        pass_rate share passed
        quality share quality
        ams score AMS
        gap points gap
        """,
        [
            (
                one.label,
                one.trials,
                one.tasks,
                one.missing_tasks,
                one.infrastructure,
                one.passed.pass_rate,
                one.passed.quality,
                one.ams,
                -one.gap if one.gap else one.gap,
            )
            for one in report.configurations
        ],
    )


def _costs(report: Report) -> Table:
    return table(
        "costs",
        f"Costs ({report.cost or 'as given'}, US dollars)",
        """
        configuration text configuration
        passes count passes
        cost_usd usd USD per task
        total_usd usd total USD
        known_usd usd known USD
        unknown_cost count unknown
        usd_per_pass usd USD/pass
        tokens_per_pass number tokens/pass
        pareto text Pareto
        """,
        [
            (
                one.label,
                one.passed.passes,
                one.passed.cost,
                one.passed.usd.value,
                one.passed.usd.known,
                one.passed.usd.unknown,
                one.passed.usd_per_pass,
                one.passed.tokens_per_pass,
                "front" if one.pareto else "",
            )
            for one in report.configurations
        ],
    )


def _headlines(report: Report) -> Table:
    return table(
        "headlines",
        f"Headlines over {quantity(report.counts.tasks, 'task')}",
        """
        configuration text configuration
        tasks count tasks
        missing_tasks count missing
        resolved share resolved
        almost share almost
        mean share mean
        """,
        [
            (
                one.label,
                one.headline.mean.tasks,
                one.headline.mean.missing,
                one.headline.resolved,
                one.headline.almost,
                one.headline.mean,
            )
            for one in report.headlines
        ],
    )


def _tiers(report: Report) -> Table:
    return table(
        "tiers",
        f"Tiers (budgets: {report.profile.name})",
        """
        configuration text configuration
        tier text tier
        tasks count tasks
        missing_tasks count missing
        unknown_cost count unknown cost
        success_rate share SR
        cost_aubqc score CostAUBQC
        expensive_failure_rate share EFR
        tier_score score score
        """,
        [
            (
                one.label,
                one.score.tier,
                one.score.tasks,
                one.score.missing,
                one.score.unknown_cost,
                one.score.success_rate,
                one.score.cost_aubqc,
                one.score.expensive_failure_rate,
                one.score.score,
            )
            for one in report.tiers
        ],
    )


def _effort(report: Report) -> Table:
    rows: list[Sequence[Cell]] = []
    for one in report.effort:
        it = one.effort
        spreads = (it.steps, it.commands, it.tokens, it.cost_usd, it.wall_s)
        figures = [figure for spread in spreads for figure in (spread.median, spread.mean)]
        rows.append((one.label, it.tier, "passed" if it.passed else "failed", it.trials, *figures))
    return table(
        "effort",
        "Effort of passed and failed trials (median, mean)",
        """
        configuration text configuration
        tier text tier
        outcome text outcome
        trials count trials
        steps_median number steps
        steps_mean number mean
        commands_median number commands
        commands_mean number mean
        tokens_median number tokens
        tokens_mean number mean
        cost_usd_median usd USD
        cost_usd_mean usd mean
        wall_s_median seconds minutes
        wall_s_mean seconds mean
        """,
        rows,
    )


def _passes(report: Report) -> Table:
    return table(
        "passes",
        "Several attempts",
        """
        configuration text configuration
        k count k
        pass_at_k share pass@k
        pass_hat_k share pass^k
        tasks count tasks
        missing_tasks count too few attempts
        """,
        [
            (one.label, it.k, it.pass_at_k, it.pass_hat_k, it.tasks, it.missing)
            for one in report.passes
            for it in (one.passes,)
        ],
    )


def _comparisons(report: Report) -> Table:
    return table(
        "comparisons",
        "Differences, paired by task (shares in percentage points)",
        """
        configuration text configuration
        against text less
        tasks count tasks of both
        missing_tasks count of one
        pass_rate difference passed
        quality difference quality
        ams points AMS
        """,
        [
            (one.label, one.against_label, one.quality.tasks, one.quality.missing, one.pass_rate, one.quality, one.ams)
            for one in report.comparisons
        ],
    )


def _rankings(report: Report) -> Table:
    return table(
        "rankings",
        "Agreement of rankings",
        """
        first text ranking by
        second text and by
        configurations count configurations
        spearman points Spearman
        kendall_tau_b points Kendall tau-b
        score_mae score score MAE
        rank_mae score rank MAE
        """,
        [
            (
                one.first,
                one.second,
                one.agreement.configurations,
                one.agreement.spearman,
                one.agreement.kendall_tau_b,
                one.agreement.score_mae,
                one.agreement.rank_mae,
            )
            for one in report.rankings
        ],
    )


_TABLES: dict[str, Callable[[Report], Table]] = {
    "configurations": _configurations,
    "costs": _costs,
    "headlines": _headlines,
    "tiers": _tiers,
    "passes": _passes,
    "comparisons": _comparisons,
    "rankings": _rankings,
    "longcli": special.longcli_attempts,
    "turns": special.turns,
    "modes": special.modes,
    "suites": special.suites,
    "effort": _effort,
}
NAMES = tuple(_TABLES)
