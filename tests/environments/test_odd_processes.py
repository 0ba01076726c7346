"""Processes whose state misleads: a main thread that has ended before the others, and a parent that waits in vfork."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

from .conftest import Place

THREADS = """python3 -c '
import ctypes, threading, time
def write():
    while True:
        with open("counted", "a") as file:
            file.write("x")
        time.sleep(0.01)
threading.Thread(target=write).start()
ctypes.CDLL(None).pthread_exit(None)
'
"""
"""A process whose main thread looks like a zombie while another thread works."""
GROWTH = "[ -s counted ] && s=$(stat -c %s counted) && sleep 0.3 && echo $(($(stat -c %s counted) - s))"
VFORK = "import ctypes, time; ctypes.CDLL(None).syscall(58) or (open('child', 'w').close(), time.sleep(99))"
FREEZE = """
declare -A helper=()
source "$1"
"$2" -c "$3" & parent=$!
until [[ -e child ]]; do sleep 0.05; done
freeze
stat_of "$parent"
child=$(<"/proc/$parent/task/$parent/children")
printf '%s: ' "$state"
stat_of $child
echo "$state"
kill -KILL $child "$parent"
"""


@pytest.mark.parametrize("label", ["local", pytest.param("sandbox", marks=pytest.mark.sandbox)])
def test_a_deadline_ends_a_process_whose_main_thread_has_ended(start: Callable[..., Place], label: str) -> None:
    place = start(label)
    assert place.run(f"({THREADS}) & sleep 99", deadline_s=2).ended == "deadline"
    assert place.text(GROWTH) == "0\n"


@pytest.mark.parametrize("label", ["local", pytest.param("sandbox", marks=pytest.mark.sandbox)])
def test_such_a_process_is_counted_in_the_background(start: Callable[..., Place], label: str) -> None:
    place = start(label)
    assert place.run(f"({THREADS}) >/dev/null 2>&1 & sleep 1", deadline_s=20).left_running == 1
    assert int(place.text(GROWTH)) > 0


def test_the_parent_of_a_vfork_does_not_keep_the_supervisor_from_going_on(tmp_path: Path) -> None:
    source = resources.files("environments") / "supervisor" / "20-processes.sh"
    command = ["bash", "-c", FREEZE, "freeze", str(source), sys.executable, VFORK]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False)
    assert result.stdout == "D: T\n", result.stderr
