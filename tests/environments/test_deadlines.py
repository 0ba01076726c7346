"""An action that takes too long is ended with everything it started, and nothing else is."""

from __future__ import annotations

import time

import pytest

from .conftest import DOCKER, SANDBOX, Place

ESCAPES = {
    "plain": "{sleep} 1000",
    "trap": "trap '' TERM INT HUP; {sleep} 1000",
    "setsid": "setsid {sleep} 1000; sleep 1000",
    "background": "{sleep} 1000 & sleep 1000",
    "nohup": "nohup {sleep} 1000 >/dev/null 2>&1 & sleep 1000",
    "double fork": "(setsid {sleep} 1000 </dev/null >/dev/null 2>&1 &); ({sleep} 1000 & {sleep} 1000 &); sleep 1000",
    "no environment": "env -i setsid {sleep} 1000 & sleep 1000",
    "stopped": "{sleep} 1000 & kill -STOP $!; sleep 1000",
    "forks on": "f() { ( sleep 0.01; f ) & }; for i in 1 2 3 4 5; do f; done; {sleep} 1000",
}


@pytest.mark.parametrize("how", ESCAPES)
def test_everything_that_an_action_started_is_ended(place: Place, how: str) -> None:
    sleep = f"escape-{abs(hash(how)) % 10**6}"
    place.text(f"cp $(type -P sleep) {sleep}")
    began = time.monotonic()
    assert place.run("sleep 1000", deadline_s=0.3).ended == "deadline"
    place.text("true")
    plain_s = time.monotonic() - began
    began = time.monotonic()
    action = place.run(f"echo partial; {ESCAPES[how].replace('{sleep}', './' + sleep)}", deadline_s=0.3)
    assert (action.ended, action.exit_code, action.signal, action.output[:8]) == ("deadline", None, None, b"partial\n")
    assert place.text(f"grep -l '[e]{sleep[1:]}' /proc/[0-9]*/cmdline 2>/dev/null | wc -l; rm {sleep}") == "0\n"
    assert time.monotonic() - began < 10 * plain_s, "what escapes takes much longer to end than what does not"
    assert action.duration_s >= 0.3


@pytest.mark.parametrize("label", [SANDBOX, DOCKER])
def test_kill_minus_one_ends_neither_the_action_nor_the_environment(start: object, label: str) -> None:
    place: Place = start(label)  # type: ignore[operator]
    place.run("sleep 1000 & echo $! >background")
    action = place.run("echo before; kill -9 -1; echo after")
    assert (action.ended, action.exit_code) == ("exited", 0)
    if label == "docker":  # elsewhere it also ends what carries the output; what was under way may be lost
        assert action.output == b"before\nafter\n"
    assert place.text("grep -s State: /proc/$(cat background)/status | grep -v zombie || echo gone") == "gone\n"
    assert place.text("for s in 9 1 2 3 10 12 13 14 15; do kill -$s 1; done 2>/dev/null; sleep 0.1; echo on") == "on\n"


@pytest.mark.parametrize("label", [SANDBOX, DOCKER])
def test_a_fork_bomb_is_ended(start: object, label: str) -> None:
    place: Place = start(label, pids=200)  # type: ignore[operator]
    action = place.run("bomb() { bomb | bomb & }; bomb; sleep 1000", deadline_s=1)
    assert action.ended == "deadline"
    assert place.text("echo on") == "on\n"


@pytest.mark.parametrize("label", [SANDBOX, DOCKER])
def test_a_fork_bomb_in_the_background_does_not_end_the_environment(start: object, label: str) -> None:
    place: Place = start(label, pids=200)  # type: ignore[operator]
    place.run("bomb() { bomb | bomb & }; bomb", deadline_s=5)
    time.sleep(1)
    place.run("true", deadline_s=5)
    assert place.run("echo on", deadline_s=5).output.endswith(b"on\n")
