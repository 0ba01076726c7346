"""Where a snapshot's prices come from: a table of litellm's, a user's file, or what was typed.

All of them end as `scoring.pricing.published.Prices`, validated in one way.
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
_FORMS = "a mapping with `models`, as a snapshot has it, or a table as litellm's"
_RESERVED = ("schema", "name", "sha256")


@dataclass(frozen=True)
class Made:
    """Prices for a snapshot, and what of the source they do not hold."""

    prices: Prices
    off_peak: tuple[str, ...] = ()
    """Models that are cheaper at some hours: a snapshot holds their standing rates."""
    left_out: int = 0
    """Rows of litellm's table without rates for tokens in and out (images, seconds, searches, embeddings)."""


def from_table(table: PriceTable, names: Iterable[str] = ()) -> Made:
    """The rows of a table of litellm's, all of them or those that these models are priced with.

    Raises: PriceError for a model that has no price in it.
    """
    return from_litellm_rows(table.rows, table.source, names)


def from_litellm_rows(rows: Mapping[str, Row], source: str, names: Iterable[str] = ()) -> Made:
    """The same of rows as they stand in a file.

    Raises: PriceError.
    """
    models: dict[str, dict[str, Any]] = {}
    for name, row in rows.items():
        try:
            priced = None if name == "sample_spec" else _row_of_litellm(row)
        except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
            raise PriceError(f"{source}: model {name}: {error}") from None
        if priced is not None and "output" in priced:
            models[name] = priced
    asked = chosen(models, source, names)
    prices = prices_of({"source": source, "models": {name: models[name] for name in asked}}, source)
    off_peak = tuple(name for name in asked if "off_peak_pricing" in rows[name])
    return Made(prices, off_peak, len(rows) - len(models))


def chosen(known: Collection[str], source: str, names: Iterable[str]) -> list[str]:
    """The rows that these models are priced with; all rows without names.

    Raises: PriceError naming the model, and names that look like it.
    """
    asked = list(names)
    found = []
    for name in asked:
        match = next((spelling for spelling in spellings(name) if spelling in known), None)
        if match is None:
            near = difflib.get_close_matches(name, known, 3, 0.6)
            hint = f"; is it {' or '.join(near)}?" if near else ""
            raise PriceError(f"no price for {name!r} in {source}{hint}")
        found.append(match)
    return list(dict.fromkeys(found)) if asked else list(known)


def from_file(path: Path, names: Iterable[str] = ()) -> Made:
    """A user's file, YAML (.yaml, .yml) or JSON: prices as a snapshot has them, a snapshot itself, or litellm's table.

    Raises: PriceError with the file, the model and the key.
    """
    content = _parse(path)
    if not isinstance(content, dict):
        raise PriceError(f"{path}: must be {_FORMS}")
    if "models" in content:
        own = {key: value for key, value in content.items() if key not in _RESERVED or content.get("schema") != SCHEMA}
        prices = prices_of({"source": path.name, **own}, str(path))
        rows = {name: prices.models[name] for name in chosen(prices.models, str(path), names)}
        return Made(prices.model_copy(update={"models": rows}))
    if not any(isinstance(row, dict) and "input_cost_per_token" in row for row in content.values()):
        raise PriceError(f"{path}: must be {_FORMS}")
    bad = next((name for name, row in content.items() if not isinstance(row, dict) or not isinstance(name, str)), None)
    if bad is not None:
        raise PriceError(f"{path}: {bad}: must be a mapping of rates")
    return from_litellm_rows(content, str(path), names)


def typed_row(words: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """A model and its row as typed: `MODEL input=3e-6 output=1.5e-5 input@200000=6e-6 batch.input=1.5e-6 currency=CNY`.

    `RATE@TOKENS` is for prompts of more than so many tokens, `TIER.RATE` for a service tier.

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
        place = row if not dot else row.setdefault("tiers", {}).setdefault(standard_name(tier), {})
        if at:
            steps = place.setdefault("steps", [])
            step = next((one for one in steps if one["above"] == int(tokens)), None)
            if step is None:
                steps.append(step := {"above": int(tokens)})
                steps.sort(key=lambda one: one["above"])
            place = step
        if rate in place:
            raise PriceError(f"--set {model}: {key} is said twice")
        place[rate] = value
    return model, row


def put_together(made: Made | None, **typed: Any) -> Prices:
    """Prices of a source with what was typed: `models` (rows, each whole), `exchange`, `currency`, `date`.

    Raises: PriceError; also where an exchange rate or the currency is typed otherwise than the source has it.
    """
    content = {} if made is None else made.prices.model_dump(exclude_defaults=True)
    for code, rate in typed["exchange"].items():
        stated = content.get("exchange", {}).get(code)
        if stated is not None and stated != rate:
            raise PriceError(
                f"--rate {code}={rate:g}: the source states {stated:g}; leave it out, or change the source"
            )
    if typed["currency"] is not None and made is not None and made.prices.currency != typed["currency"]:
        raise PriceError(
            f"--currency {typed['currency']}: the source is in {made.prices.currency}; say currency= in each --set"
        )
    for key in ("models", "exchange"):
        content[key] = {**content.get(key, {}), **typed[key]}
    content |= {key: typed[key] for key in ("date", "currency") if typed[key] is not None}
    by_hand = f"by hand: {', '.join(typed['models'])}" if typed["models"] else ""
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
        raise PriceError(f"{path}: is larger than {_MOST_BYTES >> 20} MiB")
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
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise PriceError(f"{path}: not valid JSON: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} is said twice")
    return content
