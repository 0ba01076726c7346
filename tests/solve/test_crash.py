"""The short form of scripts/crash-test: `kill -9` at random moments, and nothing is lost."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from scripts.crash_test import crash_test


@pytest.mark.parametrize(("env", "rounds"), [("local", 6), pytest.param("docker", 3, marks=pytest.mark.docker)])
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_nothing_is_lost(env: str, rounds: int) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        moments, bad = crash_test(Path(folder), env, rounds, seed=20261120)
    assert not bad, bad
    assert moments.total() - moments["not hit"] >= rounds // 2
