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
    """Assert that work of four times the size takes less than ten times as long; quadratic work takes 16 times."""
    short_s = max(cpu_s(lambda: work(size)), _RESOLUTION_S)
    assert cpu_s(lambda: work(4 * size)) < 10 * short_s
