"""The prompt cache: requests only grow at their end, and cache breakpoints are set where they save money."""

from __future__ import annotations

import itertools
import json

import pytest

from tests.wire.prompt_cache import anthropic_blocks, openai_blocks
from tests.wire.replies import Turn
from tests.wire.talk import PROTOCOLS, Talk, talking

EVERY_PROTOCOL = pytest.mark.parametrize("protocol", PROTOCOLS)
STEPS = 30


def busy(number: int) -> Turn:
    """Return a turn of varying form: thinking, text, one or many calls."""
    return Turn(
        text=f"Step {number}." if number % 3 else "",
        thinking=f"I think about step {number}, and more." if number % 2 else "",
        commands=tuple(f"echo {number} {call}" for call in range(1 + number % 4 + 25 * (number == 7))),
    )


def hit_rates(talk: Talk) -> list[float]:
    """Return, for each call after the first, the share of the previous prompt that it read from the cache."""
    counted = [request.counted for request in talk.server.requests]
    return [now.read / before.prompt for before, now in itertools.pairwise(counted)]


@EVERY_PROTOCOL
def test_every_call_reads_the_previous_prompt_from_the_cache(protocol):
    with talking(protocol, [busy(number) for number in range(STEPS)]) as talk:
        for _ in range(STEPS):
            talk.ask()
        assert min(hit_rates(talk)) >= 0.99
        assert len(hit_rates(talk)) == STEPS - 1


@EVERY_PROTOCOL
def test_a_changed_prefix_is_detected(protocol):
    """A changed system message invalidates the cache."""
    with talking(protocol, [busy(number) for number in range(3)]) as talk:
        talk.ask()
        talk.ask()
        talk.history[0] = talk.history[0].model_copy(update={"content": "Other words."})
        talk.ask()
        assert hit_rates(talk)[1] < 0.99


@EVERY_PROTOCOL
def test_messages_are_the_same_bytes_in_every_request(protocol):
    with talking(protocol, [busy(number) for number in range(8)]) as talk:
        for _ in range(8):
            talk.ask()
        bodies = [request.body for request in talk.server.requests]
    items = [
        [json.dumps(_unmarked(item), ensure_ascii=False) for item in body.get("messages", body.get("input"))]
        for body in bodies
    ]
    for before, now in itertools.pairwise(items):
        assert now[: len(before)] == before
    rest = {json.dumps({k: v for k, v in body.items() if k not in ("messages", "input")}) for body in bodies}
    assert len(rest) == 1, "parameters and tools do not change either"


def test_a_failed_try_does_not_change_the_request():
    from agent.models.protocol import CallFailure
    from tests.wire.replies import server_error

    with talking("anthropic", [busy(1), server_error(), busy(2)]) as talk:
        talk.ask()
        with pytest.raises(CallFailure):
            talk.ask()
        talk.ask(try_=2)
        assert talk.server.requests[1].raw == talk.server.requests[2].raw


def test_breakpoints_are_on_the_system_prompt_and_at_the_ends_of_the_last_two_requests():
    with talking("anthropic", [busy(number) for number in range(1, 5)]) as talk:
        for _ in range(4):
            talk.ask()
        blocks = [anthropic_blocks(request.body) for request in talk.server.requests]
    for before, now in itertools.pairwise(blocks):
        marks = [index for index, block in enumerate(now) if block.mark]
        system = next(index for index, block in enumerate(now) if block.text.startswith("system"))
        assert marks == [system, len(before) - 1, len(now) - 1]


@pytest.mark.parametrize(("cache", "lifetimes"), [("5m", {"5m"}), ("1h", {"1h"}), ("off", set())])
def test_the_cache_setting_sets_the_lifetime(cache, lifetimes):
    with talking("anthropic", [busy(1), busy(2)], cache=cache) as talk:
        first, second = talk.ask(), talk.ask()
        assert {block.mark for block in anthropic_blocks(talk.sent) if block.mark} == lifetimes
    written = {"5m": first.usage.cache_write_5m, "1h": first.usage.cache_write_1h}
    assert {ttl for ttl, tokens in written.items() if tokens} == lifetimes
    assert bool(second.usage.cache_read) == bool(lifetimes)


def test_openrouter_marks_text_parts_for_anthropics_models_only():
    with talking("chat", [busy(1), busy(2)], name="openrouter/anthropic/claude-opus-4.5") as talk:
        talk.ask()
        talk.ask()
        assert len([block for block in openai_blocks(talk.sent) if block.mark]) == 3
        assert min(hit_rates(talk)) >= 0.99
    with talking("chat", [busy(1)], name="openrouter/qwen/qwen3-coder") as talk:
        talk.ask()
        assert "cache_control" not in json.dumps(talk.sent)


@pytest.mark.parametrize("protocol", ["chat", "responses"])
def test_an_automatic_cache_needs_no_marks(protocol):
    with talking(protocol, [busy(1)]) as talk:
        talk.ask()
        assert "cache_control" not in json.dumps(talk.sent)


def _unmarked(item):
    if isinstance(item, dict):
        return {key: _unmarked(value) for key, value in item.items() if key != "cache_control"}
    return [_unmarked(value) for value in item] if isinstance(item, list) else item
