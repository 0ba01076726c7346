"""Bounds of a provider's counts."""

from __future__ import annotations

from typing import Any

import pytest

from trajectories.formats.provider_usage import MOST, billed_usd, to_usage


@pytest.mark.parametrize(("cached", "uncached"), [(99, 1), (100, 0), (101, 100)])
def test_a_cache_as_large_as_the_prompt_leaves_nothing_uncached(cached: int, uncached: int) -> None:
    """A larger cache shows that the prompt does not include it."""
    raw = {"prompt_tokens": 100, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": cached}}
    usage = to_usage(raw)
    assert usage is not None
    assert (usage.input, usage.cache_read) == (uncached, cached)


@pytest.mark.parametrize(
    ("value", "accepted"), [(0, True), (MOST, True), (MOST + 1, False), (-1, False), (True, False)]
)
def test_a_price_outside_the_bounds_is_unknown(value: Any, accepted: bool) -> None:
    assert billed_usd({"cost": value}) == (value if accepted else None)
