"""A small batch on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scoring.records import record


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """`m` tries all three tasks; `n` passes one at low cost, does not try another, and loses the environment of the
    third."""
    batch = tmp_path / "runs" / "one"
    record(batch, "e", "m", quality=1.0, cost=0.05, tier="easy", steps=2)
    record(batch, "d", "m", quality=0.5, cost=0.5, tier="medium")
    record(batch, "h", "m", quality=1.0, cost=1.0, tier="hard")
    record(batch, "e", "n", quality=1.0, cost=0.01, tier="easy")
    record(batch, "h", "n", cost=0.2, tier="hard", exit="environment_lost", verdict=False)
    return tmp_path
