"""The view of a trial with `--quiet`: warnings, and nothing else."""

from __future__ import annotations

import sys

from agent.cli.progress.view import ProgressView
from trajectories.record.events import BaseEvent, EnvStarted, Warned
from trajectories.record.texts.text import printable
from trajectories.writing import excerpts


class QuietView(ProgressView):
    """Warnings on standard error."""

    def feed(self, event: BaseEvent) -> None:
        """Print the event's text if it is a warning."""
        lines = [event.text] if isinstance(event, Warned) else event.lost if isinstance(event, EnvStarted) else ()
        for line in lines:
            print(printable(excerpts.masked(f"note: {line}")), file=sys.stderr, flush=True)
