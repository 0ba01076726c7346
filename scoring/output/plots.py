"""Pictures of a report, as PNG or SVG files, by matplotlib without a display.

Each picture is one function from a report and its trials to a figure; the same input gives the same file. What a
picture cannot show (no AMS, no cost) it says. Colours are Okabe and Ito's, told apart with any kind of colour vision.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from scoring.agentmeter.tiers import TIERS
from scoring.errors import ScoringError
from scoring.extras import load
from scoring.output import plot_parts as parts
from scoring.output.plot_parts import Drawing
from scoring.output.trial_plots import budget_curves, score_by_steps, step_scores
from scoring.report import Configuration, Report
from scoring.rows import TrialRow

Format = Literal["png", "svg"]
_CROWDED = 8
"""Intervals of more configurations than these are drawn faintly."""


def write_plots(
    directory: Path, report: Report, rows: Sequence[TrialRow], formats: Sequence[Format] = ("png",)
) -> list[Path]:
    """Draw every picture in every format and return the files; `rows` are those that the report was made of.

    Raises: ScoringError without matplotlib, or if a file cannot be written.
    """
    matplotlib = load("matplotlib", "plots")
    matplotlib.use("Agg")
    pyplot = load("matplotlib.pyplot", "plots")
    drawing = Drawing.of(report, rows)
    written: list[Path] = []
    with warnings.catch_warnings(), matplotlib.rc_context(parts.STYLE):
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # a name in a script that the font lacks
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for name, draw in _PICTURES.items():
                for suffix in formats:
                    figure = pyplot.figure(figsize=(8, 4.5), layout="constrained")
                    draw(figure, drawing)  # anew: storing a figure changes it
                    path = directory / f"{name}.{suffix}"
                    figure.savefig(path, format=suffix, dpi=200, metadata={"Date": None} if suffix == "svg" else None)
                    written.append(path)
                    pyplot.close(figure)
        except OSError as error:
            raise ScoringError(f"{directory}: the plots cannot be written: {error.strerror or error}") from None
    return written


def _quality_cost(figure: Any, drawing: Drawing) -> None:
    """Mean quality against mean cost, with intervals; the front joins those that nobody beats on both."""
    axes = figure.subplots()
    shown = [one for one in drawing.configurations if _point(one) is not None]
    for one in shown:
        cost, quality = one.passed.cost, one.passed.quality
        if cost.value is None or quality.value is None:
            continue
        drawn = axes.errorbar(
            cost.value,
            100 * quality.value,
            xerr=parts.arms(cost, 1),
            yerr=parts.arms(quality, 100),
            linewidth=1,
            capsize=0 if len(shown) > _CROWDED else 2,
            **drawing.marks(one.setup),
        )
        for bar in drawn.lines[2]:
            bar.set_alpha(0.35 if len(shown) > _CROWDED else 0.8)
    front = sorted(point for one in shown if one.pareto and (point := _point(one)) is not None)
    if len(front) > 1:
        axes.plot(*zip(*front, strict=True), color="black", linewidth=1, linestyle="--", zorder=0, label="Pareto front")
    positive = [point[0] for one in shown if (point := _point(one)) is not None and point[0] > 0]
    if len(positive) == len(shown) and positive and max(positive) > 10 * min(positive):
        axes.set_xscale("log")
        parts.plain_dollars(axes)
    else:
        axes.set_xlim(left=-0.02 * axes.get_xlim()[1])  # a point that cost nothing is not cut by the axis
    axes.set(
        xlabel=f"mean cost of a task, US dollars ({drawing.report.cost or 'as given'})",
        ylabel="mean quality, %",
        ylim=(0, 103),
        title="Quality against cost",
    )
    unjudged = sum(one.passed.quality.value is None for one in drawing.configurations)
    unknown = len(drawing.configurations) - len(shown) - unjudged
    why = "no configuration has a known cost for all of its trials" if unknown else "no trial has a verdict"
    parts.legend_or_note(figure, drawing, len(shown), why)
    left_out = [f"of unknown cost: {unknown}"] * bool(unknown) + [f"without a verdict: {unjudged}"] * bool(unjudged)
    if shown and left_out:
        axes.set_title(f"Quality against cost (not shown, {', '.join(left_out)})")


def _point(one: Configuration) -> tuple[float, float] | None:
    cost, quality = one.passed.cost.value, one.passed.quality.value
    return None if cost is None or quality is None or one.passed.usd.unknown else (cost, 100 * quality)


def _tier_bars(figure: Any, drawing: Drawing) -> None:
    """The score of each tier, and AMS with its interval, a bar a configuration."""
    axes = figure.subplots()
    shown = [one for one in drawing.configurations if one.ams is not None and one.ams.value is not None]
    width = 0.8 / max(1, len(shown))
    scores = {(row.setup, row.score.tier): row.score.score for row in drawing.report.tiers}
    for number, one in enumerate(shown):
        if one.ams is None:
            continue
        places = [at + (number - (len(shown) - 1) / 2) * width for at in range(4)]
        heights = [one.ams.value or 0.0, *(scores.get((one.setup, tier), 0.0) for tier in TIERS)]
        colour, hatch = drawing.colour(one.setup), drawing.hatch(one.setup)
        axes.bar(
            places, heights, width * 0.92, color=colour, hatch=hatch, edgecolor="white", label=drawing.name(one.setup)
        )
        axes.errorbar(places[0], heights[0], yerr=parts.arms(one.ams, 1), color="black", linewidth=1, capsize=2)
    axes.set_xticks(range(4), ["AMS", *TIERS])
    axes.set(
        ylabel="score, 0 to 1", ylim=(0, None), title=f"AMS and its tiers (budgets: {drawing.report.profile.name})"
    )
    axes.tick_params(axis="x", length=0)
    axes.grid(False, axis="x")
    parts.legend_or_note(figure, drawing, len(shown), "no AMS: not every task has a tier")


def _spread(figure: Any, drawing: Drawing) -> None:
    """What configurations of one model reach: a line a model, from its worst to its best."""
    axes = figure.subplots()
    by_ams = any(one.ams is not None and one.ams.value is not None for one in drawing.configurations)
    found: dict[str, list[tuple[float, str]]] = {}
    for one in drawing.configurations:
        value = (one.ams.value if one.ams is not None else None) if by_ams else one.passed.quality.value
        if value is not None:
            found.setdefault(one.model, []).append((value if by_ams else 100 * value, one.setup))
    models = sorted(found, key=lambda model: max(found[model]))
    for at, model in enumerate(models):
        values = [value for value, _ in found[model]]
        axes.plot([min(values), max(values)], [at, at], color="0.7", linewidth=3, zorder=1, solid_capstyle="round")
        for value, setup in found[model]:
            axes.errorbar(value, at, **drawing.marks(setup))
        if len(values) > 1:
            gap = f"{max(values) - min(values):.3f}" if by_ams else f"{max(values) - min(values):.1f}"
            axes.annotate(gap, (max(values), at), (8, 0), textcoords="offset points", va="center", color="0.3")
    axes.set_yticks(range(len(models)), [parts.short(model.rpartition("/")[2] or model) for model in models])
    axes.set_ylim(-0.7, max(0.7, len(models) - 0.3))
    axes.grid(False, axis="y")
    axes.margins(x=0.12)
    axes.set(xlabel="AMS" if by_ams else "mean quality, %", title="Configurations of the same model, and their spread")
    parts.legend_or_note(figure, drawing, len(models), "no configuration has a score")


_PICTURES: dict[str, Callable[[Any, Drawing], None]] = {
    "quality-cost": _quality_cost,
    "budget-curves": budget_curves,
    "ams-tiers": _tier_bars,
    "same-model-spread": _spread,
    "step-scores": step_scores,
    "score-by-steps": score_by_steps,
}
