"""The view of a trial whose model is a person: the person sees the trial, except what runs before the first prompt."""

from __future__ import annotations

import sys

from agent.cli.progress.view import ProgressView
from trajectories.record.events import ActionStarted, BaseEvent, CallStarted
from trajectories.record.texts.text import printable
from trajectories.writing import excerpts


class PersonView(ProgressView):
    """A line for each command that runs before the first call: a resumed trial repeats the interrupted one."""

    def __init__(self) -> None:
        self._called = False

    def feed(self, event: BaseEvent) -> None:
        """Print the command's line."""
        if isinstance(event, CallStarted):
            self._called = True
        elif isinstance(event, ActionStarted) and not self._called:
            line = f"running the interrupted command again: {excerpts.on_one_line(event.script or '')}"
            print(printable(excerpts.masked(line)), file=sys.stderr, flush=True)
