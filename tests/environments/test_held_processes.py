"""Processes that try to run during a pause of a sandbox are held, or ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from environments.conformance.contents import file, tar_of
from environments.conformance.place import wait_for
from environments.protocol import EnvironmentUnavailable
from environments.sandbox import processes

from .conftest import Place
from .test_pause import PAUSABLE, Start, pausable, size


def python(place: Place, program: str) -> None:
    """Leave a program of Python running."""
    place.environment.put(tar_of(file("program.py", program.encode())), ".")
    place.text("python3 program.py >/dev/null 2>program.err & sleep 0.5")


WRITE = """
import os, sys, threading, time
def write(name):
    with open(name, "a", buffering=1) as file:
        while True:
            file.write("x")
            file.flush()
            time.sleep(0.005)
"""
ESCAPES = {
    "the main thread has ended": WRITE
    + """
import ctypes
threading.Thread(target=write, args=("counted",)).start()
ctypes.CDLL(None).pthread_exit(None)
""",
    "a parent waits in vfork": WRITE
    + """
import ctypes, _thread
libc = ctypes.CDLL(None)
threading.Thread(target=lambda: libc.syscall(58) or time.sleep(99), daemon=True).start()
write("counted")
""",
    "each process ends as soon as it has made the next": WRITE
    + """
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
    with open("counted", "a") as file:
        file.write("x")
    time.sleep(0.001)
""",
    "a thread has made the writer": WRITE
    + """
def make():
    if not os.fork():
        write("counted")
    time.sleep(99)
threading.Thread(target=make).start()
""",
}


@pytest.mark.sandbox
@pytest.mark.parametrize("escape", ESCAPES)
def test_what_could_escape_a_pause_is_held(start: Start, escape: str, tmp_path: Path) -> None:
    place = start("sandbox")
    python(place, ESCAPES[escape])
    pausable(place).pause()
    before = size(place, tmp_path / "1")
    time.sleep(0.1)
    assert size(place, tmp_path / "2") == before > 0
    pausable(place).unpause()
    assert place.text("s=$(stat -c %s counted); sleep 0.5; [ $(stat -c %s counted) -gt $s ] && echo runs") == "runs\n"


CONTINUED = (
    WRITE
    + """
import ctypes, signal
signal.signal(signal.SIGCONT, lambda *_: None)
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_long), ("signo", ctypes.c_int), ("notify", ctypes.c_int), ("_", ctypes.c_char * 48)]
class Spec(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "in_s", "in_ns")]
timer = ctypes.c_long()
librt = ctypes.CDLL("librt.so.1")
assert librt.timer_create(1, ctypes.byref(Event(0, signal.SIGCONT, 0)), ctypes.byref(timer)) == 0
assert librt.timer_settime(timer, 0, ctypes.byref(Spec(0, 50_000_000, 0, 50_000_000)), None) == 0
write("counted")
"""
)


@pytest.mark.sandbox
def test_a_process_that_continues_itself_does_not_outlive_an_export(
    start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = start("sandbox")
    python(place, CONTINUED)
    pausable(place).pause()
    time.sleep(0.2)
    before = size(place, tmp_path / "1")
    assert "did not stay stopped" in caplog.text
    time.sleep(0.2)
    assert size(place, tmp_path / "2") == before > 0
    pausable(place).unpause()
    assert place.text("s=$(stat -c %s counted); sleep 0.2; [ $(stat -c %s counted) = $s ] && echo ended") == "ended\n"


BOMB = "bomb() { bomb | bomb & }; bomb"


@PAUSABLE
def test_a_fork_bomb_is_held_or_there_is_a_clear_error(start: Start, label: str) -> None:
    place = start(label, pids=200)
    place.run(f"setsid bash -c '{BOMB}' >/dev/null 2>&1 & sleep 0.3")
    with suppress(EnvironmentUnavailable):
        pausable(place).pause()
    pausable(place).unpause()
    assert place.text("echo usable") == "usable\n"


def test_processes_that_never_stand_still_are_an_error_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "HOLD_S", 0.05)
    monkeypatch.setattr(processes, "is_held", lambda pid, or_pending: False)
    child = subprocess.Popen(["bash", "-c", "sleep 60 & wait"])
    held: list[processes.Process] = []
    try:
        assert wait_for(lambda: processes.below(child.pid))
        with pytest.raises(EnvironmentUnavailable, match=r"after 0.05 s, 1 of 1 processes still ran"):
            processes.hold(child.pid, held)
        assert len(held) == 1
        processes.let_go(held)
        assert held == []
    finally:
        for process in processes.below(child.pid):
            os.kill(process.pid, signal.SIGKILL)
        child.wait()


@pytest.mark.sandbox
def test_a_persistent_shell_outlives_every_pause(start: Start) -> None:
    """Its keeper takes a child that stops before the keeper itself for one that was suspended, and ends it."""
    place = start("sandbox", shell="persistent")
    place.run("sleep 99 & export KEPT=1")
    for _ in range(60):
        pausable(place).pause()
        pausable(place).unpause()
        assert place.text("echo $KEPT") == "1\n"
