"""Dead processes are reaped even if bash has blocked the signal that tells it about them.

bash 5.2 does that by mistake on a busy machine: its `read -t` sets a signal mask from uninitialized memory if the time
is up before it reads. Here the supervisor repeats such a read until it is struck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from environments.wire import program

from .conftest import ALL, DOCKER, Place, environment

_SERVE = "while IFS= read -r -N 1 request; do\n"
_DEAFEN = """
for ((i = 0; i < 5000; i++)); do
  read -r -t 0.000001 -N 1 -u 20
  stat_of "$$"
  fields=($stat)
  ((fields[29] & 1 << 16)) && lost+=("struck") && break
done
"""
_ZOMBIES = "grep -s -h '(orphan) Z' /proc/[0-9]*/stat | wc -l"
_SAY_READY = "said=\n"


@pytest.fixture
def struck(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Place]]:
    """Starts an environment whose supervisor no longer hears of the end of its children."""
    source = program._source()
    assert source.count(_SAY_READY) == 1
    assert source.count(_SERVE) == 1
    monkeypatch.setattr(program, "_source", lambda: source.replace(_SAY_READY, _DEAFEN + _SAY_READY))
    places: list[Place] = []

    def start(label: str, **changes: object) -> Place:
        for _ in range(20):  # what the memory holds differs from process to process
            made = environment(label, **changes)
            places.append(Place(made, made.start(), label))
            if "struck" in places[-1].started.lost:
                return places[-1]
            made.stop()
        pytest.skip("this bash has no such fault")

    yield start
    for place in places:
        place.environment.stop()


@pytest.mark.parametrize("label", [label for label in ALL if label != "shared"])
def test_orphans_leave_no_zombies(struck: Callable[..., Place], label: str) -> None:
    place = struck(label)
    place.text("cp $(type -P sleep) orphan; for i in $(seq 20); do (setsid ./orphan 0.05 &); done")
    assert place.text(f"for i in $(seq 10); do sleep 0.2; (($({_ZOMBIES}))) || break; done; {_ZOMBIES}") == "0\n"


@pytest.mark.parametrize("label", [DOCKER])
def test_the_ids_of_a_fork_bomb_are_free_again(struck: Callable[..., Place], label: str) -> None:
    place = struck(label, pids=60)
    bomb = "bomb() { (($1)) || return; bomb $(($1 - 1)) & bomb $(($1 - 1)) & sleep 2; }; bomb 8 >/dev/null 2>&1 &"
    place.run(bomb, 5)
    assert place.run("echo on", 10).output.endswith(b"on\n")
    assert place.text("echo on") == "on\n"


@pytest.mark.parametrize("label", [DOCKER])
def test_processes_of_an_earlier_action_do_not_take_the_ids_of_a_running_one(
    start: Callable[..., Place], label: str
) -> None:
    place = start(label, pids=60)
    place.run("(sleep 0.5; for i in $(seq 80); do sleep 30 & done; sleep 30) >/dev/null 2>&1 &", 5)
    action = place.run("sleep 1; for i in 1 2 3; do echo $i | cat; done", 12)
    assert (action.ended, action.output.split()[-3:]) == ("exited", [b"1", b"2", b"3"])
    assert place.text("echo on") == "on\n"
