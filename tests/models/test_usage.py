"""Conversion of raw usage of every form into disjoint buckets."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from trajectories.formats.provider_usage import billed_usd, to_usage
from trajectories.record.usage import Usage


def buckets(raw, **options) -> tuple:
    usage = to_usage(raw, **options)
    assert usage is not None
    names = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "reasoning")
    return tuple(getattr(usage, name) for name in names)


CASES = {
    "OpenAI chat": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 60},
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
        (40, 60, None, None, 20, 5),
    ),
    "OpenAI chat without details": ({"prompt_tokens": 9, "completion_tokens": 1}, (9, None, None, None, 1, None)),
    "litellm's words for Anthropic": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "cache_read_input_tokens": 50,
            "cache_creation_input_tokens": 30,
            "prompt_tokens_details": {
                "cached_tokens": 50,
                "cache_creation_tokens": 30,
                "cache_creation_token_details": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
            },
        },
        (20, 50, 10, 20, 20, None),
    ),
    "litellm's words for Gemini before the first hit": (
        {
            "prompt_tokens": 80,
            "completion_tokens": 9,
            "prompt_tokens_details": {"cached_tokens": None, "text_tokens": 80},
            "completion_tokens_details": {"reasoning_tokens": 7, "text_tokens": 2},
        },
        (80, None, None, None, 9, 7),
    ),
    "DeepSeek": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 5,
            "prompt_cache_hit_tokens": 64,
            "prompt_cache_miss_tokens": 36,
        },
        (36, 64, None, None, 5, None),
    ),
    "OpenRouter with a cache write": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 30},
        },
        (60, 10, 30, 0, 5, None),
    ),
    "xAI counts reasoning beside the completion": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "total_tokens": 150,
            "completion_tokens_details": {"reasoning_tokens": 40},
        },
        (100, None, None, None, 50, 40),
    ),
    "OpenAI Responses": (
        {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 96},
            "output_tokens": 30,
            "output_tokens_details": {"reasoning_tokens": 12},
            "total_tokens": 130,
        },
        (4, 96, None, None, 30, 12),
    ),
    "Anthropic": (
        {
            "input_tokens": 3,
            "cache_read_input_tokens": 50,
            "cache_creation_input_tokens": 30,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 30},
            "output_tokens": 20,
        },
        (3, 50, 0, 30, 20, None),
    ),
    "Anthropic without a split": (
        {"input_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 30, "output_tokens": 2},
        (3, 0, 30, 0, 2, None),
    ),
    "a negative figure is no figure": (
        {"prompt_tokens": 10, "completion_tokens": -1, "prompt_tokens_details": {"cached_tokens": -5}},
        (10, None, None, None, None, None),
    ),
    "a figure that can be no count is none": (
        {
            "prompt_tokens": 10,
            "completion_tokens": float("inf"),
            "prompt_tokens_details": {"cached_tokens": 10**400, "cache_write_tokens": float("nan")},
            "completion_tokens_details": {"reasoning_tokens": 1e300},
        },
        (10, None, None, None, None, None),
    ),
    "a cache larger than the prompt was left out of it": (
        {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 500}},
        (10, 500, None, None, 1, None),
    ),
    "reasoning larger than the output is wrong": (
        {"prompt_tokens": 10, "completion_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 9}},
        (10, None, None, None, 1, None),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_known_form_is_converted(name):
    raw, expected = CASES[name]
    assert buckets(raw) == expected


def test_a_split_that_does_not_add_up_is_ignored():
    raw = {
        "input_tokens": 1,
        "output_tokens": 1,
        "cache_creation_input_tokens": 30,
        "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 1},
    }
    assert buckets(raw)[2:4] == (30, 0)


def test_cache_writes_without_a_split_count_for_the_requested_lifetime():
    raw = {"input_tokens": 1, "cache_creation_input_tokens": 30, "output_tokens": 1}
    assert buckets(raw, write_ttl="1h")[2:4] == (0, 30)


@pytest.mark.parametrize(
    "raw", [None, {}, {"cost": 1}, {"prompt_tokens": None}, {"prompt_tokens": 0, "completion_tokens": 0}]
)
def test_usage_without_counts_is_unknown(raw):
    assert to_usage(raw) is None


@pytest.mark.parametrize(
    ("raw", "billed"),
    [
        (None, None),
        ({}, None),
        ({"cost": None}, None),
        ({"cost": 0.5}, 0.5),
        ({"cost": 0}, 0.0),
        ({"cost": -1}, None),
        ({"cost": True}, None),
        ({"cost": float("inf")}, None),
        ({"cost": float("nan")}, None),
        ({"cost": 10**400}, None),
        ({"cost": {"total_cost": 1}}, None),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}}, 0.21),
        ({"cost": 0, "is_byok": True}, None),
    ],
)
def test_the_billed_amount_is_read(raw, billed):
    assert billed_usd(raw) == (billed if billed is None else pytest.approx(billed))


NUMBERS = st.none() | st.integers(-5, 10**9) | st.just(10**400) | st.booleans() | st.floats() | st.text()
FIELDS = [
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "cost",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "prompt_cache_hit_tokens",
    "prompt_cache_miss_tokens",
    "ephemeral_5m_input_tokens",
    "ephemeral_1h_input_tokens",
]
PARTS = [
    "prompt_tokens_details",
    "completion_tokens_details",
    "input_tokens_details",
    "output_tokens_details",
    "cache_creation",
]
FLAT = st.dictionaries(st.sampled_from(FIELDS), NUMBERS)


@given(FLAT, st.dictionaries(st.sampled_from(PARTS), FLAT | NUMBERS))
def test_any_usage_gives_valid_buckets_or_none(flat, parts):
    usage = to_usage({**flat, **parts})
    assert usage is None or (usage.total > 0 and Usage.model_validate(usage.model_dump()) == usage)
    billed_usd({**flat, **parts})
