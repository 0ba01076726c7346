"""Pictures of a report's figures: quality against cost, scores by tier, spread of the configurations of a model."""

from __future__ import annotations

from typing import Any

from scoring.agentmeter.tiers import TIERS
from scoring.output.drawing import Drawing, arms, legend_or_note, plain_dollars, short
from scoring.report import Configuration

_CROWDED = 8
"""Intervals are drawn faintly for more configurations than these."""


def quality_cost(figure: Any, drawing: Drawing) -> None:
    """Draw mean quality against mean cost, with intervals; a line joins the Pareto front."""
    axes = figure.subplots()
    shown = [configuration for configuration in drawing.configurations if _point(configuration) is not None]
    for configuration in shown:
        cost, quality = configuration.passed.cost, configuration.passed.quality
        if cost.value is None or quality.value is None:
            continue
        drawn = axes.errorbar(
            cost.value,
            100 * quality.value,
            xerr=arms(cost, 1),
            yerr=arms(quality, 100),
            linewidth=1,
            capsize=0 if len(shown) > _CROWDED else 2,
            **drawing.marks(configuration.setup),
        )
        for bar in drawn.lines[2]:
            bar.set_alpha(0.35 if len(shown) > _CROWDED else 0.8)
    front = sorted(point for line in shown if line.pareto and (point := _point(line)) is not None)
    if len(front) > 1:
        axes.plot(*zip(*front, strict=True), color="black", linewidth=1, linestyle="--", zorder=0, label="Pareto front")
    positive = [point[0] for line in shown if (point := _point(line)) is not None and point[0] > 0]
    if len(positive) == len(shown) and positive and max(positive) > 10 * min(positive):
        axes.set_xscale("log")
        plain_dollars(axes)
    else:
        axes.set_xlim(left=-0.02 * axes.get_xlim()[1])  # so that the axis does not cut a point of cost 0
    axes.set(
        xlabel=f"mean cost of a task, US dollars ({drawing.report.cost or 'as given'})",
        ylabel="mean quality, %",
        ylim=(0, 103),
        title="Quality against cost",
    )
    unjudged = sum(line.passed.quality.value is None for line in drawing.configurations)
    unknown = len(drawing.configurations) - len(shown) - unjudged
    reason = "no configuration has a known cost for all of its trials" if unknown else "no trial has a verdict"
    legend_or_note(figure, drawing, len(shown), reason)
    left_out = [f"of unknown cost: {unknown}"] * bool(unknown) + [f"without a verdict: {unjudged}"] * bool(unjudged)
    if shown and left_out:
        axes.set_title(f"Quality against cost (not shown, {', '.join(left_out)})")


def _point(configuration: Configuration) -> tuple[float, float] | None:
    passed = configuration.passed
    if passed.cost.value is None or passed.quality.value is None or passed.usd.unknown:
        return None
    return passed.cost.value, 100 * passed.quality.value


def tier_bars(figure: Any, drawing: Drawing) -> None:
    """Draw the score of each tier, and AMS with its interval, as one bar per configuration."""
    axes = figure.subplots()
    shown = [line for line in drawing.configurations if line.ams is not None and line.ams.value is not None]
    width = 0.8 / max(1, len(shown))
    scores = {(row.setup, row.score.tier): row.score.score for row in drawing.report.tiers}
    for number, line in enumerate(shown):
        if line.ams is None:
            continue
        places = [group + (number - (len(shown) - 1) / 2) * width for group in range(4)]
        heights = [line.ams.value or 0.0, *(scores.get((line.setup, tier), 0.0) for tier in TIERS)]
        color, hatch = drawing.color(line.setup), drawing.hatch(line.setup)
        axes.bar(
            places, heights, width * 0.92, color=color, hatch=hatch, edgecolor="white", label=drawing.name(line.setup)
        )
        axes.errorbar(places[0], heights[0], yerr=arms(line.ams, 1), color="black", linewidth=1, capsize=2)
    axes.set_xticks(range(4), ["AMS", *TIERS])
    axes.set(
        ylabel="score, 0 to 1", ylim=(0, None), title=f"AMS and its tiers (budgets: {drawing.report.profile.name})"
    )
    axes.tick_params(axis="x", length=0)
    axes.grid(False, axis="x")
    legend_or_note(figure, drawing, len(shown), "no AMS: not every task has a tier")


def same_model_spread(figure: Any, drawing: Drawing) -> None:
    """Draw the scores of the configurations of each model: one line per model, from its worst to its best."""
    axes = figure.subplots()
    by_ams = any(line.ams is not None and line.ams.value is not None for line in drawing.configurations)
    by_model: dict[str, list[tuple[float, str]]] = {}
    for line in drawing.configurations:
        value = (line.ams.value if line.ams is not None else None) if by_ams else line.passed.quality.value
        if value is not None:
            by_model.setdefault(line.model, []).append((value if by_ams else 100 * value, line.setup))
    models = sorted(by_model, key=lambda model: max(by_model[model]))
    for at, model in enumerate(models):
        values = [value for value, _ in by_model[model]]
        axes.plot([min(values), max(values)], [at, at], color="0.7", linewidth=3, zorder=1, solid_capstyle="round")
        for value, setup in by_model[model]:
            axes.errorbar(value, at, **drawing.marks(setup))
        if len(values) > 1:
            gap = f"{max(values) - min(values):.3f}" if by_ams else f"{max(values) - min(values):.1f}"
            axes.annotate(gap, (max(values), at), (8, 0), textcoords="offset points", va="center", color="0.3")
    axes.set_yticks(range(len(models)), [short(model.rpartition("/")[2] or model) for model in models])
    axes.set_ylim(-0.7, max(0.7, len(models) - 0.3))
    axes.grid(False, axis="y")
    axes.margins(x=0.12)
    axes.set(xlabel="AMS" if by_ams else "mean quality, %", title="Configurations of the same model, and their spread")
    legend_or_note(figure, drawing, len(models), "no configuration has a score")
