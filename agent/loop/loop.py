"""The state machine of our own agent: events in, instructions out.

Every decision about what happens next is in this file, and no I/O: no clock, no model, no container. The driver
performs an instruction, records the events that result, and feeds them back. Fork and resume feed recorded events to
the same machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from agent.loop.actions import Action, Command, Malformed, Question, means_to_submit, nearly_submits, parse
from agent.loop.instructions import Ask, Consult, Instruction, Run, Say, Stop, Texts
from agent.loop.remaining import NOTHING_TO_TELL, Remaining, remaining
from agent.models.protocol import ActionFormat, Fence
from agent.trial.limits import LimitCheck
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    Answered,
    Asked,
    BaseEvent,
    CallFailed,
    CallFinished,
    Message,
    Paused,
    Resumed,
    Why,
)
from trajectories.record.exits import Exit
from trajectories.record.words import WAITS


class Loop:
    """The loop of one trial. Alternate `next` (the next instruction) and `feed` (the events that it led to)."""

    def __init__(
        self,
        opening: Iterable[Say],
        limits: LimitCheck,
        action_format: ActionFormat,
        fence: Fence,
        texts: Texts,
        questions: int = 0,
    ) -> None:
        """Begin a trial; `questions` is the number of questions that its expert answers, if it has one."""
        self._questions_left = questions
        self._questions = 0
        """Number of questions that were asked."""
        self._limits = limits
        self._format = action_format
        self._fence = fence
        self._texts = texts
        self._todo: deque[Say | Run | Consult] = deque(opening)
        self._step = 1
        self._try = 1
        self._tries_before = 0
        """Tries of this call before the trial was last resumed."""
        self._format_errors = 0
        self._near_submit = False
        """True if the command that runs holds the end marker."""
        self._exit: Exit | None = None
        self._waits = False
        """True if the last pause was a wait before a call, which changes nothing."""

    def next(self, now_s: float) -> Instruction:
        """Return the next instruction; `now_s` is the time on the events' clock."""
        left_s = self._limits.seconds_left(now_s)
        if self._todo:
            head = self._todo[0]
            if isinstance(head, Say):
                return head
            if isinstance(head, Consult):
                exit = self._limits.reached(now_s)  # nobody is asked for an agent that could not use the answer
                return head if exit is None else Stop(exit)
            if exit := self._limits.out_of_time(now_s):
                return Stop(exit)
            deadline_s = self._limits.limits.command_s
            return replace(head, deadline_s=deadline_s if left_s is None else min(deadline_s, left_s))
        if exit := self._exit or self._limits.reached(now_s):
            return Stop(exit)
        return Ask(self._step, self._try, left_s, self._try - self._tries_before)

    def feed(self, event: BaseEvent) -> None:
        """Take in one event. Every recorded event may be fed, in order."""
        self._limits.feed(event)
        head = self._todo[0] if self._todo else None
        match event:
            case Message(inherited=False) if isinstance(head, Say):
                self._todo.popleft()
            case CallFailed():
                self._call_failed(event)
            case CallFinished():
                self._step, self._try, self._tries_before = event.step + 1, 1, 0
                self._take(event)
            case Paused():
                self._waits = event.why in WAITS
            case Resumed() if not self._waits:
                self._tries_before = self._try - 1
            case ActionStarted() if isinstance(head, Run):
                self._near_submit = nearly_submits(head.script)
                self._todo.popleft()
            case ActionFinished():
                self._observe(event)
            case Asked() if isinstance(head, Consult):
                self._question_asked(head)
            case Answered() if isinstance(head, Consult):
                self._question_answered(head, event)

    def say(self, say: Say) -> None:
        """Add a message before the next call, after everything that is still due."""
        self._todo.append(say)

    def _call_failed(self, event: CallFailed) -> None:
        if event.retry:
            self._try = event.try_ + 1
        elif event.error == "gave_up":
            self._exit = Exit.of("gave_up", event.detail)
        elif event.error == "context_overflow":
            self._exit = Exit.of("context", event.detail)
        else:
            limit = self._limits.reached(event.mono_s) if event.error == "timeout" else None
            self._exit = limit or Exit.of("model_unavailable", event.detail)

    def _take(self, event: CallFinished) -> None:
        """Plan the commands that a reply asks for, or the answer to a reply that cannot be used."""
        if event.reply.refusal:
            self._exit = Exit.of("refusal", " ".join(event.reply.refusal.split())[:200])
            return
        items = parse(event.reply, self._format, event.finish_reason, self._fence)
        usable = any(isinstance(item, Command | Question) for item in items)
        self._format_errors = 0 if usable else self._format_errors + 1
        command_s = self._limits.limits.command_s
        for index, item in enumerate(items, start=1):
            if self._exit is not None:
                self._answer(item, self._texts.not_executed("submitted"), "not_executed")
            elif isinstance(item, Malformed):
                is_last = not usable and index == len(items)
                rest = remaining(self._limits, event.mono_s) if is_last else NOTHING_TO_TELL
                near = means_to_submit(event.reply)
                text = self._texts.format_error(item.problem, self._format, rest, near_submit=near)
                self._answer(item, text, "format_error")
            elif isinstance(item, Question):
                action = f"{event.step}.{index}"
                number, left = self._questions + 1, self._questions_left
                self._todo.append(Consult(number, action, event.step, item.text, item.tool_call_id, left))
            elif item.submits:
                self._exit = Exit.of("submitted")
                self._answer(item, self._texts.not_executed("submitted"), "not_executed")
            else:
                self._todo.append(Run(f"{event.step}.{index}", event.step, item.script, item.tool_call_id, command_s))
        if self._format_errors >= self._limits.limits.format_errors:
            self._exit = Exit.of("format_errors", f"{self._format_errors} unusable replies in a row")

    def _observe(self, event: ActionFinished) -> None:
        if event.ended in ("supervisor_lost", "environment_lost"):
            self._todo.clear()
            self._exit = Exit.of("environment_lost", f"at action {event.action}")
            return
        content = self._texts.observation(event, self._remaining(event.mono_s), near_submit=self._near_submit)
        role: Literal["user", "tool"] = "user" if event.tool_call_id is None else "tool"
        self._todo.appendleft(Say(role, content, "observation", event.tool_call_id, event.action))

    def _question_asked(self, consult: Consult) -> None:
        self._questions = consult.question
        self._questions_left = max(0, consult.left - 1)
        self._todo[0] = replace(consult, recorded=True)

    def _question_answered(self, consult: Consult, event: Answered) -> None:
        if event.status == "refused":
            self._todo[0] = replace(consult, try_=event.try_ + 1)
            return
        content = self._texts.answer(event.status if consult.left else "none_left", event.text, self._questions_left)
        role: Literal["user", "tool"] = "user" if consult.tool_call_id is None else "tool"
        self._todo[0] = Say(role, content, "answer", consult.tool_call_id)

    def _answer(self, item: Action, content: str, why: Why) -> None:
        if item.tool_call_id is not None or why == "format_error":
            self._todo.append(Say("user" if item.tool_call_id is None else "tool", content, why, item.tool_call_id))

    def _remaining(self, now_s: float) -> Remaining:
        """Return what an observation tells of the limits: nothing unless it is the last one of its step."""
        if any(isinstance(item, Run) for item in self._todo):
            return NOTHING_TO_TELL
        return remaining(self._limits, now_s)
