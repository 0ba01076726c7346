"""The contents of a price snapshot, validated strictly: rates, prompt sizes, service tiers, currencies.

This module has only the shapes. `scoring.pricing.snapshots` stores them on disk, `scoring.pricing.sources` makes them.
"""

from __future__ import annotations

import datetime
import math
import re
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from scoring.pricing.rates import BUCKETS, ModelPrice, price_of_steps
from trajectories.errors import RecordError

SCHEMA = "retrace.prices/1"
MOST_USD = 0.01
"""Highest plausible rate per token: ten thousand dollars per million. A higher one was given per million tokens."""
_CURRENCY = r"^[A-Z]{3}$"
_TIER = r"^[a-z][a-z0-9_-]*$"


class PriceError(RecordError):
    """Prices are missing or cannot be read. The message names the file, the model and the key."""


def _number(value: object) -> float:
    """Return a number. Text is accepted because YAML 1.1 reads `3e-6` as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("must be a number")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{value!r} is not a number") from None
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{value} must be finite and not negative")
    return number


def _above_zero(value: object) -> float:
    number = _number(value)
    if number == 0:
        raise ValueError("an exchange rate of 0 is impossible: write the number of units that one US dollar is worth")
    return number


def _day(value: object) -> str:
    """Return a date, given as text or as the date that YAML reads."""
    text = value.isoformat() if type(value) is datetime.date else value
    try:
        if isinstance(text, str) and len(text) == 10:
            return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    raise ValueError(f"{value} is not a date: write for instance 2026-06-04")


Rate = Annotated[float, BeforeValidator(_number)]
Day = Annotated[str, BeforeValidator(_day)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RatesPart(_Strict):
    """Rates per token by bucket (`scoring.pricing.rates.BUCKETS`); None is not stated."""

    input: Rate | None = None
    output: Rate | None = None
    cache_read: Rate | None = None
    cache_write_5m: Rate | None = None
    cache_write_1h: Rate | None = None
    reasoning: Rate | None = None

    @property
    def stated(self) -> dict[str, float]:
        """The rates that are stated."""
        return {bucket: rate for bucket in BUCKETS if (rate := getattr(self, bucket)) is not None}


class StepPart(RatesPart):
    """Rates of prompts with more than `above` tokens. Buckets that are not stated keep the rate of the step below."""

    above: int = Field(gt=0, strict=True)


class TierPart(RatesPart):
    """The rates of one service tier, and those of longer prompts."""

    steps: tuple[StepPart, ...] = ()

    @model_validator(mode="after")
    def _ascending(self) -> TierPart:
        if [step.above for step in self.steps] != sorted({step.above for step in self.steps}):
            raise ValueError("steps must ascend, and each `above` must be different")
        if not (self.stated or self.steps) or any(not step.stated for step in self.steps):
            raise ValueError(f"states no rate; rates are {', '.join(BUCKETS)}")
        return self

    def by_step(self, per_usd: float) -> dict[int, dict[str, float]]:
        """Return US dollars per token, by step (0 is the first) and bucket."""
        steps = {0: self.stated, **{step.above: step.stated for step in self.steps}}
        if per_usd == 1:
            return steps
        return {above: {bucket: rate / per_usd for bucket, rate in rates.items()} for above, rates in steps.items()}


class PriceRow(TierPart):
    """One model: the standard tier, and other service tiers (`batch`, `flex`, ...) with their own rates."""

    currency: str | None = Field(default=None, pattern=_CURRENCY)
    """Currency of the rates; None is the currency of the snapshot."""
    tiers: dict[Annotated[str, Field(pattern=_TIER)], TierPart] = Field(default_factory=dict)

    def price(self, per_usd: float) -> ModelPrice:
        """Return the price in US dollars; `per_usd` units of its currency are worth one dollar."""
        tiers = {"": self.by_step(per_usd), **{name: tier.by_step(per_usd) for name, tier in self.tiers.items()}}
        return price_of_steps(tiers)


class Prices(_Strict):
    """The prices of a snapshot without its name; also the shape of a user's own file."""

    date: Day | None = None
    """Day of the prices."""
    source: str | None = None
    currency: str = Field(default="USD", pattern=_CURRENCY)
    exchange: dict[Annotated[str, Field(pattern=_CURRENCY)], Annotated[float, BeforeValidator(_above_zero)]] = Field(
        default_factory=dict
    )
    """Fixed exchange rates: units of a currency that are worth one US dollar, for instance CNY 6.77."""
    models: dict[str, PriceRow]

    @model_validator(mode="after")
    def _convertible(self) -> Prices:
        if not self.models:
            raise ValueError("names no model")
        if self.exchange.get("USD", 1.0) != 1.0:
            raise ValueError("exchange: one USD is worth 1 USD")
        for name, row in self.models.items():
            if not name.strip() or name != name.strip():
                raise ValueError(f"the model {name!r} has no name, or one with spaces around it")
            per_usd = self.per_usd(row.currency or self.currency, name)
            for tier in (row, *row.tiers.values()):
                for rates in tier.by_step(per_usd).values():
                    for bucket, rate in rates.items():
                        if rate > MOST_USD:
                            raise ValueError(
                                f"model {name}: {bucket} is {rate:g} US dollars per token; rates are per token, so 3 "
                                "dollars a million tokens are 3e-6"
                            )
        return self

    def per_usd(self, currency: str, model: str = "") -> float:
        """Return the units of a currency that are worth one US dollar.

        Raises: ValueError if no rate is stated.
        """
        if currency == "USD":
            return 1.0
        if currency not in self.exchange:
            prefix = f"model {model}: " if model else ""
            raise ValueError(f"{prefix}no exchange rate for {currency}: add it (--rate {currency}=UNITS_PER_USD)")
        return self.exchange[currency]

    @property
    def gaps(self) -> dict[str, tuple[str, ...]]:
        """By model, the buckets among input and output without a standard rate; calls that use them have no price."""
        missing = {
            name: tuple(bucket for bucket in ("input", "output") if bucket not in row.stated)
            for name, row in self.models.items()
        }
        return {name: buckets for name, buckets in missing.items() if buckets}


class Snapshot(Prices):
    """A file of prices with its name."""

    schema_: str = Field(alias="schema", pattern=f"^{re.escape(SCHEMA)}$")
    name: str
    date: Day
    source: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    """Digest of everything else in the file."""


def prices_of(content: object, origin: str) -> Prices:
    """Validate prices; `origin` names their source in messages.

    Raises: PriceError, one line with the location.
    """
    return _validated(Prices, content, origin)


def snapshot_of(content: object, origin: str) -> Snapshot:
    """Validate a snapshot; `origin` names its file in messages.

    Raises: PriceError, one line with the location.
    """
    return _validated(Snapshot, content, origin)


Shape = TypeVar("Shape", bound=Prices)


def _validated(shape: type[Shape], content: object, origin: str) -> Shape:
    try:
        return shape.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    location = ".".join(str(part) for part in first["loc"])
    match first["type"]:
        case "extra_forbidden":
            problem = f"unknown key; keys are {', '.join(_keys(first['loc']))}"
        case "value_error":
            problem = str(first["ctx"]["error"])
        case _:
            problem = first["msg"]
    raise PriceError(f"{origin}: {location}: {problem}" if location else f"{origin}: {problem}") from None


def _keys(location: tuple[int | str, ...]) -> list[str]:
    """Return the valid keys at the location of an unknown one."""
    if len(location) == 1:
        return list(Prices.model_fields)
    inner = location[2:-1]
    return list((StepPart if "steps" in inner else TierPart if "tiers" in inner else PriceRow).model_fields)
