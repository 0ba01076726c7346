"""Signals that end a trial, raised only at places where work can be cut short.

SIGINT, SIGTERM and SIGHUP become one KeyboardInterrupt in the main thread, at a place that is `interruptible`. A signal
that comes elsewhere waits. Any other thread has its own state: it is interrupted by its stop flag (`stopped_by`), and
never sees a signal. Without `install` signals act as Python's defaults say.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _MainThread:
    """State of the main thread, which alone receives signals."""

    held = False
    pending = False
    """A signal came, and no `interruptible` has been left with its KeyboardInterrupt yet."""


class _OtherThread(threading.local):
    """State of any other thread."""

    stop: threading.Event | None = None
    raised = False
    """The stop was raised already. It is raised once, as a signal is, so that the thread can tidy up."""


_other = _OtherThread()


def install() -> None:
    """Take over the signals, except those that the parent process ignores (nohup)."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)


def _handle(_number: int, _frame: object) -> None:
    _MainThread.pending = True
    _raise_pending()


@contextmanager
def stopped_by(stop: threading.Event) -> Iterator[None]:
    """Make the current thread, which is not the main one, interruptible by a flag."""
    _other.stop, _other.raised = stop, False
    try:
        yield
    finally:
        _other.stop = None


@contextmanager
def held() -> Iterator[None]:
    """Let signals wait until the end, and raise them there if the place is interruptible.

    Has no effect outside of the main thread: a stop flag is read only in `interruptible`.
    """
    if not _in_main_thread():
        yield
        return
    before = _MainThread.held
    _MainThread.held = True
    try:
        yield
    finally:
        _MainThread.held = before
        _raise_pending()


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise signals, also one that waited, inside this place, or at its end if the code in it swallowed them.

    In another thread the stop flag is raised at the beginning or at the end.

    Raises: KeyboardInterrupt.
    """
    if not _in_main_thread():
        _raise_stop()
        yield
        _raise_stop()
        return
    before = _MainThread.held
    _MainThread.held = False
    try:
        _raise_pending()
        yield
        if _MainThread.pending:
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        _MainThread.pending = False
        raise
    finally:
        _MainThread.held = before


def sleep(seconds: float) -> None:
    """Sleep, in another thread than the main one no longer than until its stop flag is set."""
    if _in_main_thread() or _other.stop is None:
        time.sleep(seconds)
    else:
        _other.stop.wait(seconds)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _raise_pending() -> None:
    if _MainThread.pending and not _MainThread.held:
        _MainThread.held = True  # a second signal must not cut off what tidies up after the first
        raise KeyboardInterrupt


def _raise_stop() -> None:
    if _other.stop is not None and _other.stop.is_set() and not _other.raised:
        _other.raised = True
        raise KeyboardInterrupt
