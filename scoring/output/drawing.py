"""Parts that the pictures of a report share: the trials to draw, and the names and marks of configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.agentmeter.ams import Outcomes, outcomes_of
from scoring.report import Configuration, Report
from scoring.rows import TrialRow
from scoring.selecting.selection import by_setup, scored_attempts, select_trials
from scoring.statistics.intervals import Estimate
from trajectories.pictures import COLORS, DASHES, HATCHES, MARKERS, distinct

NO_AMS = "no AMS: not every task has a tier"
"""Reason for which there is no picture of AMS."""
_MOST_DRAWN = 24
"""Largest number of configurations that are drawn: the best ones."""


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
        names = {configuration.setup: configuration.label for configuration in report.configurations}
        return cls(
            report=report,
            configurations=drawn,
            members=by_setup(selected),
            outcomes={setup: outcomes_of(trials) for setup, trials in attempts.items()},
            _names=dict(zip(names, distinct(list(names.values())), strict=True)),
            _order={configuration.setup: place for place, configuration in enumerate(drawn)},
        )

    def name(self, setup: str) -> str:
        """Return the name of a configuration in a legend, which no other one has."""
        return self._names[setup]

    def color(self, setup: str) -> str:
        """Return one of eight colors. Configurations with the same color differ in marker, hatch and dashes."""
        return COLORS[self._order[setup] % len(COLORS)]

    def hatch(self, setup: str) -> str:
        """Return the hatch of a bar."""
        return HATCHES[self._order[setup] // len(COLORS) % len(HATCHES)]

    def dashes(self, setup: str) -> str:
        """Return the style of a line."""
        return DASHES[self._order[setup] // len(COLORS) % len(DASHES)]

    def marks(self, setup: str) -> dict[str, Any]:
        """Return color, marker and name of a point."""
        order = self._order[setup]
        return {
            "color": self.color(setup),
            "marker": MARKERS[(order + order // len(COLORS)) % len(MARKERS)],
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


def legend(figure: Any, drawing: Drawing) -> None:
    """Put a legend to the right of the picture, in the order of the configurations.

    If there are more configurations than are drawn, its title has both numbers.
    """
    unique: dict[str, Any] = {}
    for axes in figure.axes:
        handles, names = axes.get_legend_handles_labels()
        unique = dict(zip(names, handles, strict=True)) | unique
    order = {drawing.name(line.setup): place for place, line in enumerate(drawing.configurations)}
    unique = dict(sorted(unique.items(), key=lambda item: order.get(item[0], -1)))
    every = len(drawing.report.configurations)
    title = f"best {len(drawing.configurations)} of {every}" if every > len(drawing.configurations) else None
    figure.legend(unique.values(), unique.keys(), loc="outside right upper", title=title)


def plain_dollars(axes: Any, linear_below: float = 0.0) -> None:
    """Write the ticks of a logarithmic axis of dollars as plain numbers; it may be linear below some number."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, SymmetricalLogLocator

    subs = (1.0, 2.0, 5.0)
    locator = (
        SymmetricalLogLocator(base=10, linthresh=linear_below, subs=subs)
        if linear_below
        else LogLocator(base=10, subs=subs, numticks=12)
    )
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
