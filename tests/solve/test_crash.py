"""A short run of `scripts/crash-test`: trials that are killed at random moments lose nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from scripts.crash_test import crash_test


@pytest.mark.parametrize(("env", "rounds"), [("local", 6), pytest.param("docker", 3, marks=pytest.mark.docker)])
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_trial_killed_at_random_moments_ends_like_an_undisturbed_one(env: str, rounds: int) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        moments, bad = crash_test(Path(folder), env, rounds, seed=20261120)
    assert not bad, bad
    assert moments.total() - moments["not hit"] >= rounds // 2


@pytest.mark.parametrize(
    "env", [pytest.param(kind, marks=getattr(pytest.mark, kind)) for kind in ("sandbox", "docker")]
)
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_chain_killed_at_random_moments_ends_like_an_undisturbed_one(env: str) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        moments, bad = crash_test(Path(folder), env, 3, seed=20261123, turns=2)
    assert not bad, bad
    assert moments.total() - moments["not hit"] >= 2
