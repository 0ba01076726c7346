"""CPU time in ratios, since a fixed bound would depend on the machine."""

from __future__ import annotations

import time
from collections.abc import Callable

_RESOLUTION_S = 0.01
"""Shorter measurements count as this long."""


def cpu_s(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a piece of work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def check_linear(work: Callable[[int], object], size: int) -> None:
    """Assert that work of four times the size takes less than ten times as long; quadratic work takes 16 times.

    Each is done three times, and the least time counts: caches and the collector make single ones longer.
    """
    short_s = max(min(cpu_s(lambda: work(size)) for _ in range(3)), _RESOLUTION_S)
    assert min(cpu_s(lambda: work(4 * size)) for _ in range(3)) < 10 * short_s
