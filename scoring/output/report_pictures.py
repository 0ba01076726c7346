"""Pictures of a report's figures: quality against cost, scores by tier, spread of the configurations of a model."""

from __future__ import annotations

from collections import Counter
from typing import Any

from scoring.agentmeter.tiers import TIERS
from scoring.output.drawing import NO_AMS, Drawing, arms, legend, plain_dollars
from scoring.report import Configuration
from scoring.selecting.naming import model_names
from trajectories.pictures import distinct

_CROWDED = 8
"""Intervals are drawn faintly for more configurations than these."""
_WIDEST_BAR = 0.25
"""Largest width of a bar, as a part of the distance of two groups."""


def quality_cost(figure: Any, drawing: Drawing) -> str:
    """Draw mean quality against mean cost, with intervals; a staircase is the best quality for a cost: Pareto's front.

    The axis of costs is logarithmic if they span more than a factor of ten.
    """
    points = {line.setup: point for line in drawing.configurations if (point := _point(line)) is not None}
    shown = [line for line in drawing.configurations if line.setup in points]
    unjudged = sum(line.passed.quality.value is None for line in drawing.configurations)
    unknown = len(drawing.configurations) - len(shown) - unjudged
    if not shown:
        return "no configuration has a known cost for all of its trials" if unknown else "no trial has a verdict"
    axes = figure.subplots()
    at_place: Counter[tuple[str, str]] = Counter()
    for line in shown:
        cost, quality = points[line.setup]
        place = f"{cost:.2g}", f"{quality:.1f}"
        drawn = axes.errorbar(
            cost,
            quality,
            xerr=arms(line.passed.cost, 1),
            yerr=arms(line.passed.quality, 100),
            linewidth=1,
            capsize=0 if len(shown) > _CROWDED else 2,
            **drawing.marks(line.setup),
        )
        if at_place[place]:  # a ring around the points that are there already
            ring = {**drawing.marks(line.setup), "label": None, "markeredgecolor": drawing.color(line.setup)}
            axes.plot(cost, quality, **{**ring, "markersize": 6 + 5 * at_place[place], "fillstyle": "none"})
        at_place[place] += 1
        for bar in drawn.lines[2]:
            bar.set_alpha(0.35 if len(shown) > _CROWDED else 0.8)
    _scale_costs(axes, [cost for cost, _ in points.values()])
    front = sorted(points[line.setup] for line in shown if line.pareto)
    if len(shown) > 1:
        left, right = axes.get_xlim()
        costs, qualities = zip(*front, (right, front[-1][1]), strict=True)
        axes.step(
            costs, qualities, where="post", color="black", linewidth=1, linestyle="--", zorder=1, label="Pareto front"
        )
        axes.set_xlim(left, right)
    left_out = [f"of unknown cost: {unknown}"] * bool(unknown) + [f"without a verdict: {unjudged}"] * bool(unjudged)
    note = f" (not shown, {', '.join(left_out)})" if left_out else ""
    axes.set(
        xlabel=f"mean cost of a task, US dollars ({drawing.report.cost or 'as given'})",
        ylabel="mean quality, %",
        ylim=(-2, 103),
        title=f"Quality against cost{note}",
    )
    legend(figure, drawing)
    return ""


def _scale_costs(axes: Any, costs: list[float]) -> None:
    """Make the axis logarithmic if the costs span much, also with costs of 0; a point of cost 0 is inside the axes."""
    positive = [cost for cost in costs if cost > 0]
    if positive and max(positive) > 10 * min(positive):
        if len(positive) == len(costs):
            axes.set_xscale("log")
        else:
            axes.set_xscale("symlog", linthresh=min(positive))
            axes.set_xlim(left=-0.2 * min(positive))
        plain_dollars(axes, linear_below=0.0 if len(positive) == len(costs) else min(positive))
    else:
        axes.set_xlim(left=min(0.0, -0.02 * axes.get_xlim()[1]))


def _point(configuration: Configuration) -> tuple[float, float] | None:
    passed = configuration.passed
    if passed.cost.value is None or passed.quality.value is None or passed.usd.unknown:
        return None
    return passed.cost.value, 100 * passed.quality.value


def tier_bars(figure: Any, drawing: Drawing) -> str:
    """Draw the score of each tier, and AMS with its interval, as one bar per configuration."""
    shown = [line for line in drawing.configurations if line.ams is not None and line.ams.value is not None]
    if not shown:
        return NO_AMS
    axes = figure.subplots()
    width = min(_WIDEST_BAR, 0.8 / len(shown))
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
    legend(figure, drawing)
    return ""


def same_model_spread(figure: Any, drawing: Drawing) -> str:
    """Draw the scores of the configurations of each model: one line per model, from its worst to its best."""
    by_ams = any(line.ams is not None and line.ams.value is not None for line in drawing.configurations)
    by_model: dict[str, list[tuple[float, str]]] = {}
    for line in drawing.configurations:
        value = (line.ams.value if line.ams is not None else None) if by_ams else line.passed.quality.value
        if value is not None:
            by_model.setdefault(line.model, []).append((value if by_ams else 100 * value, line.setup))
    if not by_model:
        return "no configuration has a score"
    if all(len(values) == 1 for values in by_model.values()):
        return "no model has two configurations with a score"
    axes = figure.subplots()
    models = sorted(by_model, key=lambda model: max(by_model[model]))
    short = model_names(models)
    names = distinct([short[model] for model in models])
    for at, model in enumerate(models):
        values = [value for value, _ in by_model[model]]
        axes.plot([min(values), max(values)], [at, at], color="0.7", linewidth=3, zorder=1, solid_capstyle="round")
        for value, setup in by_model[model]:
            axes.errorbar(value, at, **drawing.marks(setup))
        if len(values) > 1:
            gap = f"{max(values) - min(values):.3f}" if by_ams else f"{max(values) - min(values):.1f}"
            axes.annotate(gap, (max(values), at), (8, 0), textcoords="offset points", va="center", color="0.3")
    axes.set_yticks(range(len(models)), names)
    axes.set_ylim(-0.7, max(0.7, len(models) - 0.3))
    axes.grid(False, axis="y")
    axes.margins(x=0.12)
    axes.set(xlabel="AMS" if by_ams else "mean quality, %", title="Configurations of the same model, and their spread")
    legend(figure, drawing)
    return ""
