"""The budget of a batch: what was spent, what is reserved, and whether one more call fits.

Pure. What the records of a unit add up to replaces what was settled while it ran, so the sums never drift from the
records. A call whose true cost is unknown keeps its reservation until a record tells it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

from agent.trial.gate import CallBound

Ticket = Hashable


@dataclass(frozen=True)
class Amount:
    """Dollars and tokens."""

    usd: float = 0.0
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.usd + other.usd, self.tokens + other.tokens)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.usd - other.usd, self.tokens - other.tokens)


NOTHING = Amount()
_ROUNDING_USD = 1e-9
"""Sums of thousands of costs may miss a budget by a rounding error."""


@dataclass
class _OfUnit:
    """Amounts of one unit."""

    recorded: Amount = NOTHING
    """Known costs in its records when they were last read."""
    kept: Amount = NOTHING
    """Reservations of calls that may have been billed at an unknown cost, as the records tell."""
    settled: Amount = NOTHING
    """Costs of calls since then."""
    unsettled: Amount = NOTHING
    """Reservations of calls since then whose cost stays unknown."""


@dataclass(frozen=True)
class _Reservation:
    unit: str
    amount: Amount


@dataclass
class Ledger:
    """The sums of a batch, and its budget; None is no limit."""

    budget_usd: float | None = None
    budget_tokens: int | None = None
    _units: dict[str, _OfUnit] = field(default_factory=dict)
    _reservations: dict[Ticket, _Reservation] = field(default_factory=dict)
    _total: Amount = NOTHING
    """Everything that is spent or kept, apart from the reservations of calls in flight."""
    _spent: Amount = NOTHING
    _reserved: Amount = NOTHING

    @property
    def spent(self) -> Amount:
        """Known costs of all calls."""
        return self._spent

    @property
    def kept(self) -> Amount:
        """Reservations of calls that have ended and may have been billed at an unknown cost."""
        return self._total - self._spent

    @property
    def reserved(self) -> Amount:
        """Reservations of the calls in flight."""
        return self._reserved

    @property
    def in_flight(self) -> int:
        """Number of calls in flight."""
        return len(self._reservations)

    @property
    def left_usd(self) -> float | None:
        """Dollars that no call has used or reserved; None without a budget."""
        return None if self.budget_usd is None else self.budget_usd - self._total.usd - self._reserved.usd

    @property
    def left_tokens(self) -> int | None:
        """Tokens that no call has used or reserved; None without a budget."""
        return None if self.budget_tokens is None else self.budget_tokens - self._total.tokens - self._reserved.tokens

    def unbounded(self, bound: CallBound) -> Literal["usd", "tokens"] | None:
        """Return the part of the budget that this call could exceed without bound; None if it has bounds."""
        if self.budget_usd is not None and bound.usd is None:
            return "usd"
        if self.budget_tokens is not None and bound.tokens is None:
            return "tokens"
        return None

    def fits(self, bound: CallBound) -> bool:
        """Report if a call fits into what is left."""
        if self.unbounded(bound) is not None:
            return False
        usd, tokens = self.left_usd, self.left_tokens
        return (usd is None or (bound.usd or 0.0) <= usd + _ROUNDING_USD) and (
            tokens is None or (bound.tokens or 0) <= tokens
        )

    def reserve(self, ticket: Ticket, unit: str, bound: CallBound) -> None:
        """Reserve the largest cost of a call that leaves now."""
        assert ticket not in self._reservations
        amount = Amount(bound.usd or 0.0, bound.tokens or 0)
        self._reservations[ticket] = _Reservation(unit, amount)
        self._reserved += amount

    def settle(self, ticket: Ticket, usd: float | None, tokens: int | None) -> None:
        """Replace the reservation of a call by what it used; an unknown amount keeps its reservation."""
        reservation = self._reservations.pop(ticket, None)
        if reservation is None:
            return
        self._subtract(reservation.amount)
        known = Amount(usd or 0.0, tokens or 0)
        unknown = Amount(
            reservation.amount.usd if usd is None else 0.0, reservation.amount.tokens if tokens is None else 0
        )
        of_unit = self._units.setdefault(reservation.unit, _OfUnit())
        of_unit.settled += known
        of_unit.unsettled += unknown
        self._spent += known
        self._total += known + unknown

    def release(self, unit: str) -> None:
        """Settle the calls in flight of a unit whose worker is gone, at an unknown cost."""
        for ticket in [ticket for ticket, held in self._reservations.items() if held.unit == unit]:
            self.settle(ticket, None, None)

    def set_recorded(self, unit: str, recorded: Amount, kept: Amount) -> None:
        """Take the sums of a unit from its records, in place of everything that was settled for it before."""
        of_unit = self._units.get(unit)
        if of_unit is not None:
            self._spent = self._spent - of_unit.recorded - of_unit.settled
            self._total = self._total - (of_unit.recorded + of_unit.kept + of_unit.settled + of_unit.unsettled)
        self._spent += recorded
        self._total += recorded if kept is NOTHING else recorded + kept
        self._units[unit] = _OfUnit(recorded, kept)

    def of_unit(self, unit: str) -> Amount:
        """Return the known costs of a unit."""
        of_unit = self._units.get(unit, _OfUnit())
        return of_unit.recorded + of_unit.settled

    def _subtract(self, amount: Amount) -> None:
        self._reserved = NOTHING if not self._reservations else self._reserved - amount
