"""The retries of failed calls and their waits."""

from __future__ import annotations

import itertools
from typing import get_args

import pytest

from agent.models.protocol import CallFailure
from agent.models.retries import RetryPolicy
from trajectories.record.events import FailureClass

RETRIED = {"rate_limit", "server_error", "timeout", "connection", "malformed"}


@pytest.mark.parametrize("error", get_args(FailureClass))
def test_only_failures_that_may_pass_are_tried_again(error):
    assert (RetryPolicy().wait_s(CallFailure(error, "x"), 1) is not None) == (error in RETRIED)


def test_tries_are_bounded_and_waits_span_minutes():
    policy = RetryPolicy()
    failure = CallFailure("server_error", "x")
    waits = [policy.wait_s(failure, number) for number in range(1, policy.tries + 1)]
    assert waits[-1] is None
    assert all(wait is not None for wait in waits[:-1])
    assert 5 * 60 < sum(waits[:-1]) < 15 * 60
    assert all(later >= 0.8 * earlier for earlier, later in itertools.pairwise(waits[:-1]))


def test_retry_after_is_obeyed_but_not_without_bound():
    policy = RetryPolicy()
    assert policy.wait_s(CallFailure("rate_limit", "x", retry_after_s=300), 1) == 300
    assert policy.wait_s(CallFailure("rate_limit", "x", retry_after_s=0), 1) >= policy.first_wait_s
    assert policy.wait_s(CallFailure("rate_limit", "x", retry_after_s=86_400), 1) is None


def test_parallel_trials_do_not_try_again_at_the_same_moment():
    failure = CallFailure("rate_limit", "x")
    waits = {RetryPolicy(seed=seed / 7).wait_s(failure, 3) for seed in range(20)}
    assert len(waits) > 10
    assert all(8 <= wait <= 8 * 1.2 for wait in waits)
    assert RetryPolicy(seed=0.5).wait_s(failure, 3) == RetryPolicy(seed=0.5).wait_s(failure, 3)
