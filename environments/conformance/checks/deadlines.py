"""An action that takes too long is ended with everything it started, and nothing else is."""

from __future__ import annotations

import time

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.DEADLINE, "Naive")
def check_partial_output(place: Place) -> None:
    """A deadline is reported as such, and the output so far is kept."""
    action = place.run("echo partial; sleep 3", 0.3)
    same((action.ended, action.exit_code, action.signal, action.output), ("deadline", None, None, b"partial\n"))


@check(Promise.DEADLINE, "NoDeadline")
def check_next_action(place: Place) -> None:
    """The next action starts within a second of a deadline."""
    began = time.monotonic()
    place.run("sleep 3", 0.3)
    same(place.text("echo next"), "next\n")
    took_s = time.monotonic() - began
    holds(took_s < 0.3 + 1 + 0.5, "0.3 s, one second, and room for a busy machine", took_s)


@check(Promise.DEADLINE, "EarlyDeadline")
def check_never_early(place: Place) -> None:
    """No action is ended before its time, nor one that ends by itself within it."""
    action = place.run("sleep 3", 0.5)
    holds(0.5 <= action.duration_s < 1.5, "the deadline was 0.5 s", action.duration_s)
    action = place.run("sleep 0.4; echo done", 0.7)
    same((action.ended, action.output), ("exited", b"done\n"))


@check(Promise.DEADLINE, "KillsByDirectory")
def check_earlier_background_work(place: Place) -> None:
    """A deadline does not affect processes that earlier actions left running."""
    place.text("(for i in $(seq 100); do sleep 0.05; echo $i >beat; done) >/dev/null 2>&1 & echo $! >beating")
    try:
        same(place.run("setsid sleep 3 & sleep 3", 0.3).ended, "deadline")
        first = place.text("kill -0 $(cat beating) || exit; cat beat; sleep 0.3")
        holds(place.text("cat beat") != first, "it keeps running", first)
    finally:
        place.run("kill $(cat beating); rm -f beat beating")


def _escapes(place: Place, how: str) -> None:
    """Check that SLEEP, which `how` starts, is gone after the deadline."""
    name = f"escape-{time.monotonic_ns() % 10**7}"
    place.text(f"cp $(type -P sleep) {name}")
    began = time.monotonic()
    action = place.run("echo partial; " + how.replace("SLEEP", f"./{name} 3"), 0.3)
    left = place.text(f"grep -l '[e]{name[1:]}' /proc/[0-9]*/cmdline 2>/dev/null | wc -l; rm -f {name}")
    took_s = time.monotonic() - began
    same((left, action.ended), ("0\n", "deadline"), "processes left, and why it ended")
    holds(action.output.startswith(b"partial\n"), "the output so far is kept", action.output)
    holds(took_s < 0.3 + 1 + 0.7, "the next action started within a second", took_s)


@check(Promise.KILL_EVERYTHING, "Polite")
def check_trap(place: Place) -> None:
    """A process that ignores TERM, INT and HUP is ended at a deadline."""
    _escapes(place, "trap '' TERM INT HUP; SLEEP")


@check(Promise.KILL_EVERYTHING, "Naive")
def check_setsid(place: Place) -> None:
    """A process in a session of its own is ended at a deadline."""
    _escapes(place, "setsid SLEEP & sleep 2.2")


@check(Promise.KILL_EVERYTHING, "Naive")
def check_background(place: Place) -> None:
    """A background process of the action is ended at a deadline."""
    _escapes(place, "SLEEP & sleep 2.2")


@check(Promise.KILL_EVERYTHING, "Naive")
def check_nohup(place: Place) -> None:
    """A process under nohup is ended at a deadline."""
    _escapes(place, "nohup SLEEP >/dev/null 2>&1 & sleep 2.2")


@check(Promise.KILL_EVERYTHING, "Naive", "KillsGroup")
def check_double_fork(place: Place) -> None:
    """A daemon whose parents are gone is ended at a deadline."""
    _escapes(place, "(setsid SLEEP </dev/null >/dev/null 2>&1 &); (SLEEP & SLEEP &); sleep 2.2")


@check(Promise.KILL_EVERYTHING, "Naive")
def check_empty_environment(place: Place) -> None:
    """A process without any variable that could mark it is ended at a deadline."""
    _escapes(place, "env -i setsid SLEEP & sleep 2.2")


@check(Promise.KILL_EVERYTHING, "Naive")
def check_stopped(place: Place) -> None:
    """A process that was stopped is ended at a deadline."""
    _escapes(place, 'SLEEP & kill -STOP $!; (setsid bash -c "sleep 2.2; kill -CONT $!" &); sleep 2.2')


@check(Promise.KILL_EVERYTHING, "Naive")
def check_forks_on(place: Place) -> None:
    """Processes that keep forking while they are killed are all ended at a deadline."""
    _escapes(place, "f() { ((SECONDS < 4)) && ( sleep 0.02; f ) & }; for i in 1 2 3 4; do f; done; SLEEP")
