"""Pictures that need single trials: curves over budgets, step scores, scores by the number of steps."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from scoring.agentmeter.curves import quality_within_budgets
from scoring.agentmeter.tiers import TIERS
from scoring.families import longcli
from scoring.output.drawing import NO_AMS, Drawing, legend, plain_dollars
from scoring.selecting.selection import passed_and_quality
from scoring.statistics.intervals import wilson
from trajectories.record.texts.text import quantity

_STEPS = (10, 25, 50, 100, 200, 400)
"""Upper limits of the groups of trials by number of steps."""
_FEWEST = 3
"""Space for so many bars, or groups of bars, is left even if there are fewer."""
_LEAST_USD = 1e-4
"""Lowest start of a logarithmic axis of budgets, in US dollars."""


def budget_curves(figure: Any, drawing: Drawing) -> str:
    """Draw mean quality within a budget, one panel per tier: dots on the grid, a dashed line at the threshold tau."""
    curves = {(row.setup, row.score.tier): row.score.curve for row in drawing.report.tiers}
    if not curves:
        return NO_AMS
    figure.set_size_inches(9.5, 4)
    panels = figure.subplots(1, 3, sharey=True)
    tiers = drawing.report.task_tiers
    highest = 0.0
    for axes, tier in zip(panels, TIERS, strict=True):
        tasks = [task for task, task_tier in tiers.items() if task_tier == tier]
        budgets = drawing.report.profile.tiers[tier]
        least = max(_LEAST_USD, budgets.grid_usd[0] / 3)
        most = max(budgets.grid_usd[-1], budgets.expensive_failure_usd) * 2
        for configuration in drawing.configurations:
            setup = configuration.setup
            grid = curves.get((setup, tier))
            if grid is None:
                continue
            steps = quality_within_budgets(drawing.outcomes[setup], tasks)
            before = max((quality for cost, quality in steps if cost <= least), default=0.0)
            inside = [(cost, quality) for cost, quality in steps if least < cost <= most]
            xs = [least, *(cost for cost, _ in inside), most]
            ys = [100 * quality for quality in (before, *(quality for _, quality in inside))]
            ys.append(ys[-1])
            highest = max(highest, ys[-1])
            color, name = drawing.color(setup), drawing.name(setup)
            axes.step(xs, ys, where="post", color=color, linestyle=drawing.dashes(setup), label=name, linewidth=1.4)
            axes.plot(
                [point.budget_usd for point in grid],
                [100 * point.quality for point in grid],
                "o",
                color=color,
                markersize=3,
            )
        tau = budgets.expensive_failure_usd
        axes.axvline(tau, color="0.5", linewidth=1, linestyle="--", zorder=0)
        axes.annotate(
            "τ",
            (tau, 1),
            (2, -2),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            va="top",
            color="0.4",
        )
        axes.set_xscale("log")
        axes.set_xlim(least, most)
        plain_dollars(axes)
        axes.tick_params(axis="x", labelrotation=45, labelsize=7)
        axes.set(title=f"{tier} ({quantity(len(tasks), 'task')})", xlabel="budget of a task, US dollars")
    panels[1].set_xlabel("budget of a task, US dollars\n(dots: the profile's grid; dashed: its threshold τ)")
    panels[0].set(ylabel="mean quality within the budget, %", ylim=(0, max(10.0, highest * 1.08)))
    legend(figure, drawing)
    return ""


def step_scores(figure: Any, drawing: Drawing) -> str:
    """Draw trials by their step score, as in LongCLI-Bench's Table 2; trials of other benchmarks by their quality."""
    by_f2p = {row.setup: row.f2p_steps for row in drawing.report.longcli}
    shades = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")
    shown = [line for line in drawing.configurations if any(row.judged for row in drawing.members[line.setup])][::-1]
    if not shown:
        return "no trial has a verdict"
    axes = figure.subplots()
    names = []
    for at, line in enumerate(shown):
        counts = by_f2p.get(line.setup) or longcli.step_buckets(
            passed_and_quality(row)[1] for row in drawing.members[line.setup] if row.judged or row.infrastructure
        )
        total, left = sum(counts.values()) or 1, 0.0
        names.append(f"{drawing.name(line.setup)}  n={sum(counts.values())}")
        for name, shade in zip(longcli.BUCKET_NAMES, shades, strict=True):
            width = 100 * counts[name] / total
            axes.barh(at, width, 0.75, left=left, color=shade, label=name)
            if width >= 4:
                dark = shade in shades[:3]
                axes.text(
                    left + width / 2,
                    at,
                    counts[name],
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if dark else "black",
                )
            left += width
    axes.set_yticks(range(len(shown)), names)
    axes.set_ylim(min(0, len(shown) - _FEWEST) - 0.6, len(shown) - 0.4)
    kind = "F2P step score" if by_f2p else "quality"
    axes.set(xlabel="share of trials, % (numbers: trials)", xlim=(0, 100), title=f"Trials by {kind}")
    axes.grid(False)
    legend(figure, drawing)
    return ""


def score_by_steps(figure: Any, drawing: Drawing) -> str:
    """Draw quality and passes by the number of steps of the trials, over all configurations."""
    rows = [
        row
        for configuration in drawing.configurations
        for row in drawing.members[configuration.setup]
        if row.judged and not row.infrastructure
    ]
    if not rows:
        return "no trial has a verdict"
    axes = figure.subplots()
    most = max(row.steps for row in rows)
    limits = [*_STEPS, float("inf")]
    limits = limits[: 1 + next(at for at, limit in enumerate(limits) if most <= limit)]
    ticks = []
    for at, limit in enumerate(limits):
        least = limits[at - 1] if at else 0
        group = [passed_and_quality(row) for row in rows if least < row.steps <= limit or (not at and row.steps == 0)]
        words = f"> {least:g}" if limit == float("inf") else f"{least + (at > 0):g} to {limit:g}"
        ticks.append(f"{words}\nn={len(group)}")
        if group:
            passes = sum(passed for passed, _ in group)
            share = 100 * passes / len(group)
            low, high = (100 * bound for bound in wilson(passes, len(group), drawing.report.level))
            axes.bar(
                at - 0.19, 100 * fmean(quality for _, quality in group), 0.36, color="#56B4E9", label="mean quality"
            )
            axes.bar(at + 0.19, share, 0.36, color="#0072B2", label="passed")
            axes.errorbar(
                at + 0.19, share, [[max(0, share - low)], [max(0, high - share)]], color="black", capsize=2, linewidth=1
            )
    axes.set_xticks(range(len(limits)), ticks)
    axes.set_xlim(-0.6, max(len(limits), _FEWEST) - 0.4)
    axes.tick_params(axis="x", length=0)
    axes.grid(False, axis="x")
    axes.set(
        xlabel="steps of a trial (n: trials)",
        ylabel="mean quality and pass rate, %",
        ylim=(0, 103),
        title="Score by the number of steps",
    )
    legend(figure, drawing)
    return ""
