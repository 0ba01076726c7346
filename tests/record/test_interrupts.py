"""Signals wait where nothing may be cut off, and none is lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from trajectories import interrupts


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    interrupts.install()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_a_held_signal_is_raised_at_the_next_interruptible_place() -> None:
    reached = []
    with interrupts.held():
        interrupt()
        reached.append("held")
        with pytest.raises(KeyboardInterrupt), interrupts.interruptible():
            reached.append("never")
        with interrupts.interruptible():
            reached.append("once only")
    assert reached == ["held", "once only"]


def test_a_second_signal_does_not_cut_off_the_tidying_up_after_the_first() -> None:
    tidied = []
    with interrupts.held(), pytest.raises(KeyboardInterrupt), interrupts.interruptible():  # noqa: PT012
        try:
            interrupt()
        finally:
            interrupt()
            tidied.append(True)
    assert tidied


def test_what_is_held_inside_an_interruptible_place_is_finished_first() -> None:
    written = []
    with interrupts.held(), pytest.raises(KeyboardInterrupt), interrupts.interruptible():  # noqa: PT012
        with interrupts.held():
            interrupt()
            written.append(True)
        written.append("never")
    assert written == [True]


def test_an_interrupt_that_something_swallowed_is_raised_again() -> None:
    went_on = []
    with interrupts.held(), pytest.raises(KeyboardInterrupt), interrupts.interruptible():  # noqa: PT012
        try:
            interrupt()
        except KeyboardInterrupt:
            went_on.append(True)
    assert went_on


def test_other_threads_hold_nothing_up_and_are_not_interrupted() -> None:
    """Two that overlapped (environments that start side by side) left signals held for good."""
    first, second = interrupts.held(), interrupts.held()
    raised: list[BaseException] = []

    def each(step: Callable[[], object]) -> None:
        def work() -> None:
            try:
                step()
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    each(first.__enter__)
    each(second.__enter__)
    each(lambda: first.__exit__(None, None, None))
    each(lambda: second.__exit__(None, None, None))
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    interrupts._here.pending, interrupts._here.held = False, False
    assert raised == []


def in_thread(work: Callable[[], None]) -> list[BaseException]:
    """Run something in another thread; return what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    return raised


def test_a_thread_neither_takes_nor_forgets_the_main_thread_s_signal() -> None:
    def work() -> None:
        with interrupts.held(), interrupts.interruptible():
            pass

    with interrupts.held():
        interrupt()
        assert in_thread(work) == []
        with pytest.raises(KeyboardInterrupt), interrupts.interruptible():
            pytest.fail("the signal was forgotten")
