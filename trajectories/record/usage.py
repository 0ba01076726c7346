"""Tokens and dollars of one call or of many.

Only the two record types and their sums live here; turning a provider's usage into buckets is a
model's work, and turning buckets into dollars is `scoring`'s.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

Tokens = int | None


def _sum_known(values: Iterable[int | float | None]) -> int | float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


class Usage(BaseModel):
    """Token counts in disjoint buckets; None is unknown, never 0.

    `input` is what was neither read from nor written to a cache. `reasoning` is part of `output`
    and the only bucket that overlaps another.
    """

    model_config = ConfigDict(frozen=True)

    input: Tokens = Field(default=None, ge=0)
    cache_read: Tokens = Field(default=None, ge=0)
    cache_write_5m: Tokens = Field(default=None, ge=0)
    cache_write_1h: Tokens = Field(default=None, ge=0)
    output: Tokens = Field(default=None, ge=0)
    reasoning: Tokens = Field(default=None, ge=0)

    @property
    def prompt(self) -> int:
        """Tokens of the prompt, cached or not; unknown buckets count nothing."""
        buckets = (self.input, self.cache_read, self.cache_write_5m, self.cache_write_1h)
        return sum(tokens or 0 for tokens in buckets)

    @property
    def total(self) -> int:
        """All prompt buckets plus output: what a token limit counts."""
        return self.prompt + (self.output or 0)

    @classmethod
    def sum(cls, usages: Iterable[Usage]) -> Usage:
        """Bucket by bucket; a bucket is None only where every usage leaves it unknown."""
        known = list(usages)
        return cls.model_validate(
            {name: _sum_known(getattr(usage, name) for usage in known) for name in cls.model_fields}
        )


class Costs(BaseModel):
    """US dollars; None is unknown, never 0.

    `billed` is the provider's own figure, `computed` comes from a dated price snapshot, `list` is
    the same without any cache discount.
    """

    model_config = ConfigDict(frozen=True)

    billed: float | None = Field(default=None, ge=0)
    computed: float | None = Field(default=None, ge=0)
    list: float | None = Field(default=None, ge=0)

    @property
    def best(self) -> float | None:
        """What a cost limit counts: billed where the provider says it, else computed."""
        return self.computed if self.billed is None else self.billed

    @classmethod
    def sum(cls, costs: Iterable[Costs]) -> Costs:
        """Kind by kind; a kind is None as soon as one of the costs does not know it."""
        known = [cost.model_dump() for cost in costs]
        return cls.model_validate(
            {
                name: None if any(cost[name] is None for cost in known) else sum(cost[name] for cost in known)
                for name in cls.model_fields
            }
        )
