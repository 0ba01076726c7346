"""The state machine of a trial: events in, instructions out.

Everything that decides what happens next lives in this file, and no I/O: no clock, no model, no
container. The driver performs an instruction, records the events that come of it, and feeds them
back. Replay, fork and resume feed recorded events to the same machine.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Literal

from agent.loop.actions import Command, Malformed, parse
from agent.loop.instructions import (
    Ask as Ask,
    Instruction as Instruction,
    Run as Run,
    Say as Say,
    Stop as Stop,
    Texts as Texts,
)
from agent.models.protocol import ActionFormat
from trajectories.reading.tally import Tally
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    BaseEvent,
    CallFailed,
    CallFinished,
    Limits,
    Message,
    Why,
)
from trajectories.record.exits import Exit

STEPS_LEFT_TO_WARN = 20
SECONDS_LEFT_TO_WARN = 600.0


class Loop:
    """One trial. Alternate `next` (what to do) and `feed` (what came of it)."""

    def __init__(self, opening: list[Say], limits: Limits, action_format: ActionFormat, texts: Texts) -> None:
        self.tally = Tally()
        self._limits = limits
        self._format = action_format
        self._texts = texts
        self._todo: deque[Say | Run] = deque(opening)
        self._step = 1
        self._try = 1
        self._format_errors = 0
        self._exit: Exit | None = None

    def next(self, now_s: float) -> Instruction:
        """What to do now; `now_s` is the time on the events' clock."""
        if self._todo:
            head = self._todo[0]
            if isinstance(head, Say):
                return head
            left = self._seconds_left(now_s)
            if left is not None and left <= 0:
                return Stop(Exit.of("time"))
            within = min(self._limits.command_s, left or self._limits.command_s)
            return replace(head, deadline_s=within)
        if exit := self._exit or self._limit_reached(now_s):
            return Stop(exit)
        return Ask(self._step, self._try, self._seconds_left(now_s))

    def feed(self, event: BaseEvent) -> None:
        """Take in what happened. Every recorded event may be fed, in order."""
        self.tally.feed(event)
        head = self._todo[0] if self._todo else None
        match event:
            case Message(inherited=False) if isinstance(head, Say):
                self._todo.popleft()
            case CallFailed():
                self._call_failed(event)
            case CallFinished():
                self._step, self._try = event.step + 1, 1
                self._take(event)
            case ActionStarted() if isinstance(head, Run):
                self._todo.popleft()
            case ActionFinished():
                self._observe(event)

    def say(self, say: Say) -> None:
        """Have this said before the next call, after everything that is still due."""
        self._todo.append(say)

    def blind_limits(self) -> list[str]:
        """Limits that cannot be kept any more, because the use of some call is unknown."""
        limits, tally = self._limits, self.tally
        tokens = ["token"] if limits.tokens is not None and tally.unmetered_calls else []
        return tokens + (["cost"] if limits.cost_usd is not None and tally.unpriced_calls else [])

    def _call_failed(self, event: CallFailed) -> None:
        if event.retry:
            self._try = event.try_ + 1
        elif event.error == "gave_up":
            self._exit = Exit.of("gave_up", event.detail)
        elif event.error == "context_overflow":
            self._exit = Exit.of("context", event.detail)
        else:
            out_of_time = self._limit_reached(event.mono_s) if event.error == "timeout" else None
            self._exit = out_of_time or Exit.of("model_unavailable", event.detail)

    def _take(self, event: CallFinished) -> None:
        if event.reply.refusal:
            self._exit = Exit.of("refusal", " ".join(event.reply.refusal.split())[:200])
            return
        asked = parse(event.reply, self._format, event.finish_reason)
        usable = any(isinstance(item, Command) for item in asked)
        self._format_errors = 0 if usable else self._format_errors + 1
        for index, item in enumerate(asked, start=1):
            if self._exit is not None:
                self._answer(item, self._texts.not_executed("submitted"), "not_executed")
            elif isinstance(item, Malformed):
                self._answer(item, self._texts.format_error(item.problem, self._format), "format_error")
            elif item.submits:
                self._exit = Exit.of("submitted")
                self._answer(item, self._texts.not_executed("submitted"), "not_executed")
            else:
                action = f"{event.step}.{index}"
                self._todo.append(Run(action, event.step, item.script, item.tool_call_id, self._limits.command_s))
        if self._format_errors >= self._limits.format_errors:
            self._exit = Exit.of("format_errors", f"{self._format_errors} unusable replies in a row")

    def _observe(self, event: ActionFinished) -> None:
        if event.ended in ("supervisor_lost", "environment_lost"):
            self._todo.clear()
            self._exit = Exit.of("environment_lost", f"at action {event.action}")
            return
        steps_left, seconds_left = self._warnings(event.mono_s)
        content = self._texts.observation(event, steps_left, seconds_left)
        role: Literal["user", "tool"] = "user" if event.tool_call_id is None else "tool"
        self._todo.appendleft(Say(role, content, "observation", event.tool_call_id, event.action))

    def _answer(self, item: Command | Malformed, content: str, why: Why) -> None:
        if item.tool_call_id is not None or why == "format_error":
            self._todo.append(Say("user" if item.tool_call_id is None else "tool", content, why, item.tool_call_id))

    def _warnings(self, now_s: float) -> tuple[int | None, float | None]:
        """Steps and seconds left, each None unless they are few and this is the step's last observation."""
        if any(isinstance(item, Run) for item in self._todo):
            return None, None
        steps = None if self._limits.steps is None else self._limits.steps - self.tally.steps
        seconds = self._seconds_left(now_s)
        return (
            steps if steps is not None and steps < STEPS_LEFT_TO_WARN else None,
            seconds if seconds is not None and seconds < SECONDS_LEFT_TO_WARN else None,
        )

    def _seconds_left(self, now_s: float) -> float | None:
        return None if self._limits.time_s is None else self._limits.time_s - self.tally.wall_s(now_s)

    def _limit_reached(self, now_s: float) -> Exit | None:
        limits, tally = self._limits, self.tally
        if limits.steps is not None and tally.steps >= limits.steps:
            return Exit.of("steps", f"{tally.steps} of {limits.steps} steps")
        if limits.tokens is not None and tally.usage.total >= limits.tokens:
            return Exit.of("tokens", f"{tally.usage.total} of {limits.tokens} tokens")
        if limits.cost_usd is not None and tally.spent_usd >= limits.cost_usd:
            return Exit.of("cost", f"${tally.spent_usd:.4f} of ${limits.cost_usd:.4f}")
        left = self._seconds_left(now_s)
        out_of_time = left is not None and left <= 0
        return Exit.of("time", f"{tally.wall_s(now_s):.1f} of {limits.time_s:g} s") if out_of_time else None
