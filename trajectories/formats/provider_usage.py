"""Conversion of a provider's raw usage to disjoint buckets, in one place and testable without a provider.

Known shapes are OpenAI chat (also of DeepSeek, OpenRouter, and all providers that litellm converts), OpenAI Responses
and Anthropic. A missing field is unknown, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeGuard

from trajectories.record.usage import Usage

Raw = Mapping[str, Any]

MOST = 10**12
"""Largest figure that is accepted as a count or a price; infinities and NaN are not accepted."""


def known_shape(raw: object) -> bool:
    """Return True for a usage object that `to_usage` can read, because it counts a prompt."""
    return isinstance(raw, Mapping) and (_count(raw, "prompt_tokens", "input_tokens") is not None)


def to_usage(raw: Raw | None, *, write_ttl: Literal["5m", "1h"] = "5m") -> Usage | None:
    """Return the buckets of one call; None if the provider counted nothing.

    `write_ttl` names the bucket for cache writes if the provider does not split them.
    """
    if raw is None or not known_shape(raw):
        return None
    if "prompt_tokens" in raw:
        usage = _chat(raw, write_ttl)
    elif isinstance(raw.get("input_tokens_details"), Mapping):
        usage = _responses(raw, write_ttl)
    else:
        usage = _anthropic(raw, write_ttl)
    # litellm fills 0 where a provider sent no usage; a real prompt has tokens
    return usage if usage.total else None


def billed_usd(raw: Raw | None) -> float | None:
    """Return the cost that the provider billed: OpenRouter's `cost`, plus the upstream cost of a user's own key."""
    if raw is None:
        return None
    cost = _dollars(raw.get("cost"))
    if cost is not None and raw.get("is_byok") is True:
        upstream = _dollars(_part(raw, "cost_details").get("upstream_inference_cost"))
        return None if upstream is None else cost + upstream
    return cost


def _chat(raw: Raw, write_ttl: str) -> Usage:
    """Convert chat usage, whose prompt includes cache reads and, for Anthropic's models, cache writes."""
    prompt, details = _count(raw, "prompt_tokens"), _part(raw, "prompt_tokens_details")
    read = _first(_count(details, "cached_tokens"), _count(raw, "cache_read_input_tokens", "prompt_cache_hit_tokens"))
    write = _first(
        _count(raw, "cache_creation_input_tokens"), _count(details, "cache_creation_tokens", "cache_write_tokens")
    )
    split = _part(details, "cache_creation_token_details") or _part(raw, "cache_creation")
    miss = _count(raw, "prompt_cache_miss_tokens")
    output = _count(raw, "completion_tokens")
    reasoning = _count(_part(raw, "completion_tokens_details"), "reasoning_tokens")
    total = _count(raw, "total_tokens")
    if output is not None and reasoning and prompt is not None and total == prompt + output + reasoning:
        output += reasoning  # xAI counts reasoning beside the completion
    return _buckets(
        input=miss if miss is not None else _without_cache(prompt, read, write),
        read=read,
        writes=_writes(write, split, write_ttl),
        output=output,
        reasoning=reasoning,
    )


def _responses(raw: Raw, write_ttl: str) -> Usage:
    """Convert usage of the Responses API, whose input includes the cache."""
    details = _part(raw, "input_tokens_details")
    read, write = _count(details, "cached_tokens"), _count(details, "cache_write_tokens", "cache_creation_tokens")
    return _buckets(
        input=_without_cache(_count(raw, "input_tokens"), read, write),
        read=read,
        writes=_writes(write, {}, write_ttl),
        output=_count(raw, "output_tokens"),
        reasoning=_count(_part(raw, "output_tokens_details"), "reasoning_tokens"),
    )


def _anthropic(raw: Raw, write_ttl: str) -> Usage:
    """Convert Anthropic's usage, whose input does not include the cache."""
    return _buckets(
        input=_count(raw, "input_tokens"),
        read=_count(raw, "cache_read_input_tokens"),
        writes=_writes(_count(raw, "cache_creation_input_tokens"), _part(raw, "cache_creation"), write_ttl),
        output=_count(raw, "output_tokens"),
        reasoning=_count(_part(raw, "output_tokens_details"), "thinking_tokens", "reasoning_tokens"),
    )


def _buckets(
    *,
    input: int | None,
    read: int | None,
    writes: tuple[int | None, int | None],
    output: int | None,
    reasoning: int | None,
) -> Usage:
    if reasoning is not None and output is not None and reasoning > output:
        reasoning = None  # it is part of the output, so this figure is wrong
    return Usage(
        input=input,
        cache_read=read,
        cache_write_5m=writes[0],
        cache_write_1h=writes[1],
        output=output,
        reasoning=reasoning,
    )


def _writes(total: int | None, split: Raw, write_ttl: str) -> tuple[int | None, int | None]:
    """Return the written tokens as (5 minutes, 1 hour); a split that does not add up to the total is ignored."""
    short, long = _count(split, "ephemeral_5m_input_tokens"), _count(split, "ephemeral_1h_input_tokens")
    if (short is not None or long is not None) and total in (None, (short or 0) + (long or 0)):
        return short or 0, long or 0
    if total is None:
        return None, None
    return (total, 0) if write_ttl == "5m" else (0, total)


def _without_cache(prompt: int | None, read: int | None, write: int | None) -> int | None:
    """Return the uncached part. If the cache is larger than the prompt, the prompt does not include it."""
    if prompt is None:
        return None
    rest = prompt - (read or 0) - (write or 0)
    return rest if rest >= 0 else prompt


def _count(raw: Raw, *names: str) -> int | None:
    """Return the first of these fields that is a count."""
    for name in names:
        value = raw.get(name)
        if _is_figure(value) and value == int(value):
            return int(value)
    return None


def _dollars(value: object) -> float | None:
    return float(value) if _is_figure(value) else None


def _is_figure(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST


def _part(raw: Raw, name: str) -> Raw:
    value = raw.get(name)
    return value if isinstance(value, Mapping) else {}


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
