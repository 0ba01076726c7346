"""The rows of the index of steps, made of the events of a trial in one pass.

A row holds the figures of one step and the bytes of `events.jsonl`, unpacked, in which its events stand. Every figure
comes from events that were masked when they were written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from trajectories.errors import RecordError
from trajectories.reading.totals.tally import Tally
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    BaseEvent,
    CallFinished,
    CallStarted,
    Exited,
    Resumed,
    Snapshot,
)
from trajectories.record.usage import Costs, Usage
from trajectories.record.words import Ended

CUT = 160
"""Number of characters of a command, and of a path, in a row."""
PATHS = 20
"""Number of changed paths in a row; `changes` counts all of them."""

DIGITS = 16
"""Number of hexadecimal digits of a sha256 in a row."""


class Digest(Protocol):
    """A sha256 of the bytes that it took in."""

    def update(self, data: bytes, /) -> None:
        """Take in bytes."""

    def hexdigest(self) -> str:
        """Return the sha256 in hex."""


class CommandRow(BaseModel):
    """A command of a step."""

    model_config = ConfigDict(frozen=True)

    action: str
    """Address of the command: `step.i`, with i from 1."""
    script: str
    """The first 160 characters of the command."""
    ended: Ended | None = None
    """Way in which the command ended. None if the record does not hold its end."""
    exit_code: int | None = None
    """Exit status, if the command exited by itself."""
    signal: int | None = None
    """Number of the signal that ended the command, if one did."""
    duration_s: float | None = None
    """Wall-clock time of the command."""
    output_bytes: int | None = None
    """Size of everything that the command printed. None if the record does not hold its end."""


class StepRow(BaseModel):
    """A step of a trial. Step 0 is everything before the first call."""

    model_config = ConfigDict(frozen=True)

    step: int
    """Number of the step."""
    start: int
    """Offset of the step's first byte in the events."""
    end: int
    """Offset after the step's last byte."""
    sha256: str
    """First 16 digits of the sha256 of all bytes of the events before `end`."""
    seconds: float
    """Time from the first event of the step to the last. 0 in an imported trial without times."""
    replied: bool = False
    """True if a reply came. Without one it is not a step yet."""
    latency_s: float | None = None
    """Time from the request to the end of the reply. None if no reply came, or if it is not known."""
    failed_calls: int = 0
    """Number of tries that brought no reply."""
    unmetered_calls: int = 0
    """Number of calls whose usage is unknown."""
    usage: Usage = Usage()
    """Tokens of all calls of the step."""
    costs: Costs = Costs()
    """Costs of all calls of the step."""
    commands: tuple[CommandRow, ...] = ()
    """Commands of the step, in order."""
    changes: int | None = None
    """Number of paths that the step changed. None without a snapshot."""
    paths: tuple[str, ...] = ()
    """The first 20 changed paths, each cut to 160 characters."""


class StepRows:
    """The rows of a trial, from its events in order, each with its line as it stands in the record.

    `rows` holds the steps that are over. A step is over when the next one begins and when the trial exits. If the trial
    is resumed after its exit, a longer row replaces that of its last step.
    """

    def __init__(self, rows: Iterable[StepRow] = (), before: Digest | None = None) -> None:
        """Begin before the first event, or after the steps of `rows`; `before` has taken in the bytes up to there."""
        self.rows = list(rows)
        self._digest = before or hashlib.sha256()
        self._at = self.rows[-1].end if self.rows else 0
        self._step = None if self.rows else _Step(0, 0)
        self._exited = False

    @property
    def end(self) -> int:
        """Offset after the last event."""
        return self._at

    def all(self) -> list[StepRow]:
        """Return the rows of all steps, also of one that is not over."""
        if self._step is None or self._exited:
            return self.rows
        row = self._row(self._step)
        return [*(self.rows[:-1] if self._replaces(row) else self.rows), row]

    def feed(self, events: Iterable[BaseEvent], line: bytes) -> StepRow | None:
        """Take in the events of a line, and return the row of the step that is over with them.

        Raises: RecordError if the line belongs to no step, because the rows did not end where a step begins.
        """
        over = None
        for event in events:
            match event:
                case CallStarted() if not self._exited and (self._step is None or event.step != self._step.number):
                    over = self._close()
                    self._step = _Step(event.step, self._at)
                case Exited() if not self._exited:
                    over = self._close()
                    self._exited = True
                case Resumed():
                    self._exited = False
            if self._step is not None:
                self._step.feed(event)
        if self._step is None:
            raise RecordError(f"the index of steps does not fit: at byte {self._at} no step begins")
        self._digest.update(line)
        self._at += len(line)
        return over

    def _close(self) -> StepRow | None:
        if self._step is None:
            return None
        row = self._row(self._step)
        if self._replaces(row):
            self.rows.pop()
        self.rows.append(row)
        return row

    def _row(self, step: _Step) -> StepRow:
        return step.row(self._at, self._digest.hexdigest()[:DIGITS])

    def _replaces(self, row: StepRow) -> bool:
        return bool(self.rows) and self.rows[-1].start == row.start


class _Step:
    """The events of one step so far."""

    def __init__(self, number: int, start: int) -> None:
        self.number = number
        self.start = start
        self._began_s: float | None = None
        self._last_s = 0.0
        self._tally = Tally()
        self._latency_s: float | None = None
        self._commands: dict[str, CommandRow] = {}
        self._changes: int | None = None
        self._paths: tuple[str, ...] = ()

    def feed(self, event: BaseEvent) -> None:
        self._tally.feed(event)
        if self._began_s is None:
            self._began_s = event.mono_s
        self._last_s = event.mono_s
        match event:
            case CallFinished():
                self._latency_s = event.latency_s
            case ActionStarted():
                self._commands[event.action] = CommandRow(action=event.action, script=event.command[:CUT])
            case ActionFinished():
                started = self._commands.get(event.action) or CommandRow(action=event.action, script="")
                stderr = 0 if event.stderr is None else event.stderr.bytes
                self._commands[event.action] = started.model_copy(
                    update={
                        "ended": event.ended,
                        "exit_code": event.exit_code,
                        "signal": event.signal,
                        "duration_s": event.duration_s,
                        "output_bytes": event.output.bytes + stderr,
                    }
                )
            case Snapshot():
                self._changes = (self._changes or 0) + len(event.changes)
                more = event.changes[: PATHS - len(self._paths)]
                self._paths += tuple(change.path[:CUT] for change in more)

    def row(self, end: int, sha256: str) -> StepRow:
        return StepRow(
            step=self.number,
            start=self.start,
            end=end,
            sha256=sha256,
            seconds=round(max(0.0, self._last_s - (self._began_s or 0.0)), 6),
            replied=self._tally.steps > 0,
            latency_s=self._latency_s,
            failed_calls=self._tally.failed_calls,
            unmetered_calls=self._tally.unmetered_calls,
            usage=self._tally.usage,
            costs=self._tally.costs,
            commands=tuple(self._commands.values()),
            changes=self._changes,
            paths=self._paths,
        )
