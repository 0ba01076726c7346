"""Yardsticks for tests of speed: plain work, timed in the same run, because a fixed bound fails on a loaded machine."""

import subprocess
import time


def plain_python_s() -> float:
    """Return the processor time of a fixed loop of plain Python, about 0.05 s on a quiet machine."""
    began = time.process_time()
    total = 0
    for number in range(2_500_000):
        total += number
    return time.process_time() - began


def plain_process_s() -> float:
    """Return the time of a shell that does nothing: about 2 ms on a quiet machine. Take the median of several."""
    began = time.monotonic()
    subprocess.run(["bash", "-c", "true"], check=True)
    return time.monotonic() - began
