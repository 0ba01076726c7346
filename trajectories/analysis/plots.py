"""Pictures of analyzed trials as PNG or SVG files, drawn by matplotlib without a display.

Each picture is one function from analyses to a figure. The same input gives the same file.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import ceil
from pathlib import Path
from typing import Any, Literal

from trajectories.analysis.commands.classes import PRIORITY
from trajectories.analysis.extras import load
from trajectories.analysis.report import TrialAnalysis
from trajectories.errors import RecordError
from trajectories.record.text import printable

Format = Literal["png", "svg"]
_COLORS = dict(zip(PRIORITY, ("#d95f02", "#7570b3", "#e7298a", "#1b9e77", "#66a61e", "#999999"), strict=True))
_BINS = 20
_LEGEND = 8
"""Largest number of trials that a legend names."""


def write_plots(directory: Path, trials: Sequence[TrialAnalysis], formats: Sequence[Format]) -> list[Path]:
    """Draw every picture in every format and return the files.

    Raises: MissingExtra without matplotlib; RecordError if a file cannot be written.
    """
    matplotlib = load("matplotlib", "plots")
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "retrace"
    pyplot = load("matplotlib.pyplot", "plots")
    written: list[Path] = []
    try:
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # a character of a trial's name that the font lacks
        directory.mkdir(parents=True, exist_ok=True)
        for name, draw in _PICTURES.items():
            figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
            draw(axes, trials)
            for suffix in formats:
                path = directory / f"{name}.{suffix}"
                figure.savefig(path, format=suffix, dpi=150, metadata={"Date": None} if suffix == "svg" else None)
                written.append(path)
            pyplot.close(figure)
    except OSError as error:
        raise RecordError(f"{directory}: the plots cannot be written ({error.strerror or error})") from None
    return written


def _classes(axes: Any, trials: Sequence[TrialAnalysis]) -> None:
    """Draw the shares of the turns' classes over the progress of the trials."""
    counts = {kind: [0.0] * _BINS for kind in PRIORITY}
    for trial in trials:
        width = _BINS / max(1, len(trial.turns.sequence))
        for turn, kind in enumerate(trial.turns.sequence):
            begin, end = turn * width, (turn + 1) * width
            for at in range(int(begin), min(_BINS, ceil(end))):
                if kind is not None:  # each bin counts the part of the turn that lies in it
                    counts[kind][at] += max(0.0, min(end, at + 1) - max(begin, at)) / width
    totals = [sum(counts[kind][at] for kind in PRIORITY) or 1 for at in range(_BINS)]
    below = [0.0] * _BINS
    middles = [(at + 0.5) * 100 / _BINS for at in range(_BINS)]
    for kind in PRIORITY:
        shares = [counts[kind][at] / totals[at] for at in range(_BINS)]
        axes.bar(middles, shares, 100 / _BINS, bottom=below, color=_COLORS[kind], label=kind)
        below = [low + share for low, share in zip(below, shares, strict=True)]
    axes.set(xlabel="steps (%)", ylabel="share of turns", xlim=(0, 100), ylim=(0, 1), title="Classes of turns")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))


def _growth(axes: Any, trials: Sequence[TrialAnalysis]) -> None:
    """Draw the lines of code over the progress of each trial."""
    with_growth = [trial for trial in trials if trial.growth is not None]
    for trial in with_growth:
        if trial.growth is not None:
            axes.plot(range(len(trial.growth.curve)), trial.growth.curve, label=_name(trial))
    axes.set(xlabel="steps (%)", ylabel="lines of code", xlim=(0, 100), title="Growth of the code")
    axes.set_ylim(bottom=0)
    _legend_or_note(axes, len(with_growth), "no trial with snapshots")


def _step_sizes(axes: Any, trials: Sequence[TrialAnalysis]) -> None:
    """Draw a histogram of the lines of code that a step writes."""
    sizes = [lines for trial in trials if trial.growth for lines in trial.growth.written_by_step.values()]
    if sizes:
        edges = [2**power for power in range(max(sizes).bit_length() + 1)]
        axes.hist(sizes, bins=edges, color=_COLORS["write"], edgecolor="white")
        axes.set_xscale("log", base=2)
    else:
        _legend_or_note(axes, 0, "no snapshots show a step that wrote code")
    axes.set(xlabel="lines of code written in a step", ylabel="steps", title="Size of steps")


def _observations(axes: Any, trials: Sequence[TrialAnalysis]) -> None:
    """Draw the observations of all trials that added the most tokens to later prompts."""
    costs = [(cost, trial) for trial in trials for cost in trial.observations.largest]
    costs = sorted(costs, key=lambda pair: -pair[0].added_tokens)[:10][::-1]
    labels = [
        f"{_name(trial)}  {cost.action or '?'}" if len(trials) > 1 else f"{cost.action or '?'}  {_short(cost.command)}"
        for cost, trial in costs
    ]
    axes.barh(range(len(costs)), [cost.added_tokens for cost, _ in costs], color=_COLORS["probe"])
    axes.set_yticks(range(len(costs)), labels, fontsize=7)
    axes.set(xlabel="tokens added to all later prompts", title="Most expensive observations")
    if not costs:
        _legend_or_note(axes, 0, "no observations")


def _legend_or_note(axes: Any, drawn: int, note: str) -> None:
    if drawn == 0:
        axes.text(0.5, 0.5, note, ha="center", va="center", transform=axes.transAxes)
    elif drawn <= _LEGEND:
        axes.legend(fontsize=7)


def _name(trial: TrialAnalysis) -> str:
    return _short(Path(trial.trial).name)


def _short(text: str) -> str:
    """Make a text safe for a label: matplotlib reads text between dollar signs as mathematics."""
    return printable(text if len(text) <= 40 else f"{text[:39]}…").replace("\t", " ").replace("$", r"\$")


_PICTURES: dict[str, Callable[[Any, Sequence[TrialAnalysis]], None]] = {
    "classes": _classes,
    "growth": _growth,
    "step-sizes": _step_sizes,
    "observations": _observations,
}
