"""The files that a scoring leaves: outputs by suffix, and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent.errors import UserError

if TYPE_CHECKING:
    from agent.reports.score import Scored


@dataclass(frozen=True)
class Files:
    """What was asked for; nothing of it is loaded before it is needed."""

    outputs: tuple[Path, ...] = ()
    table: str | None = None
    plots: Path | None = None
    formats: tuple[Literal["png", "svg"], ...] = ()

    def check(self) -> None:
        """Before anything is computed.

        Raises: UserError, ScoringError.
        """
        if self.formats and self.plots is None:
            raise UserError("--format is that of the pictures: say where they go with --plots DIR")
        if self.outputs or self.table is not None:
            from scoring.output.files import check_outputs

            check_outputs(self.outputs, self.table)
        if self.plots is not None:
            from scoring.extras import load

            load("matplotlib", "plots")

    def write(self, scored: Scored) -> Iterator[Path]:
        """Write them and say which.

        Raises: ScoringError.
        """
        for path in self.outputs:
            from scoring.output.files import write_output

            write_output(path, scored.report, scored.rows, self.table)
            yield path
        if self.plots is not None:
            from scoring.output.plots import write_plots

            yield from write_plots(self.plots, scored.report, scored.rows, self.formats or ("png",))
