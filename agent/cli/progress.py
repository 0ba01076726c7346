"""What a person sees while a trial runs: one live view in a terminal, else a line a step.

Fed with the recorded events; keeps no state that the record does not have.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.cli.output import stderr
from trajectories.reading.tally import Tally
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    BaseEvent,
    CallFailed,
    CallFinished,
    CallStarted,
    EnvStarted,
    EvaluationStarted,
    Exited,
    Limits,
    TrialStarted,
    Warned,
)
from trajectories.record.text import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from agent.trial.order import Order

_COMMAND_WIDTH = 100


@contextmanager
def progress(order: Order, before: Iterable[BaseEvent] = ()) -> Iterator[Callable[[BaseEvent], None]]:
    """An observer of the trial's events; the view ends with the `with`. `before`: what a resumed trial has done."""
    if order.model.info.ref.name == "human":
        yield lambda _event: None  # the person sees the trial itself
    elif sys.stderr is not None and sys.stderr.isatty():
        state = _State(order.limits, before)
        with _live(state) as observer, _told_by_environments(state.starting):
            yield observer
    else:
        plain = PlainProgress(_State(order.limits, before))
        with _told_by_environments(plain.say):
            yield plain.show


@contextmanager
def _told_by_environments(say: Callable[[str], None]) -> Iterator[None]:
    """Also show what no event tells: an image of gigabytes is pulled, or built, before the environment has started."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(printable(record.getMessage()))

    logger, handler = logging.getLogger("environments"), Handler()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


class _State:
    """The last of everything that the views show."""

    def __init__(self, limits: Limits, before: Iterable[BaseEvent] = ()) -> None:
        self.limits = limits
        self.tally = Tally()
        for event in before:
            self.tally.feed(event)
        self.phase = "starting"
        self.command = ""
        self.result = ""
        self.note = ""
        self._at_s = 0.0
        self._seen = time.monotonic()

    def starting(self, line: str) -> None:
        """What comes before the events."""
        self.phase = line

    def feed(self, event: BaseEvent) -> None:
        self.tally.feed(event)
        self._at_s, self._seen = event.mono_s, time.monotonic()
        match event:
            case EnvStarted():
                self.phase = f"{event.kind} started in {event.seconds:.1f} s"
            case CallStarted():
                self.phase = f"step {event.step}: waiting for the model"
            case CallFailed():
                again = f"; again in {event.wait_s:.0f} s" if event.retry else ""
                self.note = f"call failed: {event.error}: {printable(event.detail)}{again}"
            case CallFinished():
                self.note = ""
            case ActionStarted():
                self.phase = f"step {event.step}: running"
                self.command, self.result = one_line(event.script), ""
            case ActionFinished():
                self.result = result_of(event)
            case Warned():
                label = "not restored: " if event.kind == "not_restored" else ""
                self.note = printable(f"{label}{event.text}")
            case Exited():
                detail = f" ({printable(event.exit.detail)})" if event.exit.detail else ""
                self.phase = f"exit: {event.exit}{detail}"
            case EvaluationStarted():
                self.phase = "evaluating"

    @property
    def now_s(self) -> float:
        """The record's clock, now."""
        return self._at_s + time.monotonic() - self._seen

    def budget(self) -> str:
        """Used and remaining of each limit."""
        limits, tally = self.limits, self.tally
        wall_s = tally.wall_s(self.now_s)
        parts = [
            _of("step", tally.steps, limits.steps),
            _of("time", _clock(wall_s), None if limits.time_s is None else _clock(limits.time_s)),
            _of("tokens", f"{tally.usage.total:,}", None if limits.tokens is None else f"{limits.tokens:,}"),
            _of("cost", self.cost(), None if limits.cost_usd is None else f"${limits.cost_usd:.2f}"),
        ]
        return "   ".join(parts)

    def cost(self) -> str:
        """Dollars so far; a lower bound is said to be one."""
        bound = "at least " if self.tally.unpriced_calls else ""
        return f"{bound}${self.tally.spent_usd:.4f}"


@contextmanager
def _live(state: _State) -> Iterator[Callable[[BaseEvent], None]]:
    from rich.console import Group
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    spinner = Spinner("dots")

    def view() -> RenderableType:
        spinner.update(text=Text(state.phase, "bold"))
        lines: list[RenderableType] = [spinner, Text(state.budget(), "dim")]
        if state.command:
            lines.append(Text(f"$ {state.command}   {state.result}", "cyan"))
        if state.note:
            lines.append(Text(state.note, "yellow"))
        return Group(*lines)

    with Live(get_renderable=view, console=stderr(), refresh_per_second=4, transient=True):
        yield state.feed


class PlainProgress:
    """One line for each thing that happened, on standard error."""

    def __init__(self, state: _State) -> None:
        self._state = state

    def show(self, event: BaseEvent) -> None:
        """Print the event's line, if it has one."""
        state = self._state
        state.feed(event)
        match event:
            case TrialStarted():
                self._print(
                    printable(f"trial {event.trial}: {event.task.id} by {event.model.asked} in {event.environment}")
                )
            case EnvStarted():
                self._print(state.phase)
                for lost in event.lost:
                    self._print(f"note: {lost}")
            case ActionFinished():
                self._print(f"step {event.step}   {state.result}   {state.cost()}   $ {state.command}")
            case CallFailed() | Warned():
                self._print(state.note)
            case Exited() | EvaluationStarted():
                self._print(state.phase)

    def say(self, line: str) -> None:
        """Print a line that belongs to no event."""
        self._print(line)

    @staticmethod
    def _print(line: str) -> None:
        print(line, file=sys.stderr, flush=True)


def one_line(script: str) -> str:
    """A script's beginning, on one line, safe for a terminal."""
    text = printable(" ".join(script.split()))
    return text if len(text) <= _COMMAND_WIDTH else text[: _COMMAND_WIDTH - 3] + "..."


def result_of(event: ActionFinished) -> str:
    """How an action ended, in a word or two."""
    if event.ended != "exited":
        return f"{event.ended} after {event.duration_s or 0.0:.1f} s"
    how = f"signal {event.signal}" if event.signal is not None else f"exit {event.exit_code}"
    return f"{how}, {event.duration_s or 0.0:.1f} s"


def _of(name: str, used: object, limit: object | None) -> str:
    return f"{name} {used}" if limit is None else f"{name} {used} of {limit}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
