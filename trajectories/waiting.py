"""Waits that an interrupt cuts short at an interruptible place, in the main thread and in any other.

A signal ends any wait of the main thread. A stop (see `trajectories.interrupts`) ends the waits here, and nothing else.
An event that is set wins over an interrupt, which is then raised at the end of the interruptible place.
"""

from __future__ import annotations

import math
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable

from trajectories.interrupts import check, current_stop

_SLICE_S = 0.2
"""Seconds between two looks at the stop during a wait that nothing can wake."""


def sleep(seconds: float) -> None:
    """Sleep.

    Raises: KeyboardInterrupt.
    """
    stop = current_stop()
    if stop is None:
        time.sleep(seconds)
    else:
        _poll(stop.descriptor, select.POLLIN, seconds)
        check()


def ready(descriptor: int, events: int, timeout_s: float | None) -> bool:
    """Wait until one of these events of `select.poll` has come for a file; return False if none has in time.

    Raises: KeyboardInterrupt.
    """
    stop = current_stop()
    if stop is None:
        return _poll(descriptor, events, timeout_s)
    poll = select.poll()
    poll.register(descriptor, events)
    poll.register(stop.descriptor, select.POLLIN)
    came = poll.poll(_milliseconds(timeout_s))
    check()  # first: a stream that always has more would never be cut short
    return bool(came)


def wait_for(condition: threading.Condition, met: Callable[[], bool], timeout_s: float | None = None) -> bool:
    """Wait, with the condition's lock held, until `met` returns True; return False if it did not in time.

    Raises: KeyboardInterrupt.
    """
    stop = current_stop()
    if stop is None:
        return condition.wait_for(met, timeout_s)

    def wake() -> None:
        with condition:
            condition.notify_all()

    with stop.waking(wake):
        condition.wait_for(lambda: met() or stop.is_set(), timeout_s)
    if met():
        return True
    check()
    return False


class Event:
    """An event as that of `threading`, but an interrupt ends the wait for it."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._is_set = False

    def set(self) -> None:
        """Let all waits end."""
        with self._condition:
            self._is_set = True
            self._condition.notify_all()

    def is_set(self) -> bool:
        """Report if it is set."""
        return self._is_set

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it is set; return False if it was not in time.

        Raises: KeyboardInterrupt.
        """
        if self._is_set:
            return True
        with self._condition:
            return wait_for(self._condition, self.is_set, timeout_s)


def process_ended(process: subprocess.Popen[bytes], timeout_s: float | None = None) -> int:
    """Wait until a process has ended, and return its status.

    Raises: subprocess.TimeoutExpired; KeyboardInterrupt, while it still runs.
    """
    if current_stop() is None:
        return process.wait(timeout_s)
    until = math.inf if timeout_s is None else time.monotonic() + timeout_s
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:  # reaped already, or a kernel or a sandbox without it
        descriptor = -1
    try:
        while process.poll() is None:
            left_s = until - time.monotonic()
            if left_s <= 0:
                assert timeout_s is not None
                raise subprocess.TimeoutExpired(process.args, timeout_s)
            if descriptor < 0:
                sleep(min(left_s, _SLICE_S))
            else:
                ready(descriptor, select.POLLIN, None if math.isinf(left_s) else left_s)
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    return process.returncode


def _poll(descriptor: int, events: int, timeout_s: float | None) -> bool:
    poll = select.poll()
    poll.register(descriptor, events)
    return bool(poll.poll(_milliseconds(timeout_s)))


def _milliseconds(seconds: float | None) -> int | None:
    """Return a time for `poll`, rounded up: a wait that ends too early would be repeated at once."""
    return None if seconds is None else max(0, math.ceil(seconds * 1000))
