"""Files of a report's pictures: each is one function from a report and its trials to a figure.

A picture names what it leaves out (no AMS, no cost), and is not written if nothing is left. `trajectories.pictures` has
the style.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from scoring.choices import PlotFormat
from scoring.errors import ScoringError
from scoring.extras import load
from scoring.output.drawing import Drawing
from scoring.output.report_pictures import quality_cost, same_model_spread, tier_bars
from scoring.output.trial_pictures import budget_curves, score_by_steps, step_scores
from scoring.report import Report
from scoring.rows import TrialRow
from trajectories import pictures
from trajectories.pictures import Draw, Picture


def write_plots(
    directory: Path,
    report: Report,
    rows: Sequence[TrialRow],
    formats: Sequence[PlotFormat] = (PlotFormat.PNG,),
) -> Iterator[Picture]:
    """Draw every picture in every format and yield it. `rows` are the trials that the report was made of.

    Raises: ScoringError without matplotlib, or if a file cannot be written.
    """
    load("matplotlib", "plots")
    drawing = Drawing.of(report, rows)
    draws = {name: _of(drawing, draw) for name, draw in _PICTURES.items()}
    try:
        yield from pictures.write(directory, draws, [PlotFormat(name).value for name in formats], load)
    except OSError as error:
        raise ScoringError(f"{directory}: the plots cannot be written: {error.strerror or error}") from None


def _of(drawing: Drawing, draw: Callable[[Any, Drawing], str]) -> Draw:
    return lambda figure: draw(figure, drawing)


_PICTURES: dict[str, Callable[[Any, Drawing], str]] = {
    "quality-cost": quality_cost,
    "budget-curves": budget_curves,
    "ams-tiers": tier_bars,
    "same-model-spread": same_model_spread,
    "step-scores": step_scores,
    "score-by-steps": score_by_steps,
}
