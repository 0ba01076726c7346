"""A trial as the exporters read it: its events once, and what several formats need from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from trajectories.blobs.store import BlobStore
from trajectories.reading.reader import read_events
from trajectories.reading.summary import Summary, summarize
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    CallFinished,
    Event,
    Exited,
    InheritedReply,
    Message,
    Output,
    TrialStarted,
)
from trajectories.record.exits import Exit
from trajectories.record.layout import TrialFolder

BASH_TOOL = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Execute a bash command",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "The bash command to execute"}},
            "required": ["command"],
        },
    },
}
"""The one tool of a trial, in the words of OpenAI's function format (and of mini-swe-agent)."""


@dataclass(frozen=True)
class Source:
    """A trial's events, its summary and its blobs."""

    directory: Path
    start: TrialStarted
    events: tuple[Event, ...]
    summary: Summary
    exit: Exit | None
    started: dict[str, ActionStarted] = field(repr=False)
    """By address; of a command that was begun again after a crash, the last time."""
    by_step: dict[int, list[ActionStarted]] = field(repr=False)
    finished: dict[str, ActionFinished] = field(repr=False)

    @classmethod
    def of(cls, directory: Path) -> Source:
        """Read a trial.

        Raises: RecordError if it cannot be read.
        """
        events = tuple(read_events(directory))
        summary = summarize(directory, events)
        by_step: dict[int, list[ActionStarted]] = defaultdict(list)
        started = {event.action: event for event in events if isinstance(event, ActionStarted)}
        for action in started.values():
            by_step[action.step].append(action)
        start = events[0]
        assert isinstance(start, TrialStarted)
        return cls(
            directory=directory,
            start=start,
            events=events,
            summary=summary,
            exit=next((event.exit for event in reversed(events) if isinstance(event, Exited)), None),
            started=started,
            by_step=by_step,
            finished={event.action: event for event in events if isinstance(event, ActionFinished)},
        )

    @property
    def conversation(self) -> Iterable[Message | CallFinished | InheritedReply]:
        """What was said, in order."""
        return (event for event in self.events if isinstance(event, Message | CallFinished | InheritedReply))

    def actions_of(self, step: int) -> list[ActionStarted]:
        """The commands of a step, in order."""
        return self.by_step.get(step, [])

    def result_of(self, message: Message) -> ActionFinished | None:
        """How the command ended that a message answers; an inherited message's is in the parent."""
        return None if message.inherited or message.action is None else self.finished.get(message.action)

    def data(self, output: Output) -> bytes:
        """The kept bytes of an output.

        Raises: RecordError if the blob is missing or damaged.
        """
        if output.blob is None:
            return output.text.encode()
        return self.blob(output.blob)

    def text(self, output: Output) -> str:
        """The same, decoded with replacement."""
        return self.data(output).decode("utf-8", "replace")

    def blob(self, sha256: str) -> bytes:
        """A blob's bytes.

        Raises: RecordError.
        """
        return BlobStore(TrialFolder(self.directory).blobs).get(sha256)


def unix_s(event: Event) -> float | None:
    """When an event was; None where the record does not say, or says no time."""
    if not event.t:
        return None
    try:
        return datetime.fromisoformat(event.t.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None
