"""The files that a scoring writes: outputs by suffix, and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import UserError
from scoring.choices import PlotFormat

if TYPE_CHECKING:
    from agent.reports.score import Scored


@dataclass(frozen=True)
class Files:
    """The requested files. Packages are imported only when they are needed."""

    outputs: tuple[Path, ...] = ()
    table: str | None = None
    plots: Path | None = None
    formats: tuple[PlotFormat, ...] = ()

    def options(self) -> list[str]:
        """Return the options that request files."""
        return ["--output"] * bool(self.outputs) + ["--plots"] * (self.plots is not None)

    def check(self) -> None:
        """Check that the files can be written, before anything is computed.

        Raises: UserError, ScoringError.
        """
        if self.formats and self.plots is None:
            raise UserError("--format applies to pictures: choose their directory with --plots DIR")
        if self.outputs or self.table is not None:
            from scoring.output.files import check_outputs

            check_outputs(self.outputs, self.table)
        if self.plots is not None:
            from scoring.extras import load

            load("matplotlib", "plots")

    def write(self, scored: Scored) -> Iterator[str]:
        """Write the files and yield the path of each, and a line for each picture that has nothing to show.

        Raises: ScoringError.
        """
        for path in self.outputs:
            from scoring.output.files import write_output

            write_output(path, scored.report, scored.rows, self.table)
            yield str(path)
        if self.plots is not None:
            from scoring.output.plots import write_plots

            formats = self.formats or (PlotFormat.PNG,)
            yield from map(str, write_plots(self.plots, scored.report, scored.rows, formats))
