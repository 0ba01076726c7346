"""Compares the buckets of a call with the provider's own figures, if those can be read for certain.

Providers count in different ways: the prompt of OpenAI-like ones includes the cache (though some leave it out),
Anthropic's input does not, and xAI counts reasoning beside the completion. Only a difference that none of these ways
explains is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trajectories.record.parts import Json
from trajectories.record.usage import Usage


def does_not_add_up(usage: Usage | None, raw: Json | None) -> Iterator[str]:
    """Yield the inconsistencies in the usage of a call."""
    if usage is None:
        return
    if usage.reasoning is not None and usage.output is not None and usage.reasoning > usage.output:
        yield f"usage does not add up: {usage.reasoning} tokens of reasoning in {usage.output} of output"
    if raw:
        yield from _output(usage, raw)
        yield from _prompt(usage, raw)


def _output(usage: Usage, raw: Json) -> Iterator[str]:
    figure = _count(raw, "completion_tokens", "output_tokens")
    if figure is None or usage.output is None:
        return
    details = raw.get("completion_tokens_details")
    beside = _count(details, "reasoning_tokens") if isinstance(details, Mapping) else None
    if usage.output not in (figure, figure + (beside or 0)):
        yield f"usage does not add up: {usage.output} tokens of output, but {figure} according to the provider"


def _prompt(usage: Usage, raw: Json) -> Iterator[str]:
    figure = _count(raw, "prompt_tokens", "input_tokens")
    if figure is None or usage.input is None:
        return
    miss = _count(raw, "prompt_cache_miss_tokens")
    if usage.prompt != figure and usage.input not in (figure, miss):
        yield f"usage does not add up: {usage.prompt} tokens of prompt, but {figure} according to the provider"


def _count(raw: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = raw.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None
