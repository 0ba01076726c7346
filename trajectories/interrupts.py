"""Signals that end a trial, let through only where work can be cut short.

SIGINT, SIGTERM and SIGHUP become one KeyboardInterrupt, in the main thread, at a place that is
`interruptible`; what comes elsewhere waits. Without `install` nothing here has an effect.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _State:
    held = False
    pending = False
    """A signal came, and no `interruptible` was left with its KeyboardInterrupt yet."""


def install() -> None:
    """Take the signals over, but for those that whoever started us has turned off (nohup)."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)


def _handle(_number: int, _frame: object) -> None:
    _State.pending = True
    _raise_pending()


@contextmanager
def held() -> Iterator[None]:
    """Signals wait until the end of this, and are then raised if it stands in an interruptible place.

    They are the main thread's; in any other nothing has to wait.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = _State.held
    _State.held = True
    try:
        yield
    finally:
        _State.held = before
        _raise_pending()


@contextmanager
def interruptible() -> Iterator[None]:
    """Signals, also one that waited, are raised inside this, or at its end if something in it swallowed that.

    Raises: KeyboardInterrupt.
    """
    before = _State.held
    _State.held = False
    try:
        _raise_pending()
        yield
        if _State.pending:
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        _State.pending = False
        raise
    finally:
        _State.held = before


def _raise_pending() -> None:
    if _State.pending and not _State.held:
        _State.held = True  # a second signal must not cut off what tidies up after the first
        raise KeyboardInterrupt
