"""Limits: processors, memory, processes, disk, /dev/shm, ulimits. No check here overloads the machine."""

from __future__ import annotations

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise

MIB = 1 << 20
_ALLOCATE = "head -c {bytes} /dev/zero | tail | wc -c"
"""Takes as much memory, because tail(1) keeps a line of any length."""


@check(Promise.CPU_LIMIT, "Claims", cpus=0.25)
def check_cpus(place: Place) -> None:
    """A limit of a quarter of a core holds for any number of processes."""
    loop = "(while ((SECONDS < 2)); do :; done) &"
    action = place.run(f"{loop} {loop} {loop} {loop} wait", 10)
    holds(
        action.cpu_s is not None and action.cpu_s < 0.36 * action.duration_s,
        "so they got",
        (action.cpu_s, action.duration_s),
    )


@check(Promise.MEMORY_LIMIT, "Claims", alone=True, memory_bytes=64 * MIB)
def check_memory(place: Place) -> None:
    """No action gets more memory than the limit, and the environment survives."""
    action = place.run(_ALLOCATE.format(bytes=200_000_000))
    holds(action.output != b"200000000\n", "200 MB did not fit into 64 MiB", action)
    same(place.text("echo alive"), "alive\n")


@check(Promise.MEMORY_LIMIT, "Claims", alone=True, memory_bytes=96 * MIB)
def check_memory_together(place: Place) -> None:
    """One limit holds for all processes: two of 64 MB do not fit into 96 MiB."""
    allocation = "{ head -c 64000000 /dev/zero; sleep 2; } | tail -n 1 | wc -c"  # held until its input ends
    action = place.run(f"({allocation}) & ({allocation}) & wait", 15)
    holds(action.output != b"64000000\n" * 2, "not both got through", action)


@check(Promise.MEMORY_LIMIT_PER_PROCESS, "Claims", memory_bytes=64 * MIB)
def check_memory_of_a_process(place: Place) -> None:
    """One process gets no more memory than the limit."""
    action = place.run(_ALLOCATE.format(bytes=200_000_000))
    holds(action.output != b"200000000\n", "200 MB did not fit into 64 MiB", action)


@check(Promise.OOM_REPORTED, "Claims", alone=True, memory_bytes=64 * MIB)
def check_out_of_memory(place: Place) -> None:
    """An action that lost a process for lack of memory reports that, and the next one does not."""
    same(place.run(_ALLOCATE.format(bytes=200_000_000)).ended, "oom")
    same(place.run("echo fine").ended, "exited")


@check(Promise.PIDS_LIMIT, "Claims", alone=True, pids=60)
def check_processes(place: Place) -> None:
    """No action can start more processes than the limit, and the next action runs."""
    action = place.run("for i in $(seq 150); do sleep 2 & done; jobs -r | wc -l", 15)
    count = int((action.output.split() or [b"0"])[-1]) if action.ended == "exited" and action.exit_code == 0 else 0
    holds(count < 60, "fewer than 60 ran at once", action)
    same(place.run("echo on", 10).output, b"on\n")


_BOMB = "bomb() { (($1)) || return; bomb $(($1 - 1)) & bomb $(($1 - 1)) & sleep 2; }; bomb 8"


@check(Promise.PIDS_LIMIT, "DiesOfForks", alone=True, pids=60)
def check_fork_bomb(place: Place) -> None:
    """A fork bomb is ended at the deadline, and the next action runs."""
    same(place.run(f"{_BOMB}; sleep 5", 1).ended, "deadline")
    same(place.run("echo on", 10).output, b"on\n")


@check(Promise.PIDS_LIMIT, "DiesOfForks", alone=True, pids=60)
def check_fork_bomb_in_the_background(place: Place) -> None:
    """A fork bomb in the background does not keep the next action from running."""
    place.run(f"{_BOMB} >/dev/null 2>&1 &", 5)
    action = place.run("echo on", 10)
    holds(action.output.endswith(b"on\n"), "it runs", action)


@check(Promise.DISK_LIMIT, "Claims", alone=True, disk_bytes=32 * MIB)
def check_disk(place: Place) -> None:
    """No more than the limit can be written."""
    action = place.run("head -c 50000000 /dev/zero >filler; stat -c %s filler; rm filler")
    holds(b"50000000" not in action.output, "50 MB did not fit into 32 MiB", action.output)


@check(Promise.SHM_LIMIT, "Claims", shm_bytes=MIB)
def check_shared_memory(place: Place) -> None:
    """/dev/shm has the requested size, and no more."""
    same(place.text("head -c 500000 /dev/zero >/dev/shm/filler; stat -c %s /dev/shm/filler"), "500000\n")
    action = place.run("head -c 4000000 /dev/zero >/dev/shm/filler; stat -c %s /dev/shm/filler; rm /dev/shm/filler")
    holds(b"4000000" not in action.output, "4 MB did not fit into 1 MiB", action.output)


@check(Promise.ULIMITS, "ForgetsUlimits", ulimits={"nofile": 77, "core": 0, "fsize": 1_024_000})
def check_ulimits(place: Place) -> None:
    """The requested ulimits hold in an action."""
    same(place.text("ulimit -n; ulimit -c; ulimit -f"), "77\n0\n1000\n")


@check(Promise.ULIMITS, "ForgetsUlimits", ulimits={"nofile": 77, "core": 0, "fsize": 1_024_000})
def check_ulimits_cannot_be_raised(place: Place) -> None:
    """An action cannot raise its ulimits."""
    holds(place.run("ulimit -n 1000 && ulimit -n").exit_code != 0, "raising fails")
