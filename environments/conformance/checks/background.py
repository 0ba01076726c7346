"""Background processes of a finished action: they keep running, and neither block nor disturb anything."""

from __future__ import annotations

import time

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.BACKGROUND, "Naive")
def check_holds_nothing(place: Place) -> None:
    """An action whose background process keeps its output open ends when its shell does."""
    began = time.monotonic()
    action = place.run("sleep 1.5 & echo now")
    same((action.ended, action.output), ("exited", b"now\n"))
    holds(time.monotonic() - began < 1.2, "it did not wait for it")


@check(Promise.BACKGROUND, "KillsByDirectory")
def check_lives_on(place: Place) -> None:
    """A server that one action starts still runs in the next."""
    place.text("sleep 5 >/dev/null 2>&1 & echo $! >server")
    same(place.run("kill -0 $(cat server) && echo there").output, b"there\n")
    place.text("kill $(cat server); rm server")


@check(Promise.BACKGROUND, "CountsNone")
def check_is_counted(place: Place) -> None:
    """An action reports how many processes it left running."""
    action = place.run("sleep 5 >/dev/null 2>&1 & echo $! >left")
    place.run("kill $(cat left); rm left")
    holds(action.left_running, "it left one at least", action.left_running)
    same(place.run("true").left_running, 0, "after one that left none")


@check(Promise.BACKGROUND, "NamesOthers")
def check_is_named(place: Place) -> None:
    """The process ids that an action reports, if it reports any, are those of its background processes."""
    action = place.run("sleep 5 >/dev/null 2>&1 & echo $! >left")
    named = action.left_pids
    started = place.text("cat left; kill $(cat left); rm left").strip()
    holds(not named or started in map(str, named), f"{started} is among them", named)
    same(place.run("true").left_pids, (), "after one that left none")


@check(Promise.BACKGROUND, "SharedLog")
def check_late_words(place: Place) -> None:
    """Output of a background process after its action does not appear in a later action."""
    place.run("(sleep 0.3; echo late) & echo now")
    same(place.run("sleep 0.6; echo end").output, b"end\n")


@check(Promise.BACKGROUND, "SharedLog")
def check_disturbs_nobody(place: Place) -> None:
    """A background process that floods its output does not disturb later actions."""
    place.run("(while ((SECONDS < 3)); do echo y; done) & echo $! >flood; sleep 0.05")
    for i in range(5):
        same(place.run(f"echo {i}").output, f"{i}\n".encode())
    place.run("kill $(cat flood); rm flood")


@check(Promise.REAPING, "NeverReaps")
def check_zombies(place: Place) -> None:
    """Orphaned processes leave no zombies when they end."""
    name = f"z{time.monotonic_ns() % 10**9}"
    place.text(f"cp $(type -P sleep) {name}; for i in $(seq 20); do (setsid ./{name} 0.05 &); done")
    count = f"grep -s -h '({name}) Z' /proc/[0-9]*/stat | wc -l"
    same(place.text(f"for i in $(seq 10); do sleep 0.2; (($({count}))) || break; done; {count}; rm {name}"), "0\n")
