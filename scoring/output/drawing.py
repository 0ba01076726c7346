"""Parts that all pictures share: colors, markers, names, legends, and the trials to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.agentmeter.ams import Outcomes, outcomes_of
from scoring.report import Configuration, Report
from scoring.rows import TrialRow
from scoring.selection import by_setup, labels, scored_attempts, select_trials
from scoring.statistics.intervals import Estimate
from trajectories.record.text import printable

STYLE = {
    "svg.hashsalt": "retrace",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
}
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#999933")
_MARKERS = "osD^vPX*"
_HATCHES = ("", "//", "..", "xx")
_MOST_DRAWN = 24
"""Largest number of configurations that are drawn: the best ones."""
_LENGTH = 34
"""Longest name in a legend, in characters."""


@dataclass(frozen=True)
class Drawing:
    """A report with the trials that count in it."""

    report: Report
    configurations: tuple[Configuration, ...]
    """Configurations that are drawn, best first."""
    members: Mapping[str, Sequence[TrialRow]]
    """Trials that count, by setup."""
    outcomes: Mapping[str, Outcomes]
    """Outcomes that AMS is computed from, by setup."""
    _names: Mapping[str, str]
    _order: Mapping[str, int]

    @classmethod
    def of(cls, report: Report, rows: Sequence[TrialRow]) -> Drawing:
        """Select the trials by the choices of the report: infrastructure, duplicates, attempts."""
        selected = select_trials(rows, infrastructure=report.infrastructure, duplicates=report.duplicates).rows
        attempts = scored_attempts(selected, report.attempts)
        drawn = report.configurations[:_MOST_DRAWN]
        return cls(
            report=report,
            configurations=drawn,
            members=by_setup(selected),
            outcomes={setup: outcomes_of(trials) for setup, trials in attempts.items()},
            _names=labels(selected),
            _order={configuration.setup: place for place, configuration in enumerate(drawn)},
        )

    def name(self, setup: str) -> str:
        """Return the name of a configuration in a legend."""
        return short(self._names[setup])

    def color(self, setup: str) -> str:
        """Return one of eight colors. Configurations with the same color differ in marker, hatch and dashes."""
        return _COLORS[self._order[setup] % len(_COLORS)]

    def hatch(self, setup: str) -> str:
        """Return the hatch of a bar."""
        return _HATCHES[self._order[setup] // len(_COLORS) % len(_HATCHES)]

    def dashes(self, setup: str) -> str:
        """Return the style of a line."""
        return ("-", "--", ":")[self._order[setup] // len(_COLORS) % 3]

    def marks(self, setup: str) -> dict[str, Any]:
        """Return color, marker and name of a point."""
        order = self._order[setup]
        return {
            "color": self.color(setup),
            "marker": _MARKERS[(order + order // len(_COLORS)) % len(_MARKERS)],
            "markersize": 6,
            "markeredgecolor": "white",
            "markeredgewidth": 0.5,
            "linestyle": "none",
            "label": self.name(setup),
        }


def arms(estimate: Estimate, scale: float) -> list[list[float]] | None:
    """Return the lengths of an error bar below and above its point; None without an interval."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return None
    low, high = estimate.value - estimate.low, estimate.high - estimate.value
    return [[scale * max(0.0, low)], [scale * max(0.0, high)]]


def legend_or_note(figure: Any, drawing: Drawing, drawn: int, note: str) -> None:
    """Put a legend to the right of the picture, or a note into the picture if nothing is drawn.

    If there are more configurations than are drawn, the title of the legend has both numbers.
    """
    if not drawn:
        axes = figure.axes[len(figure.axes) // 2]
        axes.text(0.5, 0.5, note, ha="center", va="center", transform=axes.transAxes, color="0.3")
        return
    unique: dict[str, Any] = {}
    for axes in figure.axes:
        handles, names = axes.get_legend_handles_labels()
        unique = dict(zip(names, handles, strict=True)) | unique
    order = {drawing.name(line.setup): place for place, line in enumerate(drawing.configurations)}
    unique = dict(sorted(unique.items(), key=lambda item: order.get(item[0], -1)))
    every = len(drawing.report.configurations)
    title = f"best {len(drawing.configurations)} of {every}" if every > len(drawing.configurations) else None
    figure.legend(unique.values(), unique.keys(), loc="outside right upper", fontsize=7, title=title, title_fontsize=7)


def plain_dollars(axes: Any) -> None:
    """Write the ticks of a logarithmic axis of dollars as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0), numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def short(text: str) -> str:
    """Return a safe label: matplotlib reads text between dollar signs as mathematics, and ignores labels with a leading
    _."""
    cut = printable(text if len(text) <= _LENGTH else f"{text[: _LENGTH - 1]}…").replace("\t", " ").replace("$", r"\$")
    return f" {cut}" if cut.startswith("_") else cut
