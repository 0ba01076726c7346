"""What each observation cost in all later prompts: its tokens times the calls that came after it.

Tokens come from the provider where usage is known: a prompt is the one before, the reply to it, and what was added,
so with one observation the difference is its size, wrapping included (measured on 600 calls: the tokenizer's count
plus some 15 tokens and ten percent). Several observations share the difference in proportion to their texts.
Reasoning counts as resent or not, whichever is nearer to the texts. Without usage the tokenizer counts, else bytes do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel

from trajectories.analysis.tokens import Counter as TokenCounter, token_counter
from trajectories.record.events import BaseEvent, CallFinished, Message
from trajectories.record.usage import Usage

LISTED = 10
How = Literal["usage", "tokenizer", "estimated"]


class ObservationCost(BaseModel):
    """One observation and what it added."""

    action: str | None
    """The address of the action that it is of."""
    command: str
    """The beginning of the action's script, on one line; empty if it is not known."""
    tokens: int
    how: How
    """`usage`: from the provider's counts; `tokenizer`, `estimated`: from the text."""
    later_calls: int
    added_tokens: int
    """`tokens` times `later_calls`."""


class ObservationCosts(BaseModel):
    """All observations of a trial, those included that a fork took over from its parent."""

    count: int
    tokens: int
    added_tokens: int
    prompt_tokens: int | None
    """Of all calls together; None if no call's usage is known."""
    how: dict[How, int]
    """How many were counted in which way."""
    largest: list[ObservationCost]
    """Those that added most, most first."""


@dataclass
class _Seen:
    action: str | None
    command: str
    calls_before: int
    tokens: int = 0
    how: How = "estimated"


@dataclass
class Observations:
    """Feed it messages and calls in order; the texts are kept only until the next call."""

    count_tokens: tuple[TokenCounter, How] | None = None
    """How to count a text; by default the tokenizer where there is one."""
    _seen: list[_Seen] = field(default_factory=list)
    _waiting: list[tuple[_Seen | None, str]] = field(default_factory=list)
    _calls: int = 0
    _prompt_tokens: int | None = None
    _last: Usage | None = None

    def feed(self, event: BaseEvent, command: str = "") -> None:
        """Take in one event; `command` is the script that an observation is of."""
        match event:
            case Message(why="observation"):
                seen = _Seen(event.action, command, self._calls)
                self._seen.append(seen)
                self._waiting.append((seen, event.content))
            case Message():
                self._waiting.append((None, event.content))
            case CallFinished():
                self._close(event.usage)
                self._calls += 1
                self._last = event.usage
                if event.usage is not None and event.usage.prompt:
                    self._prompt_tokens = (self._prompt_tokens or 0) + event.usage.prompt

    def costs(self) -> ObservationCosts:
        """The costs up to here; calls without a reply count for nothing."""
        self._close(None)
        found = [
            ObservationCost(
                action=seen.action,
                command=seen.command,
                tokens=seen.tokens,
                how=seen.how,
                later_calls=self._calls - seen.calls_before,
                added_tokens=seen.tokens * (self._calls - seen.calls_before),
            )
            for seen in self._seen
        ]
        how: dict[How, int] = {}
        for cost in found:
            how[cost.how] = how.get(cost.how, 0) + 1
        return ObservationCosts(
            count=len(found),
            tokens=sum(cost.tokens for cost in found),
            added_tokens=sum(cost.added_tokens for cost in found),
            prompt_tokens=self._prompt_tokens,
            how=how,
            largest=sorted(found, key=lambda cost: -cost.added_tokens)[:LISTED],
        )

    def _close(self, usage: Usage | None) -> None:
        """Give every waiting observation its tokens."""
        waiting, self._waiting = self._waiting, []
        if not any(seen for seen, _ in waiting):
            return
        grown = self._grown(usage)
        how: How = "usage"
        counted = [1]
        if len(grown) != 1 or len(waiting) > 1:
            count, how = self.count_tokens or token_counter()
            counted = [count(text) for _, text in waiting]
        added = min(grown, key=lambda tokens: abs(tokens - sum(counted)), default=None)
        for (seen, _), tokens in zip(waiting, counted, strict=True):
            if seen is None:
                continue
            if added is None:
                seen.tokens, seen.how = tokens, how
            else:
                share = tokens / sum(counted) if sum(counted) else 1 / len(waiting)
                seen.tokens, seen.how = round(added * share), "usage"

    def _grown(self, usage: Usage | None) -> set[int]:
        """Tokens by which the prompt grew beside the reply, its reasoning taken as sent back or as not."""
        last = self._last
        if usage is None or last is None or last.output is None or not usage.prompt or not last.prompt:
            return set()
        grown = usage.prompt - last.prompt - last.output
        return {tokens for tokens in (grown, grown + (last.reasoning or 0)) if tokens > 0}
