"""The view of a trial whose model is a person: the person sees the trial, except what runs before the first prompt."""

from __future__ import annotations

import sys

from agent.cli.progress.view import ProgressView
from trajectories.record.events import ActionStarted, BaseEvent, CallStarted, EvaluationStarted, TrialStarted
from trajectories.record.texts.text import printable
from trajectories.writing import excerpts


class PersonView(ProgressView):
    """A line for each command that runs before the first call: a resumed trial repeats the interrupted one.

    In a chain also a line for each turn and each evaluation, during which the person waits.
    """

    def __init__(self, part: str = "") -> None:
        self._part = part
        """The turn in words, in a chain."""
        self._called = False

    def feed(self, event: BaseEvent) -> None:
        """Print the event's line, if it has one."""
        match event:
            case TrialStarted() if self._part:
                _print(self._part)
            case EvaluationStarted() if self._part:
                _print(f"{self._part}: evaluating with {event.evaluator}")
            case CallStarted():
                self._called = True
            case ActionStarted() if not self._called:
                _print(f"running the interrupted command again: {excerpts.on_one_line(event.script or '')}")


def _print(line: str) -> None:
    print(printable(excerpts.masked(line)), file=sys.stderr, flush=True)
