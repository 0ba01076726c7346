"""Sources of a snapshot's prices: litellm's table, a user's file, or rates typed on the command line.

All of them become `scoring.pricing.published.Prices` and are validated in the same way.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.pricing.published import SCHEMA, PriceError, Prices, prices_of
from scoring.pricing.rates import BUCKETS, price_of_litellm, standard_name
from scoring.pricing.tables import PriceTable, Row, spellings

_MOST_BYTES = 64 << 20
_FORMS = "a mapping with `models` like a snapshot, or a table like litellm's"
_RESERVED = ("schema", "name", "sha256")
TypedRow = Mapping[str, object]
"""A row of a price snapshot as it was typed, before its validation."""


@dataclass(frozen=True)
class SourcePrices:
    """Prices for a snapshot, and the parts of the source that they leave out."""

    prices: Prices
    off_peak: tuple[str, ...] = ()
    """Models that are cheaper at some hours; a snapshot has their standing rates."""
    left_out: int = 0
    """Number of rows of litellm's table without rates for input and output tokens (images, seconds, searches,
    embeddings)."""


def from_table(table: PriceTable, names: Iterable[str] = ()) -> SourcePrices:
    """Return the rows of litellm's table: all of them, or those that give the prices of these models.

    Raises: PriceError for a model without a price in the table.
    """
    return from_litellm_rows(table.rows, table.source, names)


def from_litellm_rows(rows: Mapping[str, Row], source: str, names: Iterable[str] = ()) -> SourcePrices:
    """Return the rows of litellm's table from a mapping, as `from_table` does.

    Raises: PriceError as `from_table` does, and for an invalid row.
    """
    models: dict[str, dict[str, Any]] = {}
    for name, row in rows.items():
        try:
            priced = None if name == "sample_spec" else _row_of_litellm(row)
        except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
            raise PriceError(f"{source}: model {name}: {error}") from None
        if priced is not None and "output" in priced:
            models[name] = priced
    chosen = rows_for(models, source, names)
    prices = prices_of({"source": source, "models": {name: models[name] for name in chosen}}, source)
    off_peak = tuple(name for name in chosen if "off_peak_pricing" in rows[name])
    return SourcePrices(prices, off_peak, len(rows) - len(models))


def rows_for(rows: Collection[str], source: str, models: Iterable[str]) -> list[str]:
    """Return the names of the rows that give the prices of these models; without models the names of all rows.

    Raises: PriceError naming the model, and names that look similar.
    """
    matches = []
    for model in models:
        match = next((spelling for spelling in spellings(model) if spelling in rows), None)
        if match is None:
            similar = difflib.get_close_matches(model, rows, 3, 0.6)
            hint = f"; is it {' or '.join(similar)}?" if similar else ""
            raise PriceError(f"no price for {model!r} in {source}{hint}")
        matches.append(match)
    return list(dict.fromkeys(matches)) if matches else list(rows)


def from_file(path: Path, names: Iterable[str] = ()) -> SourcePrices:
    """Read a user's file, YAML (.yaml, .yml) or JSON: prices in the shape of a snapshot, a snapshot, or litellm's
    table.

    Raises: PriceError, naming the file, the model and the key.
    """
    content = _parse(path)
    if not isinstance(content, dict):
        raise PriceError(f"{path}: must be {_FORMS}")
    if "models" in content:
        own = {key: value for key, value in content.items() if key not in _RESERVED or content.get("schema") != SCHEMA}
        prices = prices_of({"source": path.name, **own}, str(path))
        rows = {name: prices.models[name] for name in rows_for(prices.models, str(path), names)}
        return SourcePrices(prices.model_copy(update={"models": rows}))
    if not any(isinstance(row, dict) and "input_cost_per_token" in row for row in content.values()):
        raise PriceError(f"{path}: must be {_FORMS}")
    bad = next((name for name, row in content.items() if not isinstance(row, dict) or not isinstance(name, str)), None)
    if bad is not None:
        raise PriceError(f"{path}: {bad}: must be a mapping of rates")
    return from_litellm_rows(content, str(path), names)


def typed_row(words: Sequence[str]) -> tuple[str, TypedRow]:
    """Parse a model and its row: `MODEL input=3e-6 output=1.5e-5 input@200000=6e-6 batch.input=1.5e-6 currency=CNY`.

    `RATE@TOKENS` is a rate for prompts with more tokens than that, `TIER.RATE` a rate of a service tier.

    Raises: PriceError.
    """
    usage = "write --set 'MODEL input=3e-6 output=1.5e-5', per token"
    if len(words) < 2:
        raise PriceError(f"--set {' '.join(words)!r}: {usage}")
    model, row = words[0], dict[str, Any]()
    for word in words[1:]:
        key, equals, value = word.partition("=")
        tier, dot, rest = key.rpartition(".")
        rate, at, tokens = rest.partition("@")
        if not equals or (rate not in BUCKETS and key != "currency") or (at and not tokens.isdecimal()):
            raise PriceError(f"--set {model}: {word!r}: {usage}; rates are {', '.join(BUCKETS)}")
        part = row if not dot else row.setdefault("tiers", {}).setdefault(standard_name(tier), {})
        if at:
            steps = part.setdefault("steps", [])
            above = int(tokens)
            step = next((step for step in steps if step["above"] == above), None)
            if step is None:
                steps.append(step := {"above": above})
                steps.sort(key=lambda step: step["above"])
            part = step
        if rate in part:
            raise PriceError(f"--set {model}: {key} is given twice")
        part[rate] = value
    return model, row


def combine(
    source: SourcePrices | None,
    *,
    models: Mapping[str, TypedRow],
    exchange: Mapping[str, float],
    currency: str | None,
    date: str | None,
) -> Prices:
    """Return the prices of a source together with typed rows (each replaces a whole row), rates, currency and date.

    Raises: PriceError; also if a typed exchange rate or currency contradicts the source.
    """
    content = {} if source is None else source.prices.model_dump(exclude_defaults=True)
    for code, rate in exchange.items():
        stated = content.get("exchange", {}).get(code)
        if stated is not None and stated != rate:
            raise PriceError(
                f"--rate {code}={rate:g}: the source states {stated:g}; leave it out, or change the source"
            )
    if currency is not None and source is not None and source.prices.currency != currency:
        raise PriceError(
            f"--currency {currency}: the source is in {source.prices.currency}; write currency= in each --set"
        )
    content["models"] = {**content.get("models", {}), **models}
    content["exchange"] = {**content.get("exchange", {}), **exchange}
    if date is not None:
        content["date"] = date
    if currency is not None:
        content["currency"] = currency
    by_hand = f"by hand: {', '.join(models)}" if models else ""
    content["source"] = "; ".join(part for part in (content.get("source"), by_hand) if part)
    return prices_of(content, "prices")


def _row_of_litellm(row: Row) -> dict[str, Any] | None:
    price = price_of_litellm(row)
    if price is None:
        return None
    tiers = {}
    for tier, steps in price.tiers.items():
        part: dict[str, Any] = {}
        for above, rates in steps:
            if above:
                part.setdefault("steps", []).append({"above": above, **rates})
            else:
                part |= rates
        tiers[tier] = part
    return {**tiers.pop("", {}), "tiers": tiers} if tiers.keys() - {""} else tiers[""]


def _parse(path: Path) -> object:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise PriceError(f"{path}: cannot be read ({error.strerror})") from None
    if len(data) > _MOST_BYTES:
        raise PriceError(f"{path}: larger than {_MOST_BYTES >> 20} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PriceError(f"{path}: not UTF-8 (byte {error.start})") from None
    if path.suffix.lower() in (".yaml", ".yml"):
        import yaml

        from trajectories.strict_yaml import StrictLoader

        try:
            return yaml.load(text, StrictLoader)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise PriceError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    try:
        return json.loads(text, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise PriceError(f"{path}: not valid JSON: {error}") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {repeated!r} occurs twice")
    return content
