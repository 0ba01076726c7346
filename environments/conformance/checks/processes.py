"""The process list, and who can be killed. Commands that could reach the host only run in a pid namespace."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place, marker
from environments.promises import Promise


@contextmanager
def _bystander() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    mark = marker()
    with subprocess.Popen(["sleep", mark]) as process:
        try:
            yield process, mark
        finally:
            process.kill()


def _own_list(place: Place) -> None:
    holds(place.own_process_list(), "it has a process list of its own (so nothing that could reach the host was tried)")


@check(Promise.OWN_PROCESSES, "Naive", "SharedProcesses")
def check_out_of_sight(place: Place) -> None:
    """A process of the host is not in an action's process list."""
    with _bystander() as (_, mark):
        seen = place.text(f"grep -l '{mark[:4]}[{mark[4]}]{mark[5:]}' /proc/[0-9]*/cmdline 2>/dev/null | wc -l")
    same(seen, "0\n")


@check(Promise.OWN_PROCESSES, "Naive", "SharedProcesses")
def check_out_of_reach(place: Place) -> None:
    """A process of the host survives an action that searches for it and kills it."""
    with _bystander() as (process, mark):
        script = "for p in /proc/[0-9]*; do read -r -d '' name <$p/cmdline; "
        script += (
            f"[[ $name == sleep ]] && grep -q {mark[:4]}[{mark[4]}]{mark[5:]} $p/cmdline && kill -9 ${{p#/proc/}}; "
        )
        place.run(f"{script} done 2>/dev/null; true")
        time.sleep(0.1)
        same(process.poll(), None, "status of the host's process")


@check(Promise.OWN_PROCESSES, "SharedProcesses")
def check_parents(place: Place) -> None:
    """An action does not see the harness among its ancestors."""
    seen = place.text("p=$$; while ((p)); do echo $p; p=$(cut -d' ' -f4 /proc/$p/stat) || break; done")
    holds(str(os.getpid()) not in seen.split() or place.own_process_list(), "our process id is not in it", seen)


@check(Promise.SURVIVES_KILL_ALL, "DiesOfKillAll", "Naive", alone=True)
def check_kill_all(place: Place) -> None:
    """`kill -9 -1` ends background processes, but no process of the host and not the environment."""
    _own_list(place)
    place.run("sleep 5 >/dev/null 2>&1 & echo $! >background")
    with _bystander() as (process, _):
        same(place.run("kill -9 -1").ended, "exited")
        same(place.text("echo on"), "on\n")
        same(process.poll(), None, "status of a process of the host's")
    same(place.text("grep -s State: /proc/$(cat background)/status | grep -v zombie || echo gone"), "gone\n")


@check(Promise.SURVIVES_KILL_ALL, "DiesOfKillAll", "Naive", alone=True)
def check_signals_to_the_first_process(place: Place) -> None:
    """No signal that an action sends to the first process ends or blocks the environment."""
    _own_list(place)
    place.run("for s in 9 1 2 3 10 12 13 14 15 19 20; do kill -$s 1; done 2>/dev/null; sleep 0.1")
    same(place.run("echo on", 5).output, b"on\n")


@check(Promise.SURVIVES_KILL_ALL, "DiesOfKillAll", alone=True)
def check_stop_all(place: Place) -> None:
    """`kill -STOP -1` is over at the deadline at the latest, and the next action runs."""
    _own_list(place)
    place.run("kill -STOP -1; sleep 0.1", 1)
    same(place.run("echo on", 5).output, b"on\n")
