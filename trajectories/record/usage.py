"""Tokens and dollars of one call or of many, with their sums.

Models turn a provider's usage into buckets, and `scoring` turns buckets into dollars.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

Tokens = int | None


def _sum_known(values: Iterable[int | float | None]) -> int | float | None:
    present = [value for value in values if value is not None]
    return sum(present) if present else None


class Usage(BaseModel):
    """Token counts in disjoint buckets, except that `reasoning` is part of `output`. null is unknown, never 0."""

    model_config = ConfigDict(frozen=True)

    input: Tokens = Field(default=None, ge=0)
    """Tokens of the prompt that were neither read from a cache nor written to one."""
    cache_read: Tokens = Field(default=None, ge=0)
    """Tokens of the prompt that were read from a cache."""
    cache_write_5m: Tokens = Field(default=None, ge=0)
    """Tokens of the prompt that were written to a cache for five minutes."""
    cache_write_1h: Tokens = Field(default=None, ge=0)
    """Tokens of the prompt that were written to a cache for one hour."""
    output: Tokens = Field(default=None, ge=0)
    """Tokens of the reply, reasoning included."""
    reasoning: Tokens = Field(default=None, ge=0)
    """Tokens of the reply that are reasoning."""

    @property
    def prompt(self) -> int:
        """Tokens of the prompt, cached or not. Unknown buckets count as 0."""
        buckets = (self.input, self.cache_read, self.cache_write_5m, self.cache_write_1h)
        return sum(tokens or 0 for tokens in buckets)

    @property
    def total(self) -> int:
        """Tokens that a token limit counts: all prompt buckets and the output."""
        return self.prompt + (self.output or 0)

    @classmethod
    def sum(cls, usages: Iterable[Usage]) -> Usage:
        """Add usages bucket by bucket. A bucket is None only if it is unknown in every usage."""
        summands = list(usages)
        return cls.model_validate(
            {name: _sum_known(getattr(usage, name) for usage in summands) for name in cls.model_fields}
        )


class Costs(BaseModel):
    """Costs of a call. null is unknown, never 0."""

    model_config = ConfigDict(frozen=True)

    billed: float | None = Field(default=None, ge=0)
    """Cost that the provider reports."""
    computed: float | None = Field(default=None, ge=0)
    """Cost computed from a dated price snapshot."""
    list: float | None = Field(default=None, ge=0)
    """Cost computed from the same snapshot without any cache discount."""

    @property
    def best(self) -> float | None:
        """Cost that a cost limit counts: billed if the provider reports it, otherwise computed."""
        return self.computed if self.billed is None else self.billed

    @classmethod
    def sum(cls, costs: Iterable[Costs]) -> Costs:
        """Add costs kind by kind. A kind is None if it is unknown in any of them."""
        summands = [cost.model_dump() for cost in costs]
        return cls.model_validate(
            {
                name: None if any(cost[name] is None for cost in summands) else sum(cost[name] for cost in summands)
                for name in cls.model_fields
            }
        )
