"""The newest facts about a running trial or evaluation, from its events and notes: everything that a view shows.

Every text in it is safe for a terminal and on one line. Events come masked from the recorder; notes are masked here.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from trajectories.reading.totals.tally import Tally
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    Answered,
    Asked,
    BaseEvent,
    CallFailed,
    CallFinished,
    CallStarted,
    EnvStarted,
    Evaluated,
    EvaluationStarted,
    Exited,
    Limits,
    Paused,
    Snapshot,
    Warned,
)
from trajectories.record.texts.text import printable
from trajectories.record.words import WAITS
from trajectories.writing import excerpts

_LONGEST = 2000
"""Largest number of characters of a text that is kept: more than any terminal shows on the lines that it gets."""
_READ = 20_000
"""Number of characters of a reply in which words are looked for."""
_KEPT_COMMANDS = 8
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(^ {0,3}\1|\Z)", re.DOTALL | re.MULTILINE)
"""A block of code in a reply. Its command is shown when it runs."""


@dataclass
class Command:
    """A command of the model, with the end that it came to."""

    script: str
    """Beginning of the script, on one line."""
    result: str = ""
    """Its end in a few words; empty while it runs."""
    ok: bool = True
    """False if it failed, or was ended."""


class ProgressState:
    """The phase of a trial, its last commands, the model's last words, the newest warning, and what it has used.

    Times are those of `time.monotonic`.
    """

    def __init__(
        self, title: str, limits: Limits, before: Iterable[BaseEvent] = (), *, asks_person: bool = False
    ) -> None:
        self.asks_person = asks_person
        """True if the agent's questions are put to a person in this terminal."""
        self.title = on_one_line(title)
        """Name of the trial or evaluation that is shown."""
        self.phase = "starting"
        self.phase_began: float | None = None
        """Begin of the phase; None before the first event."""
        self.phase_limit_s: float | None = None
        """Longest time that the phase may take, if there is one."""
        self.commands: deque[Command] = deque(maxlen=_KEPT_COMMANDS)
        """The last commands, the newest at the end."""
        self.words = ""
        """The model's last words, without blocks of code."""
        self.warning = ""
        self.answer = ""
        """End of the last question, in a few words."""
        self._limits = limits
        self._tally = Tally()
        for event in before:
            self._tally.feed(event)
        self._event_s = 0.0
        self._fed_at: float | None = None

    def feed(self, event: BaseEvent, at: float) -> None:
        """Take over the facts of an event that was written at this time."""
        self._tally.feed(event)
        self._event_s, self._fed_at = event.mono_s, at
        match event:
            case EnvStarted(continues=str()):
                self._enter(f"{event.kind} continues after the turn before", at)
            case EnvStarted():
                self._enter(f"{event.kind} started in {event.seconds:.1f} s", at)
            case CallStarted():
                self._enter(f"step {event.step}: waiting for the model", at)
            case CallFailed():
                retry = f"; next try in {event.wait_s:.0f} s" if event.retry else ""
                self.warning = on_one_line(f"call failed: {event.error}: {event.detail}{retry}")
                self._enter(f"step {event.step}: waiting before the next try", at, event.wait_s)
            case CallFinished():
                self.warning = ""
                self.words = _words(event.reply.text or event.reply.refusal) or self.words
                self._enter(f"step {event.step}: reading the reply", at)
            case ActionStarted():
                self.commands.append(Command(on_one_line(event.command)))
                self._enter(f"step {event.step}: running", at, event.deadline_s)
            case ActionFinished():
                if self.commands:
                    self.commands[-1].result = _result(event)
                    self.commands[-1].ok = event.ended == "exited" and event.exit_code == 0
                self._enter(f"step {event.step}: looking at the workspace", at)
            case Asked():
                self._enter(f"step {event.step}: question {event.question} to the expert", at)
            case Answered():
                self.answer = _answer(event)
            case Snapshot(complete=False):
                self.warning = on_one_line(f"the snapshot of step {event.step} is not whole: {event.why_incomplete}")
            case Warned():
                label = "not restored: " if event.kind == "not_restored" else ""
                self.warning = on_one_line(f"{label}{event.text}")
            case Paused() if event.why in WAITS:
                self._enter("waiting until the next call may leave", at)
            case Exited():
                detail = f" ({event.exit.detail})" if event.exit.detail else ""
                self._enter(on_one_line(f"exit: {event.exit}{detail}"), at)
            case EvaluationStarted():
                self._enter(f"evaluating with {on_one_line(event.evaluator)}", at)
            case Evaluated():
                self._enter("evaluated", at)

    def note(self, line: str, at: float) -> None:
        """Show a line that belongs to no event in place of the phase."""
        self._enter(on_one_line(excerpts.masked(line)), at)

    @property
    def command(self) -> Command:
        """The newest command; an empty one before the first."""
        return self.commands[-1] if self.commands else Command("")

    def budget(self, now: float) -> list[str]:
        """Return the used part of each limit, then the tokens by kind: each a few words."""
        limits, tally = self._limits, self._tally
        since = 0.0 if self._fed_at is None else max(0.0, now - self._fed_at)
        wall_s = tally.wall_s(self._event_s + since)
        usage = tally.usage
        kinds = {
            "cached": usage.cache_read,
            "uncached": usage.prompt - (usage.cache_read or 0) if usage.prompt else usage.input,
            "output": usage.output,
        }
        return [
            _used("step", tally.steps, limits.steps),
            _used("time", clock(wall_s), None if limits.time_s is None else clock(limits.time_s)),
            _used("cost", self.cost(), None if limits.cost_usd is None else f"${limits.cost_usd:.2f}"),
            _used("tokens", f"{usage.total:,}", None if limits.tokens is None else f"{limits.tokens:,}"),
            *(f"{kind} {tokens:,}" for kind, tokens in kinds.items() if tokens is not None),
        ]

    @property
    def called(self) -> bool:
        """True if the model was called: only then there is something to count."""
        return bool(self._tally.steps or self._tally.unpriced_calls or self._tally.failed_calls)

    def cost(self) -> str:
        """Return the dollars spent so far; a lower bound is marked as such."""
        bound = "at least " if self._tally.unpriced_calls else ""
        return f"{bound}${self._tally.spent_usd:.4f}"

    def _enter(self, phase: str, at: float, limit_s: float | None = None) -> None:
        self.phase, self.phase_began, self.phase_limit_s = phase, at, limit_s


def on_one_line(text: str) -> str:
    """Return the beginning of a text on one line, safe for a terminal."""
    return printable(" ".join(text[:_LONGEST].split()))


def clock(seconds: float) -> str:
    """Return a duration as hours, minutes and seconds."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


def _words(reply: str) -> str:
    """Return the words of a reply; empty if it is only a command."""
    return on_one_line(_FENCE.sub(" ", reply[:_READ]))


def _answer(event: Answered) -> str:
    """Return the end of one try to get an answer."""
    if event.status == "given":
        return f"answered: {on_one_line(event.text)}"
    if event.status == "nobody":
        return "no answer available"
    return f"answer {'refused' if event.status == 'refused' else 'withheld'}: {event.broken or event.rule}"


def _result(event: ActionFinished) -> str:
    """Return the end of an action in a few words."""
    if event.ended != "exited":
        return f"{event.ended} after {event.duration_s or 0.0:.1f} s"
    status = f"signal {event.signal}" if event.signal is not None else f"exit {event.exit_code}"
    return f"{status}, {event.duration_s or 0.0:.1f} s"


def _used(name: str, used: object, limit: object | None) -> str:
    return f"{name} {used}" if limit is None else f"{name} {used} of {limit}"
