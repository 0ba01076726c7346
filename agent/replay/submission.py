"""The submission of an imported run: its submitting command is run again, and what it hands in is compared.

A file of mini-swe-agent does not hold the end of the submitting command, nor those of commands before it in the same
reply. They are run in order until one hands something in.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.replay.outputs import ComparedStream, OutputComparison
from environments.protocol import Execution
from trajectories.formats.mini.submission import submitted
from trajectories.record.events import ActionFinished, ActionStarted, Event, Output, TrialStarted


@dataclass(frozen=True)
class Submitting:
    """The recorded submission, and the commands that may have made it."""

    text: Output
    commands: tuple[ActionStarted, ...]

    def includes(self, event: Event) -> bool:
        """Report if an event is the end of one of the commands, which are compared by what they hand in."""
        return isinstance(event, ActionFinished) and any(command.action == event.action for command in self.commands)

    def compare(self, command: ActionStarted, replayed: Execution, outputs: OutputComparison) -> ComparedStream | None:
        """Compare what a command hands in with the recorded submission; None if it does not submit."""
        text = submitted(bytes(replayed.output)) if replayed.exit_code == 0 else None
        return None if text is None else outputs.compare(self.text, text, command.command, None)


def submitting(first: TrialStarted, events: list[Event]) -> Submitting | None:
    """Return the submission of an import and the commands of its last step of whose end nothing is known.

    None if there is no submission.
    """
    if first.imported is None or first.imported.submission is None:
        return None
    started = [event for event in events if isinstance(event, ActionStarted)]
    ended = {event.action for event in events if isinstance(event, ActionFinished) and not _is_unknown(event)}
    last = max((event.step for event in started), default=0)
    commands = tuple(event for event in started if event.step == last and event.action not in ended)
    return Submitting(first.imported.submission, commands)


def _is_unknown(finished: ActionFinished) -> bool:
    return finished.ended == "unknown" and not finished.output.complete and not finished.output.kept
