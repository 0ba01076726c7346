"""A stop interrupts its thread as a signal interrupts the main thread, also in the middle of a wait."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from trajectories import interrupts, waiting


def in_thread(work: Callable[[], None], stop: interrupts.Stop | None = None) -> list[BaseException]:
    """Run something in another thread, under the stop; return what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            if stop is None:
                work()
            else:
                with interrupts.stopped_by(stop):
                    work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    return raised


def test_a_stop_is_raised_once_and_only_in_its_thread() -> None:
    stop = interrupts.Stop()
    reached: list[str] = []

    def work() -> None:
        with interrupts.interruptible():
            reached.append("before")
        stop.set()
        reached.append("held")
        with pytest.raises(KeyboardInterrupt), interrupts.interruptible():
            reached.append("never")
        with interrupts.interruptible():
            waiting.sleep(0)
            reached.append("tidied up")

    def other() -> None:
        with interrupts.interruptible():
            reached.append("other")

    assert in_thread(work, stop) == []
    assert in_thread(other, interrupts.Stop()) == []
    with interrupts.interruptible():
        reached.append("main")
    assert reached == ["before", "held", "tidied up", "other", "main"]


def test_a_stop_that_comes_inside_is_raised_at_the_end() -> None:
    stop = interrupts.Stop()

    def work() -> None:
        with interrupts.interruptible():
            stop.set()

    assert [type(error) for error in in_thread(work, stop)] == [KeyboardInterrupt]


def test_a_stop_waits_for_the_end_of_what_is_held_inside_an_interruptible_place() -> None:
    stop = interrupts.Stop()
    reached: list[str] = []

    def work() -> None:
        with interrupts.interruptible():
            with interrupts.held():
                stop.set()
                waiting.sleep(0)
                reached.append("held")
            reached.append("never")

    assert [type(error) for error in in_thread(work, stop)] == [KeyboardInterrupt]
    assert reached == ["held"]


def test_a_stop_that_something_swallowed_is_raised_again_and_does_not_disturb_the_tidying_up() -> None:
    stop = interrupts.Stop()
    reached: list[str] = []

    def work() -> None:
        with interrupts.interruptible():
            try:
                stop.set()
                waiting.sleep(3600)
            except KeyboardInterrupt:
                waiting.sleep(0)
                reached.append("tidied up")

    assert [type(error) for error in in_thread(work, stop)] == [KeyboardInterrupt]
    assert reached == ["tidied up"]


def endless_condition() -> None:
    condition = threading.Condition()
    with condition:
        waiting.wait_for(condition, lambda: False)


def silent_file() -> None:
    reading, writing = os.pipe()
    try:
        waiting.ready(reading, select.POLLIN, None)
    finally:
        os.close(reading)
        os.close(writing)


def full_file_that_is_always_ready() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x")
    try:
        while True:
            waiting.ready(reading, select.POLLIN, 10)
    finally:
        os.close(reading)
        os.close(writing)


def running_process() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    try:
        waiting.process_ended(process, 3600)
    finally:
        assert process.poll() is None
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    "wait",
    [
        lambda: waiting.sleep(3600),
        lambda: waiting.Event().wait(),
        lambda: waiting.Event().wait(3600),
        endless_condition,
        silent_file,
        full_file_that_is_always_ready,
        running_process,
    ],
)
@pytest.mark.parametrize("first", ["stop", "wait"])
def test_a_stop_ends_every_wait(wait: Callable[[], object], first: str) -> None:
    stop = interrupts.Stop()
    if first == "stop":
        stop.set()
    else:
        threading.Timer(0.1, stop.set).start()

    def work() -> None:
        with interrupts.interruptible():
            if first == "stop":
                pytest.fail("the stop was not raised")
            wait()

    assert [type(error) for error in in_thread(work, stop)] == [KeyboardInterrupt]


def test_waits_end_without_a_stop() -> None:
    def work() -> None:
        with interrupts.interruptible():
            waiting.sleep(0.001)
            assert not waiting.Event().wait(0.001)
            event = waiting.Event()
            threading.Timer(0.05, event.set).start()
            assert event.wait(60)
            ours, theirs = socket.socketpair()
            assert not waiting.ready(ours.fileno(), select.POLLIN, 0.001)
            theirs.close()
            assert waiting.ready(ours.fileno(), select.POLLIN, 60)
            ours.close()
            process = subprocess.Popen(["sh", "-c", "exit 3"])
            assert waiting.process_ended(process, 60) == 3
            assert waiting.process_ended(process, 60) == 3
            sleeper = subprocess.Popen(["sleep", "3600"])
            with pytest.raises(subprocess.TimeoutExpired):
                waiting.process_ended(sleeper, 0.01)
            sleeper.kill()
            assert waiting.process_ended(sleeper) == -9

    work()
    assert in_thread(work) == []
    assert in_thread(work, interrupts.Stop()) == []


def test_an_event_that_is_set_wins_over_a_stop_that_came_with_it() -> None:
    """The reply of a call that was paid for is not thrown away."""
    stop, event = interrupts.Stop(), waiting.Event()
    seen: list[bool] = []

    def work() -> None:
        with interrupts.interruptible():
            event.set()
            stop.set()
            seen.append(event.wait(60))

    assert [type(error) for error in in_thread(work, stop)] == [KeyboardInterrupt]
    assert seen == [True]


def test_a_stop_keeps_its_descriptor_until_nobody_can_set_it() -> None:
    stop = interrupts.Stop()
    descriptor = stop.descriptor
    assert in_thread(lambda: None, stop) == []
    stop.set()
    del stop
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
