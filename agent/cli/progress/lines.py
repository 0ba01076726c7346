"""The view of a trial for an output that is not a terminal: one line for each thing that happened."""

from __future__ import annotations

import sys
import time

from agent.cli.progress.state import ProgressState, on_one_line
from agent.cli.progress.view import ProgressView
from trajectories.record.events import (
    ActionFinished,
    Answered,
    Asked,
    BaseEvent,
    CallFailed,
    EnvStarted,
    EvaluationStarted,
    Exited,
    Snapshot,
    TrialStarted,
    Warned,
)
from trajectories.record.texts.text import printable
from trajectories.writing import excerpts

_WIDTH = 100
"""Longest text of the agent or the expert on a line."""


class LineView(ProgressView):
    """Lines on standard error."""

    def __init__(self, state: ProgressState) -> None:
        self._state = state

    def feed(self, event: BaseEvent) -> None:
        """Print the event's line, if it has one."""
        state = self._state
        state.feed(event, time.monotonic())
        match event:
            case TrialStarted():
                line = f"trial {event.trial}: {event.task.id} by {event.model.asked} in {event.environment}"
                if event.chain is not None:
                    line += f", {event.chain.in_words(event.turn or 1)}"
                self.note(printable(line))
            case EnvStarted():
                self.note(state.phase)
                for loss in event.lost:
                    self.note(f"note: {loss}")
            case ActionFinished():
                command = state.command
                self.note(f"step {event.step}   {command.result}   {state.cost()}   $ {_cut(command.script)}")
            case Asked():
                self.note(f"step {event.step}   asks: {_cut(on_one_line(event.text))}")
            case Answered():
                self.note(_cut(state.answer))
            case CallFailed() | Warned() | Snapshot(complete=False):
                self.note(state.warning)
            case Exited() | EvaluationStarted():
                self.note(state.phase)

    def note(self, line: str) -> None:
        """Print a line."""
        print(printable(excerpts.masked(line)), file=sys.stderr, flush=True)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
