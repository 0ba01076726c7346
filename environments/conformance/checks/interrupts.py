"""Ctrl-C in the harness, while an action runs."""

from __future__ import annotations

import signal
import threading

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place, marker
from environments.promises import Promise


def _interrupted(place: Place, script: str) -> None:
    """Run a script and interrupt ourselves 0.3 s later."""
    thread = threading.get_ident()
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(thread, signal.SIGINT))
    timer.start()
    try:
        place.run(script)
    except KeyboardInterrupt:
        return
    finally:
        timer.join()
    raise AssertionError("the interrupt was swallowed")


@check(Promise.INTERRUPTIBLE, "LostAfterInterrupt")
def check_usable_afterwards(place: Place) -> None:
    """After an interrupt the environment runs the next action."""
    _interrupted(place, "echo going; sleep 3")
    same(place.text("echo on"), "on\n")


@check(Promise.INTERRUPTIBLE, "Naive")
def check_ends_the_action(place: Place) -> None:
    """An interrupt ends the action with all its processes."""
    mark = marker()
    _interrupted(place, f"sleep {mark}; true")
    seen = place.text("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")
    holds(mark not in seen, "its processes are gone")


@check(Promise.INTERRUPTIBLE, "SwallowsInterrupts")
def check_is_passed_on(place: Place) -> None:
    """The interrupt reaches the caller."""
    _interrupted(place, "sleep 1")
