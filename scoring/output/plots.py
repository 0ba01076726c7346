"""Files of pictures, as PNG or SVG, drawn by matplotlib without a display.

Each picture is one function from a report and its trials to a figure; the same input gives the same file. A picture
names what it cannot show (no AMS, no cost). The colors are those of Okabe and Ito, which people with any kind of color
vision can tell apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scoring.choices import PlotFormat
from scoring.errors import ScoringError
from scoring.extras import load
from scoring.output.drawing import STYLE, Drawing
from scoring.output.report_pictures import quality_cost, same_model_spread, tier_bars
from scoring.output.trial_pictures import budget_curves, score_by_steps, step_scores
from scoring.report import Report
from scoring.rows import TrialRow


def write_plots(
    directory: Path,
    report: Report,
    rows: Sequence[TrialRow],
    formats: Sequence[PlotFormat] = (PlotFormat.PNG,),
) -> list[Path]:
    """Draw every picture in every format and return the files. `rows` are the trials that the report was made of.

    Raises: ScoringError without matplotlib, or if a file cannot be written.
    """
    matplotlib = load("matplotlib", "plots")
    matplotlib.use("Agg")
    pyplot = load("matplotlib.pyplot", "plots")
    drawing = Drawing.of(report, rows)
    written: list[Path] = []
    with warnings.catch_warnings(), matplotlib.rc_context(STYLE):
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # a name in a script that the font lacks
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for name, draw in _PICTURES.items():
                for suffix in map(PlotFormat, formats):
                    figure = pyplot.figure(figsize=(8, 4.5), layout="constrained")
                    draw(figure, drawing)  # again for each format: storing a figure changes it
                    path = directory / f"{name}.{suffix}"
                    metadata = {"Date": None} if suffix == PlotFormat.SVG else None
                    figure.savefig(path, format=suffix.value, dpi=200, metadata=metadata)
                    written.append(path)
                    pyplot.close(figure)
        except OSError as error:
            raise ScoringError(f"{directory}: the plots cannot be written: {error.strerror or error}") from None
    return written


_PICTURES: dict[str, Callable[[Any, Drawing], None]] = {
    "quality-cost": quality_cost,
    "budget-curves": budget_curves,
    "ams-tiers": tier_bars,
    "same-model-spread": same_model_spread,
    "step-scores": step_scores,
    "score-by-steps": score_by_steps,
}
