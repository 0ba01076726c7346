"""Rows priced again from their trials' events, with another table or with the one that a trial records."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from scoring.errors import ScoringError
from scoring.pricing.cost import same_model
from scoring.report import Pricing, Substituted
from scoring.rows import CostKind, TrialRow, repriced, with_cost
from trajectories.errors import RecordError
from trajectories.reading.reader import after_first, read_events
from trajectories.record.text import quantity

if TYPE_CHECKING:
    from scoring.pricing.repricing import Repriced, Substitution
    from scoring.pricing.tables import PriceTable


@dataclass(frozen=True)
class Priced:
    """What was found in pricing trials again, by directory; nothing where costs are as the trials recorded them."""

    table: PriceTable | None
    results: Mapping[str, Repriced]

    def of(self, rows: Sequence[TrialRow]) -> Pricing:
        """Where the costs of these rows come from, and what they lack."""
        table = self.table
        results = [self.results[row.directory] for row in rows if row.directory in self.results]
        return Pricing(
            tables=_recorded(rows) if table is None else (table.name or table.source,),
            sha256=table.sha256 if table is not None else None,
            date=table.date if table is not None else None,
            unpriced_models=_distinct(result.unpriced_models for result in results),
            gaps=_distinct(result.gaps for result in results),
            unknown_usage_calls=sum(result.unknown_usage_calls for result in results),
            substitutions=tuple(_together(results)),
        )


def priced(rows: Sequence[TrialRow], kind: CostKind, table: PriceTable | None = None) -> tuple[list[TrialRow], Priced]:
    """Rows with this kind of cost, priced again with `table` if there is one.

    Without, `agentmeter` is computed from the rates that each trial recorded; the others are in the record already.

    Raises: ScoringError, naming the trial, for events or recorded rates that cannot be read.
    """
    if table is None and kind != "agentmeter":
        return [with_cost(row, kind) for row in rows], Priced(None, {})
    again: list[TrialRow] = []
    results: dict[str, Repriced] = {}
    for row in rows:
        try:
            result = _reprice(Path(row.directory), table)
        except (RecordError, OSError) as error:
            raise ScoringError(f"{row.directory}: cannot be priced: {error}") from None
        results[row.directory] = result
        if table is None:
            again.append(with_cost(replace(row, agentmeter_usd=result.agentmeter_usd), kind))
        else:
            name = table.name or table.source
            again.append(repriced(row, result.costs, result.agentmeter_usd, prices=name, cost=kind))
    return again, Priced(table, results)


def notes(pricing: Pricing) -> list[str]:
    """What a reader must know of the prices, a line each."""
    lines = []
    table = " and ".join(pricing.tables) or "the prices in the records"
    if pricing.unpriced_models:
        lines.append(f"{table}: no price for {', '.join(pricing.unpriced_models)}; totals over such trials are unknown")
    if pricing.gaps:
        lines.append(f"{table} lacks {', '.join(pricing.gaps)}; totals over trials that need it are unknown")
    if pricing.unknown_usage_calls:
        calls = quantity(pricing.unknown_usage_calls, "call")
        lines.append(f"{calls} whose usage nobody knows: totals with such calls are unknown")
    for one in pricing.substitutions:
        lines.append(
            f"{quantity(one.calls, 'call')} to {one.requested} "
            f"{'was' if one.calls == 1 else 'were'} served by {one.served} and priced {_as(one)}"
        )
    return lines


def _as(one: Substituted) -> str:
    if one.priced_as is None:
        return "as nothing: there is a price for neither"
    if not same_model(one.requested, one.priced_as):
        return f"as {one.priced_as}: {_usd(one.computed_usd)} instead of {_usd(one.as_requested_usd)}"
    return f"as {one.priced_as}, {_usd(one.computed_usd)}: there is no price for {one.served}"


def _reprice(directory: Path, table: PriceTable | None) -> Repriced:
    from scoring.pricing.repricing import reprice
    from scoring.pricing.snapshots import table_of_record
    from scoring.pricing.tables import PriceTable

    start, events = after_first(directory, read_events(directory))
    nothing = PriceTable("none", hashlib.sha256(b"").hexdigest(), {})
    return reprice(chain([start], events), table or table_of_record(start) or nothing)


def _recorded(rows: Iterable[TrialRow]) -> tuple[str, ...]:
    return tuple(sorted({row.prices for row in rows if row.prices}))


def _distinct(names: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({name for some in names for name in some}))


def _together(results: Iterable[Repriced]) -> Iterable[Substituted]:
    groups: dict[tuple[str, str, str | None], list[Substitution]] = {}
    for result in results:
        for one in result.substitutions:
            groups.setdefault((one.requested, one.served, one.priced_as), []).append(one)
    for (requested, served, priced_as), found in groups.items():
        yield Substituted(
            requested=requested,
            served=served,
            priced_as=priced_as,
            trials=len(found),
            calls=sum(one.calls for one in found),
            computed_usd=_total([one.computed_usd for one in found]),
            as_requested_usd=_total([one.as_requested_usd for one in found]),
        )


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _usd(value: float | None) -> str:
    return "an unknown cost" if value is None else f"${value:.6g}"
