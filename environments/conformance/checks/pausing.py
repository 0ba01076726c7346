"""A pause: nothing runs meanwhile, nothing ends by it, and files can be read and added."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

from environments.conformance.checking import check, holds, same
from environments.conformance.contents import contents, file, tar_of
from environments.conformance.place import Place, host_processes, in_child, kill_child, marker, wait_for
from environments.promises import Promise
from environments.protocol import Environment, EnvironmentLost, EnvironmentPaused, Pausable

PAUSE_S = 0.5
STOP_S = 3.0
_WRITER = "while :; do echo $EPOCHREALTIME; sleep 0.01; done >stamps 2>/dev/null & echo $! >writer; sleep 0.1"


def _pausable(environment: Environment) -> Pausable:
    holds(isinstance(environment, Pausable), "it has pause and unpause")
    assert isinstance(environment, Pausable)
    return environment


@check(Promise.PAUSE, "PausesNothing", alone=True)
def check_nothing_runs(place: Place) -> None:
    """No process runs during a pause, not even one in a session of its own, and all go on after it."""
    environment = _pausable(place.environment)
    place.text(_WRITER)
    place.text(
        "setsid bash -c 'while :; do echo $EPOCHREALTIME; sleep 0.01; done >detached' >/dev/null 2>&1 & sleep 0.1"
    )
    environment.pause()
    time.sleep(PAUSE_S)
    environment.unpause()
    time.sleep(0.2)
    for name in ("stamps", "detached"):
        stamps = list(map(float, place.text(f"cat {name}").split()))
        longest = max(after - before for before, after in pairwise(stamps))
        holds(longest > 0.9 * PAUSE_S, f"{name} was not written for {PAUSE_S} s", longest)
        size = f"stat -c %s {name}"
        holds(place.text(f"{size}; sleep 1; {size}").split()[0] != place.text(size).strip(), f"{name} is written again")


@check(Promise.PAUSE, "RunsWhilePaused")
def check_refuses_actions(place: Place) -> None:
    """A paused environment rejects actions and listings with EnvironmentPaused, and is whole afterwards."""
    environment = _pausable(place.environment)
    environment.pause()
    try:
        for attempt in (lambda: place.run("true"), place.environment.listing, lambda: place.environment.digests(["x"])):
            _refused(attempt)
    finally:
        environment.unpause()
    same(place.text("echo on"), "on\n")


def _refused(attempt: Callable[[], object]) -> None:
    try:
        attempt()
    except EnvironmentPaused as fault:
        holds(str(fault) and "\n" not in str(fault), "the message is one line", str(fault))
        return
    raise AssertionError("it was not refused with EnvironmentPaused")


@check(Promise.PAUSE, "ExportsAfterAnEnd", alone=True)
def check_export(place: Place) -> None:
    """An export during a pause is complete, and ends no process."""
    environment = _pausable(place.environment)
    place.text("mkdir kept; echo kept >kept/file; ln kept/file linked; mkfifo pipe; echo x >locked; chmod 0 locked")
    place.text("truncate -s 64M sparse; printf end >>sparse")
    place.text(_WRITER)
    environment.pause()
    export = place.environment.export(place.scratch / "workspace.tar.zst")
    environment.unpause()
    members = contents(place.scratch / "workspace.tar.zst")
    same((export.entries, [skipped.path for skipped in export.skipped]), (len(members), ["pipe"]))
    same({(member.uid, member.gid) for member in members.values()}, {(0, 0)}, "owners")
    holds({"./kept/file", "./linked", "./locked", "./stamps"} <= set(members), "everything is in it", sorted(members))
    same((members["./sparse"].size, members["./sparse"].sparse), ((64 << 20) + 3, True), "the sparse file")
    same(place.run("kill -0 $(cat writer) && echo runs").output, b"runs\n", "the process of before")


@check(Promise.PAUSE, "PutsLater")
def check_put(place: Place) -> None:
    """Files that are put during a pause are there afterwards, and belong to the user of actions."""
    environment = _pausable(place.environment)
    environment.pause()
    try:
        place.environment.put(tar_of(file("a/b", b"body", mode=0o640, uid=12345)), "put/during")
    finally:
        environment.unpause()
    seen = place.run(
        "cat put/during/a/b; stat -c %a put/during/a/b; echo more >>put/during/a/b && touch put/x; rm -r put"
    )
    same(seen.output, b"body640\n")


@check(Promise.PAUSE, "ContinuesEverything", alone=True)
def check_stopped_processes(place: Place) -> None:
    """A process that an action has stopped stays stopped after a pause."""
    environment = _pausable(place.environment)
    place.text("sleep 60 & echo $! >stopped; kill -STOP $!; sleep 0.05")
    environment.pause()
    environment.unpause()
    time.sleep(0.05)
    state = place.text("read -r line </proc/$(cat stopped)/stat; line=${line##*) }; echo ${line%% *}")
    same(state, "T\n")


@check(Promise.PAUSE, "CountsPauses")
def check_repeatable(place: Place) -> None:
    """A second pause does nothing, and neither does the end of a pause that is over."""
    environment = _pausable(place.environment)
    environment.unpause()
    environment.pause()
    environment.pause()
    environment.unpause()
    same(place.run("echo on").output, b"on\n")
    environment.unpause()
    same(place.run("echo on").output, b"on\n")


@check(Promise.PAUSE, "StopsSlowlyIfPaused", alone=True)
def check_stop(place: Place) -> None:
    """A paused environment stops within 3 s, with everything in it, and rejects actions as one that was stopped."""
    mark = marker()
    place.run(f"trap '' TERM; setsid sleep {mark} >/dev/null 2>&1 & sleep 0.05")
    holds(host_processes(mark), "the harness can see its processes while they run")
    _pausable(place.environment).pause()
    began = time.monotonic()
    place.environment.stop()
    took_s = time.monotonic() - began
    holds(took_s < STOP_S, f"it took less than {STOP_S} s", took_s)
    holds(wait_for(lambda: not host_processes(mark), 2), "none runs 2 s later")
    try:
        place.run("true")
    except EnvironmentLost:
        return
    raise AssertionError("an action was not refused with EnvironmentLost")


@check(Promise.PAUSE, "OutlivesItsPausedHarness")
def check_death_of_the_harness(place: Place) -> None:
    """If the harness is killed during a pause, everything ends with it, or `agent clean` finds and removes it."""
    mark = marker()

    def work(tell: Callable[[str], None]) -> None:
        made = place.make()
        made.start()
        made.execute(f"setsid sleep {mark} >/dev/null 2>&1 & sleep 0.05", deadline_s=10)
        _pausable(made).pause()
        tell("started")

    child, message = in_child(work)
    seen = message == "started" and host_processes(mark)
    kill_child(child)
    same(message, "started")
    holds(seen, "the harness can see its processes while they run")
    if not wait_for(lambda: not host_processes(mark), 2):
        _clean_up(child)
    holds(wait_for(lambda: not host_processes(mark), 2), "none is left")


def _clean_up(owner: int) -> None:
    """Remove what `agent clean` would remove of this process, and of no other."""
    from environments.docker import daemon
    from environments.leftovers import containers

    api = daemon.connect()
    try:
        for leftover in containers.leftovers(api):
            if leftover.owner and leftover.owner.pid == owner and leftover.fate == "dead" and leftover.id:
                holds("paused" in leftover.why, "it is described as paused", leftover.why)
                same(containers.remove(api, leftover.id), None, "reason not to remove it")
    finally:
        api.close()


_FEEDBACK = "/feedback/turn-1"


@check(Promise.PROTECTED_FILES, "ProtectsWithoutModes", alone=True)
def check_protected_modes(place: Place) -> None:
    """Actions can read files that were put as root: files have the archive's modes, directories in between 0755."""
    files = tar_of(file("out.txt", b"seen", mode=0o444), file("logs/one.txt", b"too", mode=0o444))
    place.environment.put(files, _FEEDBACK, as_root=True)
    same(place.text(f"cat {_FEEDBACK}/out.txt {_FEEDBACK}/logs/one.txt"), "seentoo")
    modes = place.text(
        f"stat -c %a /feedback {_FEEDBACK} {_FEEDBACK}/logs {_FEEDBACK}/out.txt {_FEEDBACK}/logs/one.txt"
    )
    same(modes.split(), ["755", "755", "755", "444", "444"])


@check(Promise.PROTECTED_FILES, "ProtectsNothing", alone=True)
def check_protection(place: Place) -> None:
    """No action can change, replace, add to or delete files that were put as root."""
    place.environment.put(tar_of(file("out.txt", b"seen", mode=0o444)), _FEEDBACK, as_root=True)
    for attack in (
        "echo forged >out.txt",
        "chmod u+w out.txt",
        "rm -f out.txt",
        "mv out.txt other.txt",
        "touch new.txt",
        "rmdir ../turn-1",
        "mv ../turn-1 ../turn-2",
        "mkdir ../turn-2",
        "rm -rf /feedback",
        "mv /feedback /feedback-of-mine",
    ):
        action = place.run(f"cd {_FEEDBACK}; {attack}")
        holds(action.exit_code, f"{attack!r} fails", action.output)
    same(place.text(f"cat {_FEEDBACK}/out.txt; ls -A /feedback {_FEEDBACK}").split()[0], "seen/feedback:")
    same(place.text(f"ls -A {_FEEDBACK}"), "out.txt\n")
