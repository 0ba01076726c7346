"""What all pictures share: colours, markers, names, legends, and the trials they draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.agentmeter.ams import Outcomes, outcomes_of
from scoring.report import Configuration, Report
from scoring.rows import TrialRow
from scoring.selection import by_setup, counted, labels, latest_completed
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
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#999933")
_MARKERS = "osD^vPX*"
_HATCHES = ("", "//", "..", "xx")
_NAMED = 24
"""More configurations than these (the best) are not drawn."""
_LENGTH = 34


@dataclass(frozen=True)
class Drawing:
    """A report with the trials that count in it."""

    report: Report
    configurations: tuple[Configuration, ...]
    """Those that are drawn, best first."""
    members: Mapping[str, Sequence[TrialRow]]
    """By setup, its trials that count."""
    outcomes: Mapping[str, Outcomes]
    """By setup, what AMS is made of."""
    _names: Mapping[str, str]
    _order: Mapping[str, int]

    @classmethod
    def of(cls, report: Report, rows: Sequence[TrialRow]) -> Drawing:
        """As the report chose: infrastructure, duplicates, attempts."""
        some = counted(rows, infrastructure=report.infrastructure, duplicates=report.duplicates).rows
        members = by_setup(some)
        latest = latest_completed(some)
        drawn = report.configurations[:_NAMED]
        return cls(
            report=report,
            configurations=drawn,
            members=members,
            outcomes={
                setup: outcomes_of([row for row in found if report.attempts == "all" or latest[setup, row.task] is row])
                for setup, found in members.items()
            },
            _names=labels(some),
            _order={one.setup: place for place, one in enumerate(drawn)},
        )

    def name(self, setup: str) -> str:
        """What a configuration is called in a legend."""
        return short(self._names[setup])

    def colour(self, setup: str) -> str:
        """Of eight; `marker`, `hatch` and `dashes` tell apart those that share one."""
        return _COLOURS[self._order[setup] % len(_COLOURS)]

    def hatch(self, setup: str) -> str:
        """Of a bar."""
        return _HATCHES[self._order[setup] // len(_COLOURS) % len(_HATCHES)]

    def dashes(self, setup: str) -> str:
        """Of a line."""
        return ("-", "--", ":")[self._order[setup] // len(_COLOURS) % 3]

    def marks(self, setup: str) -> dict[str, Any]:
        """Colour, marker and name of a point."""
        order = self._order[setup]
        return {
            "color": self.colour(setup),
            "marker": _MARKERS[(order + order // len(_COLOURS)) % len(_MARKERS)],
            "markersize": 6,
            "markeredgecolor": "white",
            "markeredgewidth": 0.5,
            "linestyle": "none",
            "label": self.name(setup),
        }


def arms(estimate: Estimate, scale: float) -> list[list[float]] | None:
    """Lengths of an error bar below and above; None without an interval."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return None
    low, high = estimate.value - estimate.low, estimate.high - estimate.value
    return [[scale * max(0.0, low)], [scale * max(0.0, high)]]


def legend_or_note(figure: Any, drawing: Drawing, drawn: int, note: str) -> None:
    """Names to the right of the picture; where nothing is drawn, why. How many are not drawn is above the names."""
    if not drawn:
        axes = figure.axes[len(figure.axes) // 2]
        axes.text(0.5, 0.5, note, ha="center", va="center", transform=axes.transAxes, color="0.3")
        return
    unique: dict[str, Any] = {}
    for axes in figure.axes:
        handles, names = axes.get_legend_handles_labels()
        unique = dict(zip(names, handles, strict=True)) | unique
    order = {drawing.name(one.setup): place for place, one in enumerate(drawing.configurations)}
    unique = dict(sorted(unique.items(), key=lambda item: order.get(item[0], -1)))
    every = len(drawing.report.configurations)
    title = f"best {len(drawing.configurations)} of {every}" if every > len(drawing.configurations) else None
    figure.legend(unique.values(), unique.keys(), loc="outside right upper", fontsize=7, title=title, title_fontsize=7)


def plain_dollars(axes: Any) -> None:
    """Ticks of a logarithmic axis of dollars as people write them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0), numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def short(text: str) -> str:
    """Safe for a label: matplotlib takes text between dollar signs for mathematics, and a leading _ for no label."""
    cut = printable(text if len(text) <= _LENGTH else f"{text[: _LENGTH - 1]}…").replace("\t", " ").replace("$", r"\$")
    return f" {cut}" if cut.startswith("_") else cut
