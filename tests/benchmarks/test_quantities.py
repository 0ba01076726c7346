"""Durations, sizes and counts as people write them."""

from __future__ import annotations

import pytest

from benchmarks.task.quantities import count, duration_s, size_bytes


@pytest.mark.parametrize(
    ("text", "seconds"), [(90, 90), ("90", 90), ("1.5h", 5400), ("6h", 21600), ("200ms", 0.2), ("15 m", 900)]
)
def test_durations(text: str | float, seconds: float) -> None:
    assert duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "size"), [(5, 5), ("64k", 65536), ("2g", 2 << 30), ("2GiB", 2 << 30), ("1.5m", 1572864)]
)
def test_sizes(text: str | int, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize(("text", "number"), [("2M", 2_000_000), ("500k", 500_000), (7, 7)])
def test_counts(text: str | int, number: int) -> None:
    assert count(text) == number


@pytest.mark.parametrize("text", ["", "soon", "-1", "1h30m", "6H", "1e3", "inf"])
def test_an_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        duration_s(text)
