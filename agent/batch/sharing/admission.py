"""Decides when a call may leave: the budget and the concurrency of its provider, for all workers of a batch.

Pure, with the time as an argument. Calls that cannot leave wait in the order in which they asked. A call that does not
fit into the budget waits while others are in flight, because they may use less than they have reserved; when none is,
its trial stops. A model with a permanent failure (key, name, access) gets no further call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from agent.batch.sharing.concurrency import Provider, provider_of
from agent.batch.sharing.ledger import Ledger
from agent.trial.gate import CallBound

CallId = tuple[str, int]
"""Name of the worker, and its own number of the call."""


@dataclass(frozen=True)
class Asked:
    """A call that asks to leave."""

    id: CallId
    unit: str
    model: str
    bound: CallBound


@dataclass(frozen=True)
class Decision:
    """The answer to a call: it may leave, or never will."""

    call: CallId
    refused: Literal["budget", "model_unavailable"] | None = None
    reason: str = ""
    asked: Asked | None = None
    """The call itself if it was refused because of the budget."""


@dataclass
class _InFlight:
    unit: str
    model: str
    sent_at_s: float


@dataclass
class Admission:
    """The calls of a batch that wait, and those in flight."""

    ledger: Ledger
    providers: dict[str, Provider] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)
    """Models that get no further call, with the reason."""
    waiting: list[Asked] = field(default_factory=list)
    _in_flight: dict[CallId, _InFlight] = field(default_factory=dict)

    def ask(self, call: Asked, now_s: float) -> list[Decision]:
        """Take in a call that asks to leave; return what can be decided now."""
        self.waiting.append(call)
        return self.decide(now_s)

    def settle(
        self,
        call: CallId,
        now_s: float,
        *,
        usd: float | None,
        tokens: int | None,
        status: int | None = None,
        retry_after_s: float | None = None,
        permanent: str = "",
    ) -> list[Decision]:
        """Take in the end of a call; `permanent` is the reason if its model gets no further one."""
        sent = self._in_flight.pop(call, None)
        if sent is not None:
            self.ledger.settle(call, usd, tokens)
            provider = self.providers[provider_of(sent.model)]
            provider.ended(sent.sent_at_s, now_s, status=status, retry_after_s=retry_after_s)
            if permanent:
                self.stopped.setdefault(sent.model, permanent)
        return self.decide(now_s)

    def forget(self, unit: str, now_s: float) -> list[Decision]:
        """Drop the calls of a unit that nobody works on any more; those in flight keep their reservations."""
        self.waiting = [asked for asked in self.waiting if asked.unit != unit]
        for call in [call for call, sent in self._in_flight.items() if sent.unit == unit]:
            sent = self._in_flight.pop(call)
            self.providers[provider_of(sent.model)].in_flight -= 1
        self.ledger.release(unit)
        return self.decide(now_s)

    def decide(self, now_s: float) -> list[Decision]:
        """Let calls leave in the order in which they asked, as far as budget and providers allow."""
        decisions = []
        still_waiting = []
        for asked in self.waiting:
            decision = self._decision(asked, now_s)
            if decision is None:
                still_waiting.append(asked)
            else:
                decisions.append(decision)
        self.waiting = still_waiting
        return decisions

    def next_change_s(self, now_s: float) -> float | None:
        """Return the time at which a provider opens again; None if none is closed, or nothing waits for it."""
        providers = (self.providers.get(provider_of(asked.model)) for asked in self.waiting)
        times = (provider.closed_until_s for provider in providers if provider is not None)
        return min((time_s for time_s in times if time_s > now_s), default=None)

    def _decision(self, asked: Asked, now_s: float) -> Decision | None:
        """Return the answer to a call, or None if it waits."""
        if (reason := self.stopped.get(asked.model)) is not None:
            return Decision(asked.id, "model_unavailable", reason)
        part = self.ledger.unbounded(asked.bound)
        if part is not None:
            unit = "dollars" if part == "usd" else "tokens"
            reason = f"a call of {asked.model} has no bound in {unit}, so the budget could not be kept; set max_tokens"
            return Decision(asked.id, "budget", reason, asked)
        if not self.ledger.fits(asked.bound):
            return (
                None if self.ledger.in_flight else Decision(asked.id, "budget", self._spent_words(asked.bound), asked)
            )
        provider = self.providers.setdefault(provider_of(asked.model), Provider())
        if not provider.may_send(now_s):
            return None
        provider.sent()
        self.ledger.reserve(asked.id, asked.unit, asked.bound)
        self._in_flight[asked.id] = _InFlight(asked.unit, asked.model, now_s)
        return Decision(asked.id)

    def _spent_words(self, bound: CallBound) -> str:
        """Return the reason for which a call does not fit into the budget."""
        ledger = self.ledger
        parts = []
        if ledger.budget_usd is not None and (bound.usd or 0.0) > (ledger.left_usd or 0.0):
            parts.append(
                f"${ledger.left_usd:.4f} of ${ledger.budget_usd:g} are left, the next call may cost ${bound.usd:.4f}"
            )
        if ledger.budget_tokens is not None and (bound.tokens or 0) > (ledger.left_tokens or 0):
            parts.append(
                f"{ledger.left_tokens:,} of {ledger.budget_tokens:,} tokens are left, "
                f"the next call may use {bound.tokens:,}"
            )
        return "; ".join(parts)
