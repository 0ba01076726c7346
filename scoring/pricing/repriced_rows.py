"""Rows priced again from the events of their trials, with another table or with the one that a trial records."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from scoring.choices import CostKind
from scoring.errors import ScoringError
from scoring.pricing.cost import Missing, same_model
from scoring.report import Note, Pricing, SubstitutionRow
from scoring.rows import TrialRow, repriced, with_cost
from trajectories.errors import RecordError
from trajectories.reading.reader import after_first, read_events
from trajectories.record.texts.text import quantity

if TYPE_CHECKING:
    from scoring.pricing.repricing import Repriced, Substitution
    from scoring.pricing.tables import PriceTable


@dataclass(frozen=True)
class PricingResults:
    """Results of pricing trials again, by directory; empty if costs are those that the trials recorded."""

    table: PriceTable | None
    results: Mapping[str, Repriced]

    def of(self, rows: Sequence[TrialRow]) -> Pricing:
        """Return the source of the costs of these rows, and the prices that are missing."""
        table = self.table
        results = [self.results[row.directory] for row in rows if row.directory in self.results]
        return Pricing(
            tables=_recorded(rows) if table is None else (table.name or table.source,),
            sha256=table.sha256 if table is not None else None,
            date=table.date if table is not None else None,
            unpriced_models=_distinct(result.unpriced_models for result in results),
            gaps=_distinct(map(_gap_text, result.gaps) for result in results),
            unknown_usage_calls=sum(result.unknown_usage_calls for result in results),
            substitutions=tuple(_substitutions(results)),
        )


def price_rows(
    rows: Sequence[TrialRow], kind: CostKind, table: PriceTable | None = None
) -> tuple[list[TrialRow], PricingResults]:
    """Return rows with this kind of cost, priced again with `table` if there is one.

    Without a table, `agentmeter` is computed from the rates that each trial recorded; the record has the other costs.

    Raises: ScoringError, naming the trial, for events or recorded rates that cannot be read.
    """
    if table is None and kind != CostKind.AGENTMETER:
        return [with_cost(row, kind) for row in rows], PricingResults(None, {})
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
    return again, PricingResults(table, results)


def notes(pricing: Pricing) -> Iterator[Note]:
    """Return the notes that a reader of the prices needs."""
    table = " and ".join(pricing.tables) or "the prices in the records"
    if pricing.unpriced_models:
        models = ", ".join(pricing.unpriced_models)
        yield Note(f"{table}: no price for {models}; totals over such trials are unknown", "prices")
    if pricing.gaps:
        gaps = ", ".join(pricing.gaps)
        yield Note(f"{table} lacks {gaps}; totals over trials that need it are unknown", "prices")
    if pricing.unknown_usage_calls:
        calls = quantity(pricing.unknown_usage_calls, "call")
        yield Note(f"{calls} whose usage nobody knows: totals with such calls are unknown", "prices")
    for substitution in pricing.substitutions:
        yield Note(
            f"{quantity(substitution.calls, 'call')} to {substitution.requested} "
            f"{'was' if substitution.calls == 1 else 'were'} served by {substitution.served} and priced "
            f"{_basis(substitution)}",
            "prices",
        )


def _basis(row: SubstitutionRow) -> str:
    if row.priced_as is None:
        return "as nothing: there is a price for neither"
    if not same_model(row.requested, row.priced_as):
        return f"as {row.priced_as}: {_usd(row.computed_usd)} instead of {_usd(row.as_requested_usd)}"
    return f"as {row.priced_as}, {_usd(row.computed_usd)}: there is no price for {row.served}"


def _gap_text(gap: Missing) -> str:
    return f"{'rate of' if gap.kind == 'rate' else 'service tier'} {gap.name} ({gap.row})"


def _reprice(directory: Path, table: PriceTable | None) -> Repriced:
    from scoring.pricing.repricing import reprice
    from scoring.pricing.snapshots import table_of_record
    from scoring.pricing.tables import PriceTable

    start, events = after_first(directory, read_events(directory))
    nothing = PriceTable("none", hashlib.sha256(b"").hexdigest(), {})
    return reprice(chain([start], events), table or table_of_record(start) or nothing)


def _recorded(rows: Iterable[TrialRow]) -> tuple[str, ...]:
    return tuple(sorted({row.prices for row in rows if row.prices}))


def _distinct(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({name for group in groups for name in group}))


def _substitutions(results: Iterable[Repriced]) -> Iterator[SubstitutionRow]:
    """Add up the substitutions of all trials."""
    groups: dict[tuple[str, str, str | None], list[Substitution]] = {}
    for result in results:
        for substitution in result.substitutions:
            key = (substitution.requested, substitution.served, substitution.priced_as)
            groups.setdefault(key, []).append(substitution)
    for (requested, served, priced_as), group in groups.items():
        yield SubstitutionRow(
            requested=requested,
            served=served,
            priced_as=priced_as,
            trials=len(group),
            calls=sum(substitution.calls for substitution in group),
            computed_usd=_total([substitution.computed_usd for substitution in group]),
            as_requested_usd=_total([substitution.as_requested_usd for substitution in group]),
        )


def _total(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) if len(numbers) == len(values) else None


def _usd(value: float | None) -> str:
    return "an unknown cost" if value is None else f"${value:.6g}"
