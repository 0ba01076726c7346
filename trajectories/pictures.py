"""The style that all pictures share, and their files: PNG or SVG, drawn by matplotlib without a display.

The same input gives the same file. Colors are those of Okabe and Ito, which people with any kind of color vision can
tell apart. What differs in color also differs in its marker, hatch or dashes, so that it can be told apart in gray.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

from trajectories.record.texts.text import printable

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#999933")
MARKERS = "osD^vPX*"
HATCHES = ("", "//", "..", "xx")
DASHES = ("-", "--", ":", "-.")
_STYLE = {
    "svg.hashsalt": "retrace",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "hatch.linewidth": 0.6,
}
_INCHES = (8, 4.5)
_DOTS_PER_INCH = 200
_LENGTH = 34
"""Longest name in a legend, in characters."""

Draw = Callable[[Any], str]
"""Draws into a figure and returns an empty text, or returns the reason for which there is nothing to draw."""


@dataclass(frozen=True)
class Picture:
    """A picture that was asked for."""

    name: str
    file: Path | None = None
    """Its file; None if there is nothing to draw."""
    reason: str = ""
    """Reason for which there is nothing to draw."""

    def __str__(self) -> str:
        return f"no picture {self.name}: {self.reason}" if self.file is None else str(self.file)


def write(
    directory: Path, pictures: Mapping[str, Draw], formats: Sequence[str], load: Callable[[str, str], ModuleType]
) -> Iterator[Picture]:
    """Draw each picture in each format and yield it. `load` imports matplotlib.

    A picture without content gets no file, and an older file of its name is removed: it would show other trials.

    Raises: OSError, and what `load` raises.
    """
    matplotlib = load("matplotlib", "plots")
    figures = load("matplotlib.figure", "plots")
    directory.mkdir(parents=True, exist_ok=True)
    for name, draw in pictures.items():
        for suffix in formats:
            file = directory / f"{name}.{suffix}"
            with warnings.catch_warnings(), matplotlib.rc_context():
                warnings.filterwarnings("ignore", "Glyph", UserWarning)  # a name in a script that the font lacks
                matplotlib.rcdefaults()  # the user's own matplotlibrc would change the files
                matplotlib.rcParams.update(_STYLE)
                figure = figures.Figure(figsize=_INCHES, layout="constrained")
                reason = draw(figure)  # again for each format: storing a figure changes it
                if not reason:
                    metadata = {"Date": None} if suffix == "svg" else None
                    figure.savefig(file, format=suffix, dpi=_DOTS_PER_INCH, metadata=metadata)
            if reason:
                for old in formats:
                    (directory / f"{name}.{old}").unlink(missing_ok=True)
                yield Picture(name, reason=reason)
                break
            yield Picture(name, file)


def distinct(names: Sequence[str], length: int = _LENGTH) -> list[str]:
    """Return labels for names: safe, of at most this length, and never the same for two of them."""
    labels = [label(name, length) for name in names]
    repeated = {text for text in labels if labels.count(text) > 1}
    taken = set(labels) - repeated
    result: list[str] = []
    for name, text in zip(names, labels, strict=True):
        if text in repeated:
            numbered = (label(name, length - len(end)) + end for end in map(" ({})".format, count(1)))
            text = next(candidate for candidate in numbered if candidate not in taken)
            taken.add(text)
        result.append(text)
    return result


def label(text: str, length: int = _LENGTH) -> str:
    """Return a text safe for a label, cut in its middle if it is longer: names often differ at their end.

    matplotlib reads text between dollar signs as mathematics, and ignores labels with a leading _.
    """
    line = printable(" ".join(text.split()))
    if len(line) > length:
        head = length // 2
        line = f"{line[:head]}…{line[len(line) - (length - head - 1) :]}"
    escaped = line.replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped
