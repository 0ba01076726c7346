"""The streams to a supervisor under interrupts: bytes may be lost, but never the borders of frames."""

from __future__ import annotations

import random
import signal
import socket
import threading

from environments.link import AttachLink

FRAMES = 20_000


class Interrupted(Exception):
    """An interrupt by a signal, as KeyboardInterrupt is."""


def test_interrupts_never_lose_the_beginning_of_a_frame() -> None:
    """A header that was read and lost used to make later answers unreadable, so an interrupt ended the environment."""
    ours, theirs = socket.socketpair()
    link = AttachLink(ours, ours)
    chance = random.Random(3)

    def write() -> None:
        for _ in range(FRAMES):
            kind, size = chance.choice((1, 1, 1, 2)), chance.choice((1, 7, 60))
            theirs.sendall(bytes((kind, 0, 0, 0)) + size.to_bytes(4, "big") + b" xe"[kind : kind + 1] * size)
        theirs.close()

    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    writer = threading.Thread(target=write)
    writer.start()
    seen, interrupts, ended = set(), 0, False
    view = memoryview(bytearray(100))
    while not ended:
        try:
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.000_02, 0.000_3))
            while count := link.receive(view, 10):
                seen |= set(bytes(view[:count]))
            ended = True
        except Interrupted:
            interrupts += 1
        finally:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupted:
                interrupts += 1
    signal.signal(signal.SIGALRM, before)
    writer.join()
    link.close()
    assert interrupts > 100
    assert seen == set(b"x")
    assert set(link.diagnostics()) == {"e"}
