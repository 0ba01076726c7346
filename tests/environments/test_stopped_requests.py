"""A stop ends the wait for a daemon that does not answer, whatever was asked of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from environments.docker import daemon
from environments.docker.transport.client import InterruptibleClient
from tests.record.test_stops import in_thread
from trajectories import interrupts


@pytest.fixture(params=["unix", "tcp"])
def silent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """Give a daemon that accepts connections and answers nothing, and its address."""
    if request.param == "unix":
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(tmp_path / "docker.sock"))
        address = f"unix://{tmp_path}/docker.sock"
    else:
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
    listening.listen()
    yield listening, address
    listening.close()


def stopped(silent: socket.socket, client: InterruptibleClient, answer: bytes) -> None:
    """Ask the daemon for a pull, which answers so far, and stop the thread."""
    stop = interrupts.Stop()

    def take() -> None:
        connection, _ = silent.accept()
        connection.recv(1 << 16)
        connection.sendall(answer)
        threading.Timer(0.1, stop.set).start()
        connection.recv(1 << 16)

    def ask() -> None:
        with interrupts.interruptible(), daemon.reported("pulling"), daemon.patience(client, 1800):
            for _ in client.pull("image", stream=True, decode=True):
                pass

    threading.Thread(target=take, daemon=True).start()
    assert [type(error) for error in in_thread(ask, stop)] == [KeyboardInterrupt]


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Ty",
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n{"status": "one"}\r\n',
    ],
)
def test_a_stop_ends_a_request_at_any_point_of_its_answer(silent: tuple[socket.socket, str], answer: bytes) -> None:
    listening, address = silent
    stopped(listening, InterruptibleClient(address, version="1.41", timeout=1800), answer)


def test_a_stop_ends_the_sending_of_a_large_body(silent: tuple[socket.socket, str]) -> None:
    _, address = silent
    client = InterruptibleClient(address, version="1.41", timeout=1800)
    stop = interrupts.Stop()
    threading.Timer(0.2, stop.set).start()

    def put() -> None:
        with interrupts.interruptible():
            client.put_archive("container", "/", b"x" * (32 << 20))

    assert [type(error) for error in in_thread(put, stop)] == [KeyboardInterrupt]


def test_a_daemon_that_does_not_answer_in_time_is_a_timeout_in_a_thread_too(silent: tuple[socket.socket, str]) -> None:
    _, address = silent
    client = InterruptibleClient(address, version="1.41", timeout=1)
    raised = in_thread(lambda: client.ping(), interrupts.Stop())

    def ask() -> None:
        with interrupts.interruptible():
            client.ping()

    raised += in_thread(ask, interrupts.Stop())
    assert ["Read timed out" in str(error) for error in raised] == [True, True]
