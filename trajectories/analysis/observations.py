"""Costs of each observation in all later prompts: its tokens times the number of calls that came after it.

If usage is known, the provider's counts are used. A prompt consists of the previous prompt, the reply to it, and new
messages, so the difference is the size of a single new observation, wrapping included (measured on 600 calls: the
tokenizer's count plus some 15 tokens and ten percent). Several observations share the difference in proportion to their
texts. Reasoning is taken as sent back or not, whichever is closer to the texts. Without usage the tokenizer counts the
text; without a tokenizer the tokens are estimated from its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel

from trajectories.analysis.tokens import TokenCounter, token_counter
from trajectories.record.events import BaseEvent, CallFinished, Message
from trajectories.record.usage import Usage

LISTED = 10
"""Number of most expensive observations that a report lists."""
TokenSource = Literal["usage", "tokenizer", "estimated"]


class ObservationCost(BaseModel):
    """One observation and the tokens that it added to later prompts."""

    action: str | None
    """Address of the action that it answers; None if it answers none."""
    command: str
    """Beginning of the action's script, on one line; empty if it is unknown."""
    tokens: int
    how: TokenSource
    """Source of `tokens`: `usage` means the provider's counts, `tokenizer` and `estimated` the text."""
    later_calls: int
    added_tokens: int
    """Product of `tokens` and `later_calls`."""


class ObservationCosts(BaseModel):
    """All observations of a trial, including those that a fork inherited from its parent."""

    count: int
    tokens: int
    added_tokens: int
    prompt_tokens: int | None
    """Prompt tokens of all calls; None if no call's usage is known."""
    how: dict[TokenSource, int]
    """Number of observations by the source of their tokens."""
    largest: list[ObservationCost]
    """Observations that added the most tokens, largest first."""


@dataclass
class _Observation:
    action: str | None
    command: str
    calls_before: int
    tokens: int = 0
    how: TokenSource = "estimated"


@dataclass
class Observations:
    """Counts the observations' tokens from messages and calls in order; keeps texts only until the next call."""

    count_tokens: tuple[TokenCounter, TokenSource] | None = None
    """Function that counts a text's tokens, and its name; by default the tokenizer, if there is one."""
    _observations: list[_Observation] = field(default_factory=list)
    _waiting: list[tuple[_Observation | None, str]] = field(default_factory=list)
    _calls: int = 0
    _prompt_tokens: int | None = None
    _last: Usage | None = None

    def feed(self, event: BaseEvent, command: str = "") -> None:
        """Process one event; `command` is the script that an observation answers."""
        match event:
            case Message(why="observation"):
                observation = _Observation(event.action, command, self._calls)
                self._observations.append(observation)
                self._waiting.append((observation, event.content))
            case Message():
                self._waiting.append((None, event.content))
            case CallFinished():
                self._close(event.usage)
                self._calls += 1
                self._last = event.usage
                if event.usage is not None and event.usage.prompt:
                    self._prompt_tokens = (self._prompt_tokens or 0) + event.usage.prompt

    def costs(self) -> ObservationCosts:
        """Return the costs so far; calls without a reply do not count."""
        self._close(None)
        costs = [
            ObservationCost(
                action=observation.action,
                command=observation.command,
                tokens=observation.tokens,
                how=observation.how,
                later_calls=self._calls - observation.calls_before,
                added_tokens=observation.tokens * (self._calls - observation.calls_before),
            )
            for observation in self._observations
        ]
        how: dict[TokenSource, int] = {}
        for cost in costs:
            how[cost.how] = how.get(cost.how, 0) + 1
        return ObservationCosts(
            count=len(costs),
            tokens=sum(cost.tokens for cost in costs),
            added_tokens=sum(cost.added_tokens for cost in costs),
            prompt_tokens=self._prompt_tokens,
            how=how,
            largest=sorted(costs, key=lambda cost: -cost.added_tokens)[:LISTED],
        )

    def _close(self, usage: Usage | None) -> None:
        """Give every waiting observation its tokens."""
        waiting, self._waiting = self._waiting, []
        if not any(observation for observation, _ in waiting):
            return
        growths = self._growths(usage)
        how: TokenSource = "usage"
        counts = [1]
        if len(growths) != 1 or len(waiting) > 1:
            count, how = self.count_tokens or token_counter()
            counts = [count(text) for _, text in waiting]
        added = min(growths, key=lambda tokens: abs(tokens - sum(counts)), default=None)
        for (observation, _), tokens in zip(waiting, counts, strict=True):
            if observation is None:
                continue
            if added is None:
                observation.tokens, observation.how = tokens, how
            else:
                share = tokens / sum(counts) if sum(counts) else 1 / len(waiting)
                observation.tokens, observation.how = round(added * share), "usage"

    def _growths(self, usage: Usage | None) -> set[int]:
        """Return possible growths of the prompt beside the reply: with its reasoning sent back, or without."""
        last = self._last
        if usage is None or last is None or last.output is None or not usage.prompt or not last.prompt:
            return set()
        grown = usage.prompt - last.prompt - last.output
        return {tokens for tokens in (grown, grown + (last.reasoning or 0)) if tokens > 0}
