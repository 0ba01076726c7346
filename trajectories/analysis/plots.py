"""Files of pictures of analyzed trials: each is one function from analyses to axes.

`trajectories.pictures` has the style. A picture without content is not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import Any, Literal

from trajectories import pictures
from trajectories.analysis.commands.classes import PRIORITY
from trajectories.analysis.extras import load
from trajectories.analysis.report import TrialAnalysis
from trajectories.errors import RecordError
from trajectories.pictures import COLORS, DASHES, Draw, Picture, distinct, label
from trajectories.record.texts.text import quantity

Format = Literal["png", "svg"]
_CLASS_STYLES = dict(
    zip(
        PRIORITY,
        (("#0072B2", ""), ("#E69F00", "//"), ("#000000", ""), ("#56B4E9", ".."), ("#CC79A7", ""), ("#CCCCCC", "xx")),
        strict=True,
    )
)
"""Color and hatch of each class; neighbors differ in gray, too."""
_BINS = 20
_LEGEND = 8
"""Largest number of trials that a legend names."""
_OBSERVATIONS = 10
"""Largest number of observations that are drawn."""


def write_plots(directory: Path, trials: Sequence[TrialAnalysis], formats: Sequence[Format]) -> Iterator[Picture]:
    """Draw every picture in every format and yield it.

    Raises: MissingExtra without matplotlib; RecordError if a file cannot be written.
    """
    draws = {name: _of(trials, draw) for name, draw in _PICTURES.items()}
    try:
        yield from pictures.write(directory, draws, formats, load)
    except OSError as error:
        raise RecordError(f"{directory}: the plots cannot be written ({error.strerror or error})") from None


def _of(trials: Sequence[TrialAnalysis], draw: Callable[[Any, Sequence[TrialAnalysis]], str]) -> Draw:
    return lambda figure: draw(figure, trials)


def _classes(figure: Any, trials: Sequence[TrialAnalysis]) -> str:
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
    turns = [sum(kind is not None for kind in trial.turns.sequence) for trial in trials]
    if not any(turns):
        return "no trial has a turn with an action"
    axes = figure.subplots()
    below = [0.0] * _BINS
    middles = [(at + 0.5) * 100 / _BINS for at in range(_BINS)]
    for kind in PRIORITY:
        shares = [counts[kind][at] / totals[at] for at in range(_BINS)]
        color, hatch = _CLASS_STYLES[kind]
        number = sum(kind == turn for trial in trials for turn in trial.turns.sequence)
        name = f"{kind}  n={number}"
        axes.bar(
            middles,
            shares,
            100 / _BINS,
            bottom=below,
            color=color,
            hatch=hatch,
            edgecolor="white",
            linewidth=0,
            label=name,
        )
        below = [low + share for low, share in zip(below, shares, strict=True)]
    n = f"n={quantity(sum(turns), 'turn')} of {quantity(sum(map(bool, turns)), 'trial')}"
    axes.set(xlabel="steps (%)", ylabel="share of turns", xlim=(0, 100), ylim=(0, 1), title=f"Classes of turns ({n})")
    axes.grid(False)
    figure.legend(*(part[::-1] for part in axes.get_legend_handles_labels()), loc="outside right center")
    return ""


def _growth(figure: Any, trials: Sequence[TrialAnalysis]) -> str:
    """Draw the lines of code over the progress of each trial."""
    curves = [(trial.trial, trial.growth.curve) for trial in trials if trial.growth is not None]
    if not curves:
        return "no trial has snapshots"
    axes = figure.subplots()
    names = distinct([Path(trial).name for trial, _ in curves])
    for number, (name, (_, curve)) in enumerate(zip(names, curves, strict=True)):
        dashes = DASHES[number // len(COLORS) % len(DASHES)]
        axes.plot(range(len(curve)), curve, color=COLORS[number % len(COLORS)], linestyle=dashes, label=name)
    title = f"Growth of the code (n={quantity(len(curves), 'trial')})"
    axes.set(xlabel="steps (%)", ylabel="lines of code", xlim=(0, 100), title=title)
    axes.set_ylim(bottom=0)
    if len(curves) <= _LEGEND:
        figure.legend(loc="outside right upper")
    return ""


def _step_sizes(figure: Any, trials: Sequence[TrialAnalysis]) -> str:
    """Draw a histogram of the lines of code that a step writes."""
    sizes = [lines for trial in trials if trial.growth for lines in trial.growth.written_by_step.values()]
    if not sizes:
        return "no snapshots show a step that wrote code"
    axes = figure.subplots()
    edges = [2**power for power in range(max(sizes).bit_length() + 1)]
    axes.hist(sizes, bins=edges, color=COLORS[0], edgecolor="white")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.get_major_locator().set_params(integer=True)
    title = f"Size of steps (n={quantity(len(sizes), 'step')})"
    axes.set(xlabel="lines of code written in a step", ylabel="steps", title=title)
    return ""


def _observations(figure: Any, trials: Sequence[TrialAnalysis]) -> str:
    """Draw the observations of all trials that added the most tokens to later prompts."""
    names = distinct([Path(trial.trial).name for trial in trials])
    costs = [(cost, name) for trial, name in zip(trials, names, strict=True) for cost in trial.observations.largest]
    if not costs:
        return "no trial has an observation"
    axes = figure.subplots()
    costs = sorted(costs, key=lambda pair: -pair[0].added_tokens)[:_OBSERVATIONS][::-1]
    labels = [
        f"{name}  {cost.action or '?'}" if len(trials) > 1 else f"{cost.action or '?'}  {label(cost.command)}"
        for cost, name in costs
    ]
    axes.barh(range(len(costs)), [cost.added_tokens for cost, _ in costs], color=COLORS[0])
    axes.set_yticks(range(len(costs)), labels, fontsize=7)
    axes.grid(False, axis="y")
    axes.set(xlabel="tokens added to all later prompts", title=f"Most expensive observations (n={len(costs)})")
    return ""


_PICTURES: dict[str, Callable[[Any, Sequence[TrialAnalysis]], str]] = {
    "classes": _classes,
    "growth": _growth,
    "step-sizes": _step_sizes,
    "observations": _observations,
}
