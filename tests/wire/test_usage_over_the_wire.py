"""Usage over the wire: each bucket of a completion equals the count of the server, in each protocol."""

from __future__ import annotations

import pytest

from tests.wire.dialects import output_tokens
from tests.wire.replies import Turn
from tests.wire.talk import PROTOCOLS, talking

EVERY_PROTOCOL = pytest.mark.parametrize("protocol", PROTOCOLS)


@EVERY_PROTOCOL
def test_buckets_equal_the_counts_of_the_server(protocol):
    turns = [Turn(text="One.", thinking="Hm.", commands=("ls", "pwd")), Turn(commands=("true",))]
    with talking(protocol, turns) as talk:
        for turn in turns:
            usage = talk.ask().usage
            counted = talk.server.requests[-1].counted
            assert (usage.input, usage.cache_read) == (counted.input, counted.read)
            assert usage.output == output_tokens(turn)
            assert usage.prompt == counted.prompt
            if protocol == "anthropic":
                assert (usage.cache_write_5m, usage.cache_write_1h) == (counted.write_5m, counted.write_1h)
                assert usage.reasoning is None, "Anthropic does not count it; litellm's estimate is none"
            else:
                assert usage.reasoning == len(turn.thinking and ["Hm", "."])


@EVERY_PROTOCOL
def test_no_usage_is_unknown_not_zero(protocol):
    with talking(protocol, [Turn(text="x", no_usage=True)]) as talk:
        answer = talk.ask()
        assert answer.usage is None
        assert answer.usage_raw is None
        assert answer.billed_usd is None


@pytest.mark.parametrize(
    ("protocol", "removed"), [("chat", "prompt_tokens_details"), ("responses", "input_tokens_details")]
)
def test_a_missing_cache_figure_is_unknown_not_zero(protocol, removed):
    with talking(protocol, [Turn(text="x", usage={removed: None})]) as talk:
        usage = talk.ask().usage
        assert usage.cache_read is None
        assert usage.input == talk.server.requests[0].counted.prompt


@EVERY_PROTOCOL
def test_raw_usage_is_kept_as_it_came(protocol):
    with talking(protocol, [Turn(text="x", usage={"a_new_field": {"deep": [1]}})]) as talk:
        assert talk.ask().usage_raw["a_new_field"] == {"deep": [1]}


def test_the_billed_amount_is_read():
    with talking("chat", [Turn(text="x", usage={"cost": 0.0042})], name="openrouter/qwen/qwen3-coder") as talk:
        assert talk.ask().billed_usd == 0.0042
        assert talk.sent["usage"] == {"include": True}


def test_hits_and_misses_of_deepseek_are_converted():
    hits = {"prompt_cache_hit_tokens": 3, "prompt_cache_miss_tokens": 97, "prompt_tokens": 100}
    usage = {**hits, "prompt_tokens_details": {"cached_tokens": 3}}
    with talking("chat", [Turn(text="x", usage=usage)], name="deepseek/deepseek-chat") as talk:
        answer = talk.ask()
        assert (answer.usage.input, answer.usage.cache_read) == (97, 3)
