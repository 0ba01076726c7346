"""A trial priced again from its record with any table: call by call, and totals with the reasons for unknown ones.

Pure: events in, a result out. Unknown is None, never 0, and every reason for it is named or counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from scoring.pricing.cost import Charge, Missing, charge, find_price, same_model
from scoring.pricing.tables import PriceTable
from trajectories.errors import RecordError
from trajectories.reading.totals.tally import MAYBE_BILLED
from trajectories.record.events import BaseEvent, CallFailed, CallFinished, CallStarted, PriceRef, TrialStarted
from trajectories.record.usage import Costs, Usage

_NOTHING = Charge(computed=0.0, list=0.0, agentmeter=0.0)
_UNKNOWN_USAGE = Missing("usage")


@dataclass(frozen=True)
class RepricedCall:
    """One try that was billed, or may have been. Costs are in US dollars; None is unknown."""

    step: int
    try_: int
    outcome: Literal["finished", "failed", "lost"]
    """`lost`: the call was sent, and the record has no outcome."""
    requested: str
    served: str | None
    priced_as: str | None
    """Row of the table; None if there is none, and for models that cost nothing."""
    usage: Usage | None
    costs: Costs
    agentmeter_usd: float | None
    as_requested_usd: float | None
    """`computed` at the price of the requested model; it differs if another model was served."""
    missing: tuple[Missing, ...] = ()
    """Reasons for unknown figures."""


@dataclass(frozen=True)
class Substitution:
    """Calls that another model than the requested one served."""

    requested: str
    served: str
    priced_as: str | None
    """Row of the table; the requested model's if the table has no price for the served one."""
    calls: int
    computed_usd: float | None
    """Cost at the price of that row."""
    as_requested_usd: float | None
    """Cost at the price of the requested model, as computed by harnesses that look only at the request."""


@dataclass(frozen=True)
class Repriced:
    """The calls of a trial and their sums; a sum is None if the figure of any call is None."""

    prices: PriceRef
    calls: tuple[RepricedCall, ...]
    costs: Costs
    """`billed` comes from the record, the others are computed again."""
    agentmeter_usd: float | None
    unpriced_models: tuple[str, ...]
    """Models without a price in the table."""
    gaps: tuple[Missing, ...]
    """Rates and service tiers that rows of the table lack."""
    unknown_usage_calls: int
    """Number of calls with unknown usage."""
    substitutions: tuple[Substitution, ...]

    @property
    def priced_calls(self) -> int:
        """Number of calls with a computed cost."""
        return sum(call.costs.computed is not None for call in self.calls)


def reprice(events: Iterable[BaseEvent], table: PriceTable, *, service_tier: str | None = None) -> Repriced:
    """Price every billed try of a trial with `table`, by the served model if it has a price, otherwise the requested
    one.

    `service_tier` replaces the recorded one; for instance, `batch` gives the cost of the trial at that tier. Models
    that cost nothing (script, replay, human) cost nothing with any table.

    Raises: RecordError if the events do not begin with `trial_started`.
    """
    stream = iter(events)
    start = next(stream, None)
    if not isinstance(start, TrialStarted):
        raise RecordError("the record does not begin with trial_started, so it cannot be priced")
    pricer = _Pricer(start, table, service_tier)
    for event in stream:
        pricer.feed(event)
    return pricer.result()


class _Pricer:
    """Prices the calls of one trial, event by event."""

    def __init__(self, start: TrialStarted, table: PriceTable, service_tier: str | None) -> None:
        self._start = start
        self._table = table
        self._replaced_tier = service_tier
        self._free = start.prices is None and start.imported is None
        self._calls: list[RepricedCall] = []
        self._open: CallStarted | None = None

    def feed(self, event: BaseEvent) -> None:
        match event:
            case CallStarted():
                self._close_lost_call()
                self._open = event
            case CallFinished():
                self._price(event, "finished", event.model_requested, event.model_served, event.usage, event.costs)
                self._open = None
            case CallFailed():
                if event.usage is not None or event.costs is not None or event.error in MAYBE_BILLED:
                    name = self._start.model.name
                    self._price(event, "failed", name, None, event.usage, event.costs or Costs())
                self._open = None

    def result(self) -> Repriced:
        self._close_lost_call()
        billed = _total(call.costs.billed for call in self._calls)
        if billed is None and self._start.imported is not None:
            billed = self._start.imported.billed_usd  # only the total of the imported file is known
        missing = dict.fromkeys(reason for call in self._calls for reason in call.missing)
        return Repriced(
            prices=self._table.ref(self._start.model.name),
            calls=tuple(self._calls),
            costs=Costs(
                billed=billed,
                computed=_total(call.costs.computed for call in self._calls),
                list=_total(call.costs.list for call in self._calls),
            ),
            agentmeter_usd=_total(call.agentmeter_usd for call in self._calls),
            unpriced_models=tuple(reason.name for reason in missing if reason.kind == "price"),
            gaps=tuple(reason for reason in missing if reason.kind in ("rate", "service_tier")),
            unknown_usage_calls=sum(_UNKNOWN_USAGE in call.missing for call in self._calls),
            substitutions=_substitutions(self._calls),
        )

    def _close_lost_call(self) -> None:
        if self._open is not None:
            self._price(self._open, "lost", self._start.model.name, None, None, Costs())
            self._open = None

    def _price(
        self,
        event: CallStarted | CallFinished | CallFailed,
        outcome: Literal["finished", "failed", "lost"],
        requested: str,
        served: str | None,
        usage: Usage | None,
        recorded: Costs,
    ) -> None:
        row, charged, as_requested = None, _NOTHING, _NOTHING
        if not self._free:
            row, charged = self._charge(requested, served, usage)
            as_requested = charged if not served else self._charge(requested, None, usage)[1]
        self._calls.append(
            RepricedCall(
                step=event.step,
                try_=event.try_,
                outcome=outcome,
                requested=requested,
                served=served,
                priced_as=row,
                usage=usage,
                costs=Costs(billed=recorded.billed, computed=charged.computed, list=charged.list),
                agentmeter_usd=charged.agentmeter,
                as_requested_usd=as_requested.computed,
                missing=charged.missing,
            )
        )

    def _charge(self, requested: str, served: str | None, usage: Usage | None) -> tuple[str | None, Charge]:
        priced = find_price(self._table, requested, served)
        if priced is None:
            no_price = Missing("price", served or requested)
            has_usage = usage is not None and usage.input is not None and usage.output is not None
            return None, Charge(missing=(no_price,) if has_usage else (_UNKNOWN_USAGE, no_price))
        row, price = priced
        charged = charge(usage, price, self._tier)
        missing = tuple(reason if reason == _UNKNOWN_USAGE else replace(reason, row=row) for reason in charged.missing)
        return row, replace(charged, missing=missing)

    @property
    def _tier(self) -> str | None:
        if self._replaced_tier is not None:
            return self._replaced_tier
        tier = self._open.parameters.get("service_tier") if self._open is not None else None
        return tier if isinstance(tier, str) else None


def _substitutions(calls: list[RepricedCall]) -> tuple[Substitution, ...]:
    groups: dict[tuple[str, str, str | None], list[RepricedCall]] = {}
    for call in calls:
        if call.served and not same_model(call.requested, call.served):
            groups.setdefault((call.requested, call.served, call.priced_as), []).append(call)
    return tuple(
        Substitution(
            requested=requested,
            served=served,
            priced_as=priced_as,
            calls=len(group),
            computed_usd=_total(call.costs.computed for call in group),
            as_requested_usd=_total(call.as_requested_usd for call in group),
        )
        for (requested, served, priced_as), group in groups.items()
    )


def _total(figures: Iterable[float | None]) -> float | None:
    total = 0.0
    for figure in figures:
        if figure is None:
            return None
        total += figure
    return total
