"""The view of a batch for an output that is not a terminal: a line when the counts change, and one at the end."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from agent.batch.state.view import BatchState, BatchView
from agent.cli.progress.batches.page import line
from trajectories.record.texts.text import printable
from trajectories.writing import excerpts

EVERY_S = 5.0
"""Least time between two lines about the counts, in seconds. A change in between is shown then."""


class QuietBatchView(BatchView):
    """Notes on standard error, and nothing else."""

    def note(self, line: str) -> None:
        """Print a line."""
        print(printable(excerpts.masked(line)), file=sys.stderr, flush=True)


class LineBatchView(QuietBatchView):
    """Lines on standard error."""

    def __init__(self, every_s: float = EVERY_S) -> None:
        self._every_s = every_s
        self._state: BatchState | None = None
        self._printed: BatchState | None = None
        self._at = 0.0

    def show(self, state: BatchState) -> None:
        """Print the state if its counts have changed, and the last line is not too new."""
        self._state = state
        now = time.monotonic()
        if self._printed is None or (_counts(state) != _counts(self._printed) and now - self._at >= self._every_s):
            self._print(state, now)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Print the last state, if its line was not printed."""
        if self._state is not None and self._state != self._printed:
            self._print(self._state, time.monotonic())

    def _print(self, state: BatchState, now: float) -> None:
        self._printed, self._at = state, now
        self.note(line(state))


def _counts(state: BatchState) -> tuple[object, ...]:
    return (state.phase, state.units, state.done, state.waiting, state.judged, dict(state.failed), dict(state.held))
