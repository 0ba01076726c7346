"""The limit of calls in flight at one provider, over time."""

from __future__ import annotations

from agent.batch.sharing.concurrency import FIRST_LIMIT, Provider, provider_of


def _round(provider: Provider, now_s: float, *, refuses_above: int) -> None:
    """Send as many calls as are allowed; the provider refuses those beyond its own limit."""
    sent = 0
    while provider.may_send(now_s):
        provider.sent()
        sent += 1
    for number in range(sent):
        provider.ended(now_s, now_s + 1, status=429 if number >= refuses_above else None)


def test_the_limit_doubles_each_round_until_the_provider_refuses() -> None:
    provider = Provider()
    _round(provider, 0, refuses_above=1000)
    assert provider.limit == 2 * FIRST_LIMIT


def test_the_limit_settles_near_what_the_provider_takes() -> None:
    provider = Provider()
    for second in range(0, 400, 2):
        _round(provider, second, refuses_above=50)
    assert 25 <= provider.limit <= 52


def test_a_limit_that_is_not_used_does_not_grow() -> None:
    provider = Provider()
    for second in range(100):
        provider.sent()
        provider.ended(second, second + 1)
    assert provider.limit == FIRST_LIMIT


def test_models_of_one_provider_share_a_limit() -> None:
    assert provider_of("openai/gpt-5") == provider_of("openai/gpt-5-mini") != provider_of("gpt-5")
