"""Costs of all calls in a record, the agent's and those of every role, and the calls whose cost nobody knows.

A budget counts every call. One that may have been billed at an unknown cost counts with its reservation, the most that
it can have cost, until somebody learns more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from trajectories.reading.totals.tally import MAYBE_BILLED
from trajectories.record.events import (
    BaseEvent,
    CallFailed,
    CallFinished,
    CallStarted,
    Role,
    RoleCallFinished,
    RoleCallStarted,
    TrialStarted,
)
from trajectories.record.usage import Costs, Usage

_NO_USAGE = Usage(input=0, cache_read=0, cache_write_5m=0, cache_write_1h=0, output=0, reasoning=0)


class OpenCall(BaseModel):
    """A call whose cost is unknown, though it may have been billed."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    seq: int
    """Number of the event with which it began."""
    by: Literal["agent"] | Role
    """Part of the model that was called."""
    model: str
    """Name of the model that was requested."""
    number: int
    """Step that a reply would have made; for a role, the number of the role call."""
    try_: int = Field(alias="try")
    """Number of the request among those for the same call or messages, from 1."""
    why: str
    """`in_flight` if the record holds no outcome, `no_usage` if a reply came without usage, otherwise the class of the
    failure."""
    reserved_usd: float | None = None
    """Most that it can have cost. None if nothing bounded it."""
    reserved_tokens: int | None = None
    """Most tokens that it can have used. None if nothing bounded them."""


class Spending(BaseModel):
    """Costs of all calls in one record, or in several."""

    model_config = ConfigDict(frozen=True)

    calls: int = 0
    """Number of requests."""
    usd: float = 0.0
    """Sum of all known costs: billed if the provider reports it, otherwise computed."""
    usage: Usage = _NO_USAGE
    """Tokens of all calls that reported them."""
    unpriced: int = 0
    """Number of calls whose tokens are known, but not their price."""
    open: tuple[OpenCall, ...] = ()
    """Calls whose cost is unknown, though they may have been billed."""

    @property
    def known_usd(self) -> float | None:
        """Sum of all costs; None if that of any call is unknown."""
        return None if self.open or self.unpriced else self.usd

    @classmethod
    def sum(cls, spendings: Iterable[Spending]) -> Spending:
        """Add the costs of several records."""
        parts = list(spendings)
        if len(parts) == 1:
            return parts[0]
        return cls(
            calls=sum(part.calls for part in parts),
            usd=sum(part.usd for part in parts),
            usage=Usage.sum((_NO_USAGE, *(part.usage for part in parts))),
            unpriced=sum(part.unpriced for part in parts),
            open=tuple(call for part in parts for call in part.open),
        )


class SpendingTally:
    """The costs over all events of one record that were fed, in order."""

    def __init__(self) -> None:
        self._model = ""
        self._calls = 0
        self._usd = 0.0
        self._usage = _NO_USAGE
        self._unpriced = 0
        self._open: dict[int, OpenCall] = {}
        """Calls whose cost is not known so far, by the number of their first event."""
        self._of_thread: dict[str | None, OpenCall] = {}
        """The call of each thread of the agent that has no outcome."""
        self._of_role: dict[int, OpenCall] = {}
        """The role calls that have no outcome, by their number."""

    @property
    def spending(self) -> Spending:
        """Costs so far."""
        return Spending(
            calls=self._calls,
            usd=self._usd,
            usage=self._usage,
            unpriced=self._unpriced,
            open=tuple(self._open.values()),
        )

    def feed(self, event: BaseEvent) -> None:
        """Take in one event."""
        match event:
            case TrialStarted():
                self._model = event.model.name
            case CallStarted():
                self._of_thread[event.thread] = self._begin(event, "agent", self._model, event.step, event.try_)
            case RoleCallStarted():
                self._of_role[event.call] = self._begin(event, event.role, event.model.name, event.call, event.try_)
            case CallFinished():
                self._end(self._of_thread.pop(event.thread, None), event.usage, event.costs, "no_usage")
            case CallFailed():
                maybe_billed = event.costs is not None or event.error in MAYBE_BILLED
                self._end(self._of_thread.pop(event.thread, None), event.usage, event.costs, event.error, maybe_billed)
            case RoleCallFinished():
                why = event.error or ("interrupted" if event.status == "cut_off" else "no_usage")
                maybe_billed = event.status != "failed" or event.costs is not None or event.error in MAYBE_BILLED
                self._end(self._of_role.pop(event.call, None), event.usage, event.costs, why, maybe_billed)

    def _begin(
        self, event: CallStarted | RoleCallStarted, by: Literal["agent"] | Role, model: str, number: int, try_: int
    ) -> OpenCall:
        self._calls += 1
        call = OpenCall(
            seq=event.seq,
            by=by,
            model=model,
            number=number,
            try_=try_,
            why="in_flight",
            reserved_usd=event.reserved_usd,
            reserved_tokens=event.reserved_tokens,
        )
        self._open[event.seq] = call
        return call

    def _end(
        self, call: OpenCall | None, usage: Usage | None, costs: Costs | None, why: str, maybe_billed: bool = True
    ) -> None:
        """Take in the outcome of a call. Without a `call` its beginning is missing, as in an import."""
        best = None if costs is None else costs.best
        if usage is not None:
            self._usage = Usage.sum((self._usage, usage))
        if best is not None:
            self._usd += best
        elif usage is not None:
            self._unpriced += 1
        if call is None:
            return
        del self._open[call.seq]
        if best is None and usage is None and maybe_billed:
            self._open[call.seq] = call.model_copy(update={"why": why})
