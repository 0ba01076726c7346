"""The end of an environment: quick, repeatable and complete, whether it or the harness ends first."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place, host_processes, in_child, kill_child, marker, wait_for
from environments.promises import Promise
from environments.protocol import EnvironmentLost

STOP_S = 3.0


@check(Promise.CLEAN_STOP, "SlowStop", alone=True)
def check_quick(place: Place) -> None:
    """A stop takes less than 3 s, even with processes that ignore TERM."""
    place.run("trap '' TERM; setsid sleep 5 & sleep 0.05")
    began = time.monotonic()
    place.environment.stop()
    took_s = time.monotonic() - began
    holds(took_s < STOP_S, f"it took less than {STOP_S} s", took_s)


@check(Promise.CLEAN_STOP, "StopsOnce", alone=True)
def check_repeatable(place: Place) -> None:
    """A second stop does nothing and raises nothing."""
    place.environment.stop()
    try:
        place.environment.stop()
    except Exception as error:
        raise AssertionError(f"the second stop raised {error!r}") from error


@check(Promise.CLEAN_STOP, "RisesAgain", alone=True)
def check_final(place: Place) -> None:
    """A stopped environment rejects actions and cannot be started again."""
    place.environment.stop()
    for attempt in (lambda: place.run("true"), lambda: place.environment.start()):
        _refused(attempt)


@check(Promise.CLEAN_STOP, "StartsItself")
def check_never_started(place: Place) -> None:
    """An environment that was never started rejects actions, and may be stopped."""
    made = place.make()
    try:
        _refused(lambda: made.execute("true", deadline_s=5))
    finally:
        made.stop()


def _refused(attempt: Callable[[], object]) -> None:
    try:
        attempt()
    except EnvironmentLost:
        return
    raise AssertionError("it was not refused with EnvironmentLost")


@check(Promise.KILL_EVERYTHING, "Naive", alone=True)
def check_ends_processes(place: Place) -> None:
    """A stop ends all processes, even detached ones."""
    mark = marker()
    place.run(f"trap '' TERM; (setsid sleep {mark} >/dev/null 2>&1 &); sleep {mark} >/dev/null 2>&1 & sleep 0.05")
    holds(host_processes(mark), "the harness can see them while they run")
    place.environment.stop()
    holds(wait_for(lambda: not host_processes(mark), 2), "none runs 2 s later")


@check(Promise.CLEAN_STOP, "Naive")
def check_leaves_no_directory(place: Place) -> None:
    """No temporary directory is left after a stop, not even with locked files in it."""
    parent = Path(tempfile.mkdtemp(prefix="conformance-"))
    parent.chmod(0o755)
    before, tempfile.tempdir = tempfile.tempdir, str(parent)
    memory = _in_memory()
    try:
        made = place.make()
        made.start()
        made.execute("mkdir -p a/b; echo x >a/b/c; chmod 0 a/b a; mkdir ~/locked; chmod 0 ~/locked", deadline_s=10)
        made.stop()
        left = [entry.name for entry in os.scandir(parent) if entry.is_dir(follow_symlinks=False)]
        same((left, _in_memory() - memory), ([], set()), "left")
    finally:
        tempfile.tempdir = before
        shutil.rmtree(parent, ignore_errors=True)


def _in_memory() -> set[str]:
    """Return this very process's files in /dev/shm; other workers make and remove theirs meanwhile."""
    return {name for name in os.listdir("/dev/shm") if f"-{os.getpid()}-" in name}


@check(Promise.CLEAN_STOP, "OutlivesTheHarness")
def check_death_of_the_harness(place: Place) -> None:
    """If the harness is killed between two actions, everything that it ran ends as well."""
    _dies(place, None)


@check(Promise.CLEAN_STOP, "OutlivesTheHarness")
def check_death_of_a_busy_harness(place: Place) -> None:
    """If the harness is killed during an action, everything that it ran ends as well."""
    _dies(place, "trap : TERM; sleep 7")


def _dies(place: Place, then: str | None) -> None:
    mark = marker()

    def work(tell: Callable[[str], None]) -> None:
        made = place.make()
        made.start()
        made.execute(f"setsid sleep {mark} >/dev/null 2>&1 & sleep 0.05", deadline_s=10)
        tell("started")
        if then:
            made.execute(then, deadline_s=1000)

    child, message = in_child(work)
    seen = message == "started" and host_processes(mark)
    time.sleep(0.1)
    kill_child(child)
    same(message, "started")
    holds(seen, "the harness can see its processes while they run")
    holds(wait_for(lambda: not host_processes(mark), 4), "none runs 4 s later")
