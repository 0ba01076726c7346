"""Interrupts that end a trial, raised only at places where work can be cut short.

SIGINT, SIGTERM and SIGHUP interrupt the main thread. Any other thread never sees a signal: it is interrupted by the
`Stop` that it is `stopped_by`. Either becomes one KeyboardInterrupt, at a place that is `interruptible`; one that comes
elsewhere waits. A signal cuts off whatever the main thread does; a stop cuts off the waits of `trajectories.waiting`,
so everything that may wait for long waits there. Without `install` signals act as Python's defaults say.
"""

from __future__ import annotations

import os
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop(threading.Event):
    """A flag that interrupts every thread that is `stopped_by` it, also one that waits. It is never cleared."""

    def __init__(self) -> None:
        super().__init__()
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        """Readable once the stop is set, to be polled beside another descriptor. Never read it."""
        weakref.finalize(self, os.close, self.descriptor)
        self._wakers: set[Callable[[], None]] = set()
        self._lock = threading.Lock()

    def set(self) -> None:
        """Interrupt the threads."""
        super().set()
        os.eventfd_write(self.descriptor, 1)
        with self._lock:
            wakers = list(self._wakers)
        for wake in wakers:  # without the lock: a waker takes one that its waiter may hold while it asks for ours
            wake()

    @contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """Have `wake` called when the stop is set, unless it is set already. The call may come too late."""
        with self._lock:
            self._wakers.add(wake)
        try:
            yield
        finally:
            with self._lock:
                self._wakers.discard(wake)


class _Thread(threading.local):
    """State of the current thread."""

    held = False
    pending = False
    """A signal came, and no `interruptible` has been left with its KeyboardInterrupt yet."""
    stop: Stop | None = None
    """The stop, until it has been raised. It is raised once, as a signal is, so that the thread can tidy up."""


_here = _Thread()
_last_signal: int | None = None


def last_signal() -> int | None:
    """Return the number of the last signal that this process took over; None if none came."""
    return _last_signal


def install() -> None:
    """Take over the signals, except those that the parent process ignores (nohup)."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)


def _handle(number: int, _frame: object) -> None:
    global _last_signal
    _last_signal = number
    _here.pending = True
    _raise_pending()


@contextmanager
def stopped_by(stop: Stop) -> Iterator[None]:
    """Make the current thread, which is not the main one, interruptible by a flag.

    As in `held`, nothing is cut short, except in places that are `interruptible`.
    """
    before = _here.held
    _here.stop, _here.held = stop, True
    try:
        yield
    finally:
        _here.stop, _here.held = None, before


@contextmanager
def held() -> Iterator[None]:
    """Let interrupts wait until the end, and raise them there if the place is interruptible."""
    before = _here.held
    _here.held = True
    try:
        yield
    finally:
        _here.held = before
        _raise_pending()


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise interrupts, also one that waited, inside this place, or at its end if the code in it swallowed them.

    Raises: KeyboardInterrupt.
    """
    before = _here.held
    _here.held = False
    try:
        _raise_pending()
        yield
        if _is_pending():
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        _here.pending = False
        if _here.stop is not None and _here.stop.is_set():
            _here.stop = None
        raise
    finally:
        _here.held = before


def current_stop() -> Stop | None:
    """Return the stop that interrupts a wait of the current thread here; None if there is none, or it has to wait."""
    return None if _here.held else _here.stop


def check() -> None:
    """Raise an interrupt that has come if the place is interruptible; long work without waits calls this now and then.

    Raises: KeyboardInterrupt.
    """
    _raise_pending()


def _is_pending() -> bool:
    return _here.pending or (_here.stop is not None and _here.stop.is_set())


def _raise_pending() -> None:
    if not _here.held and _is_pending():
        _here.held = True  # a second signal must not cut off what tidies up after the first
        raise KeyboardInterrupt
