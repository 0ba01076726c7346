"""A trial as the exporters read it: its events, and the lookups that several formats need."""

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

_BASH_TOOL: dict[str, object] = {
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
"""The tool of every trial, in OpenAI's function format, worded as in mini-swe-agent."""
_ASK_TOOL: dict[str, object] = {
    "type": "function",
    "function": {
        "name": "ask",
        "description": "Ask the expert for guidance",
        "parameters": {
            "type": "object",
            "properties": {"question": {"type": "string", "description": "The question to the expert"}},
            "required": ["question"],
        },
    },
}
"""The second tool of a trial whose model may ask an expert."""


EXPORTED_BYTES = 20 << 20
"""Bytes of JSON that all outputs of an export may take."""
_ESCAPED = bytes([*range(32), *range(127, 256)])


@dataclass(frozen=True)
class Source:
    """A trial's events, its summary and its blobs."""

    directory: Path
    start: TrialStarted
    events: tuple[Event, ...]
    summary: Summary
    exit: Exit | None
    started: dict[str, ActionStarted] = field(repr=False)
    """Started actions by address; for a command that started again after a crash, the last start."""
    by_step: dict[int, list[ActionStarted]] = field(repr=False)
    finished: dict[str, ActionFinished] = field(repr=False)
    allowance: Allowance = field(default_factory=lambda: Allowance(), repr=False)

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
    def tools(self) -> list[dict[str, object]]:
        """The tools that the model had."""
        return [_BASH_TOOL] if self.start.guidance is None else [_BASH_TOOL, _ASK_TOOL]

    @property
    def conversation(self) -> Iterable[Message | CallFinished | InheritedReply]:
        """The messages and replies, in order."""
        return (event for event in self.events if isinstance(event, Message | CallFinished | InheritedReply))

    def actions_of(self, step: int) -> list[ActionStarted]:
        """Return the commands of a step, in order."""
        return self.by_step.get(step, [])

    def result_of(self, message: Message) -> ActionFinished | None:
        """Return the end of the command that a message answers; None for an inherited message."""
        return None if message.inherited or message.action is None else self.finished.get(message.action)

    def text(self, output: Output) -> str:
        """Return the kept bytes of an output as text, decoded with replacement.

        It is the text that the model was shown, with its notice of what is left out, for an output that is too large
        for `allowance`.

        Raises: RecordError if the blob is missing or damaged, or holds more than was recorded.
        """
        if output.blob is None or output.kept > self.allowance.left:
            return output.text
        data = self.blob(output.blob, output.kept)
        return data.decode("utf-8", "replace") if self.allowance.takes(data) else output.text

    def blob(self, sha256: str, most_bytes: int) -> bytes:
        """Return a blob's bytes.

        Raises: RecordError, also if it is larger.
        """
        return BlobStore(TrialFolder(self.directory).blobs).get(sha256, most_bytes)


@dataclass
class Allowance:
    """Bytes of JSON that are left for outputs, so that a blob of zeros does not fill the memory."""

    left: int = EXPORTED_BYTES

    def takes(self, data: bytes) -> bool:
        """Take the bytes that the data need in JSON; return False if they are too many."""
        needed = len(data) + 5 * (len(data) - len(data.translate(None, _ESCAPED)))
        if needed > self.left:
            return False
        self.left -= needed
        return True


def unix_s(event: Event) -> float | None:
    """Return the time of an event; None if the record has no valid time."""
    if not event.t:
        return None
    try:
        return datetime.fromisoformat(event.t.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None
