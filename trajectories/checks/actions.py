"""Commands: each starts once, finishes once and is observed once, and its output has the recorded hash."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trajectories.checks.contents import Contents
from trajectories.record.events import (
    CUT_OFF,
    ActionFinished,
    ActionStarted,
    CallFinished,
    CallStarted,
    Event,
    Exited,
    Message,
    Resumed,
    TrialStarted,
)

_ADDRESS = re.compile(r"([1-9]\d{0,8})\.([1-9]\d{0,8})")
_CUT_SHORT = frozenset({"interrupted", "disk_full", "harness_defect", "environment_lost"})
"""Causes of an exit at which a command may still run."""


class Actions:
    """Rule `actions`. After `resumed`, a command that was cut off, or that is run again, may start once more."""

    name = "actions"

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._step = 0
        self._index = 0
        self._asked: set[str] = set()
        self._answered: set[str] = set()
        self._started: set[str] = set()
        self._finished: dict[str, str | None] = {}
        """Tool call of each action, by the action's address."""
        self._observed: set[str] = set()
        self._unobserved: set[str] = set()
        self._running: ActionStarted | None = None
        self._again: set[str] = set()
        """Actions that may start, or finish, a second time."""
        self._cut_off: set[str] = set()
        self._imported = False
        """In a trial that was imported before schema 1.2, the submitting command may have no end."""

    def feed(self, event: Event) -> Iterator[str]:
        match event:
            case CallStarted():
                for action in sorted(self._unobserved) if event.message_ids is not None else ():
                    yield f"action {action} has no observation before the next call"
                self._unobserved.clear()
            case CallFinished():
                self._step, self._index = event.step, 0
                self._asked = {call.id for call in event.reply.tool_calls}
                self._answered = set()
            case ActionStarted():
                yield from self._start(event)
            case ActionFinished():
                yield from self._finish(event)
            case Message() if not event.inherited:
                yield from self._message(event)
            case Resumed():
                self._again = self._cut_off
                self._cut_off = set()
                if self._running is not None:
                    self._again.add(self._running.action)
                    self._running = None
            case TrialStarted():
                self._imported = event.imported is not None
            case Exited() if self._running is not None and event.exit.cause not in _CUT_SHORT and not self._imported:
                yield f"action {self._running.action} is still running at the exit"

    def end(self) -> Iterator[str]:
        return iter(())

    def _start(self, event: ActionStarted) -> Iterator[str]:
        action = event.action[:40]
        address = _ADDRESS.fullmatch(event.action)
        if address is None or int(address[1]) != event.step:
            yield f"action {action!r} is not an address of step {event.step}"
        if self._running is not None:
            yield f"action {action} starts while {self._running.action} is running"
        if event.action in self._again:
            self._again.discard(event.action)
            self._finished.pop(event.action, None)
        elif event.action in self._started:
            yield f"action {action} starts a second time"
        elif event.step != self._step:
            yield f"action {action} starts during step {self._step}"
        elif address is not None:
            if int(address[2]) <= self._index:
                yield f"action {action} starts after number {self._index} of its step"
            self._index = int(address[2])
        if event.tool_call_id is not None and event.step == self._step and event.tool_call_id not in self._asked:
            yield f"action {action} answers the tool call {event.tool_call_id[:80]!r}, which the reply does not hold"
        self._started.add(event.action)
        self._running = event

    def _finish(self, event: ActionFinished) -> Iterator[str]:
        action = event.action[:40]
        running = self._running
        if running is None or running.action != event.action:
            if event.action in self._finished:
                yield f"action {action} finishes a second time"
            else:
                yield f"action {action} finishes, but has not started"
        elif (running.tool_call_id, running.step) != (event.tool_call_id, event.step):
            yield f"action {action} finishes with another step or tool call than it started with"
        if event.ended == "exited" and (event.exit_code is None) == (event.signal is None):
            yield f"action {action} exited, but has the exit_code {event.exit_code} and the signal {event.signal}"
        if (event.stderr is not None) != (event.streams == "separate"):
            yield f"action {action} has {event.streams} streams, but {'no' if event.stderr is None else 'a'} stderr"
        if event.ended_environment and event.ended != "oom":
            yield f"action {action} ended its environment, but by its own end it {event.ended}"
        for output in (event.output, event.stderr):
            if output is not None and (problem := self._contents.output_problem(output)):
                yield f"action {action}: {problem}"
        self._running = None
        self._finished[event.action] = event.tool_call_id
        if event.ended in CUT_OFF:
            self._cut_off.add(event.action)
        elif event.action not in self._observed and event.ended != "unknown":
            self._unobserved.add(event.action)

    def _message(self, event: Message) -> Iterator[str]:
        call = event.tool_call_id
        if (call is not None) != (event.role == "tool"):
            yield f"message {event.id[:40]!r} has the role {event.role}, but the tool call {call!r}"
        if event.action is not None:
            action = event.action[:40]
            if event.action not in self._finished:
                yield f"an observation is of action {action}, which has not finished"
            elif self._finished[event.action] != call:
                yield f"the observation of action {action} answers the tool call {call!r} instead of the action's"
            if event.action in self._observed:
                yield f"action {action} has two observations"
            self._observed.add(event.action)
            self._unobserved.discard(event.action)
        if call is not None:
            if call in self._answered:
                yield f"the tool call {call[:80]!r} is answered twice"
            elif call not in self._asked:
                yield f"message {event.id[:40]!r} answers the tool call {call[:80]!r}, which the reply does not hold"
            self._answered.add(call)
