"""Rates of one model: by bucket, by prompt size, by service tier. No tables, no files.

A rate that is not stated is None: it is not derived from another rate, and a tier is not derived from the standard one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BUCKETS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")
"""Buckets of `trajectories.record.usage.Usage`; `reasoning` only if its rate differs from that of other output."""

_LITELLM = {
    "input_cost_per_token": "input",
    "output_cost_per_token": "output",
    "cache_read_input_token_cost": "cache_read",
    "cache_creation_input_token_cost": "cache_write_5m",
    "cache_creation_input_token_cost_above_1hr": "cache_write_1h",
    "output_cost_per_reasoning_token": "reasoning",
}
_LITELLM_KEY = re.compile(
    rf"({'|'.join(sorted(_LITELLM, key=len, reverse=True))})(?:_above_(\d+)k_tokens)?(?:_([a-z]+))?"
)
"""litellm's name of a rate: the bucket, then a prompt size in thousands of tokens, then a service tier."""
_SAME_TIER = {"batches": "batch"}
_STANDARD = ("", "auto", "default", "standard", "standard_only")


@dataclass(frozen=True)
class Rates:
    """Rates of one call in US dollars per token; None is unknown."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write_5m: float | None = None
    cache_write_1h: float | None = None
    reasoning: float | None = None


Steps = tuple[tuple[int, Mapping[str, float]], ...]
"""Rates by bucket for prompts with more than the given number of tokens; ascending, the first number is 0."""


@dataclass(frozen=True)
class ModelPrice:
    """A model's rates by service tier ("" is the standard one, "batch", "flex", ...), US dollars per token."""

    tiers: Mapping[str, Steps]

    def rates(self, prompt_tokens: int, service_tier: str | None = None) -> Rates | None:
        """Return the rates of a call with this prompt size and service tier; None if the price has no such tier.

        The whole call pays the rate of the highest step that the prompt exceeds. A bucket that this step does not state
        keeps the rate of the step below.
        """
        steps = self.tiers.get(standard_name(service_tier))
        if steps is None:
            return None
        reached: dict[str, float] = {}
        for above, rates in steps:
            if above < prompt_tokens or above == 0:
                reached.update(rates)
        return Rates(**reached)

    @property
    def base(self) -> Rates:
        """Rates of a short prompt at the standard tier."""
        return self.rates(0) or Rates()


def standard_name(service_tier: str | None) -> str:
    """Return the name of a service tier in tables: "" for the standard tier, `batch` for litellm's `batches`."""
    tier = service_tier or ""
    return "" if tier in _STANDARD else _SAME_TIER.get(tier, tier)


def price_of_litellm(row: Mapping[str, Any]) -> ModelPrice | None:
    """Return the price in a row of litellm's table; None if it has no rate for input tokens.

    Rates that are not per text token (seconds, images, searches) and rates by the time of the day (`off_peak_pricing`)
    are left out, so that the standing rate counts.
    """
    tiers: dict[str, dict[int, dict[str, float]]] = {}
    for key, value in row.items():
        name = _LITELLM_KEY.fullmatch(key)
        if name is not None and value is not None:
            step = tiers.setdefault(standard_name(name[3]), {}).setdefault(int(name[2] or 0) * 1000, {})
            step[_LITELLM[name[1]]] = float(value)
    for step in row.get("tiered_pricing") or ():
        rates = {_LITELLM[key]: float(value) for key, value in step.items() if key in _LITELLM}
        if "range" in step and rates:
            tiers.setdefault("", {}).setdefault(int(step["range"][0]), {}).update(rates)
    if "input" not in tiers.get("", {}).get(0, {}):
        return None
    return price_of_steps(tiers)


def price_of_steps(tiers: Mapping[str, Mapping[int, Mapping[str, float]]]) -> ModelPrice:
    """Return a price from rates by service tier, prompt size and bucket."""
    return ModelPrice({name: tuple(sorted(steps.items(), key=lambda step: step[0])) for name, steps in tiers.items()})
