"""What an environment can be trusted with: every promise in one line, and which kind makes which.

`Started.promises` is what a started environment keeps; `DECLARED` is what its kind can keep, and on what condition.
`scripts/docs` writes the table in `docs/reference/environments.md` from it. The conformance kit has checks for each
promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from environments.kinds import Kind


class Promise(StrEnum):
    """A named property that checks of the conformance kit try out; what it means is in `MEANING`."""

    EXIT_STATUS = "exit-status"
    FRESH_SHELL = "fresh-shell"
    PERSISTENT_SHELL = "persistent-shell"
    EXACT_OUTPUT = "exact-output"
    OUTPUT_CAP = "output-cap"
    DEADLINE = "deadline"
    BACKGROUND = "background"
    REAPING = "reaping"
    INTERRUPTIBLE = "interruptible"
    KILL_EVERYTHING = "kill-everything"
    SURVIVES_KILL_ALL = "survives-kill-all"
    OWN_PROCESSES = "own-processes"
    CLEAN_STOP = "clean-stop"
    LIVENESS = "liveness"
    ARCHIVES = "archives"
    CHANGED_FILES = "changed-files"
    RESCUE = "rescue"
    ADMINISTRATOR = "administrator"
    CPU_TIME = "cpu-time"
    PEAK_MEMORY = "peak-memory"
    CLEAN_VARIABLES = "clean-variables"
    NETWORK_OFF = "network-off"
    OWN_FILES = "own-files"
    NO_NEW_PRIVILEGES = "no-new-privileges"
    NO_TRACING = "no-tracing"
    UNFORGEABLE = "unforgeable"
    EXECUTE_ONLY = "execute-only"
    CPU_LIMIT = "cpu-limit"
    MEMORY_LIMIT = "memory-limit"
    MEMORY_LIMIT_PER_PROCESS = "memory-limit-per-process"
    OOM_REPORTED = "oom-reported"
    PIDS_LIMIT = "pids-limit"
    DISK_LIMIT = "disk-limit"
    SHM_LIMIT = "shm-limit"
    ULIMITS = "ulimits"


MEANING: Mapping[Promise, str] = {
    Promise.EXIT_STATUS: "an action's exit code, or the signal that ended its shell, is the kernel's word",
    Promise.FRESH_SHELL: "each action is a login shell of its own, in the working directory, with standard input empty",
    Promise.PERSISTENT_SHELL: "directory, variables and functions live on between actions; a loss of them is said",
    Promise.EXACT_OUTPUT: "what an action writes comes back to the byte, both streams in order or apart",
    Promise.OUTPUT_CAP: "an action that writes more than its cap is ended for that reason; nothing fills up meanwhile",
    Promise.DEADLINE: "an action that runs too long is ended with all it started, its output so far kept",
    Promise.BACKGROUND: "background processes of a finished action live on, and hold and disturb nothing",
    Promise.REAPING: "no zombie is left by orphans",
    Promise.INTERRUPTIBLE: "an interrupt of the harness ends the action and leaves an environment that can be used",
    Promise.KILL_EVERYTHING: "what detached itself (setsid, double fork, nohup) is ended too: at a deadline, at a stop",
    Promise.SURVIVES_KILL_ALL: "`kill -9 -1` in an action reaches neither the host nor the environment itself",
    Promise.OWN_PROCESSES: "the host's processes are out of sight and out of reach",
    Promise.CLEAN_STOP: "a stop is quick, may be repeated, and leaves nothing; so does the death of the harness",
    Promise.LIVENESS: "an environment that died is noticed within 5 s, and why it died is said",
    Promise.ARCHIVES: "files go in and out as they are; an export is whole, or an error",
    Promise.CHANGED_FILES: "what changed in the workspace since a mark can be listed",
    Promise.RESCUE: "the workspace can be exported when the supervisor no longer answers, if its files still exist",
    Promise.ADMINISTRATOR: "the harness reads and changes what actions have locked",
    Promise.CPU_TIME: "an action's processor time is measured",
    Promise.PEAK_MEMORY: "an action that raises the memory's high-water mark is known to have done so, and to what",
    Promise.CLEAN_VARIABLES: "no variable of the harness reaches an action unless it was named",
    Promise.NETWORK_OFF: "no network but loopback, which works",
    Promise.OWN_FILES: "no file of the host is in sight but the task's and, read-only, the system's programs",
    Promise.NO_NEW_PRIVILEGES: "an action has no capability and gains none, also by a setuid program",
    Promise.NO_TRACING: "an action traces no process but those of its own user, and never the supervisor",
    Promise.UNFORGEABLE: "an action can forge neither an exit code nor a later result",
    Promise.EXECUTE_ONLY: "a program that may be run but not read stays unread",
    Promise.CPU_LIMIT: "cores are limited",
    Promise.MEMORY_LIMIT: "memory is limited for all processes together, swap included",
    Promise.MEMORY_LIMIT_PER_PROCESS: "memory is limited for each process by itself",
    Promise.OOM_REPORTED: "an action that lost a process for want of memory is reported so",
    Promise.PIDS_LIMIT: "the number of processes is limited; a fork bomb ends neither host nor environment",
    Promise.DISK_LIMIT: "the size of the file system is limited",
    Promise.SHM_LIMIT: "the size of /dev/shm is limited",
    Promise.ULIMITS: "the ulimits that were asked for hold for each process",
}

YES = "yes"
_FRESH = "unless the shell is persistent"
_EVERY: Mapping[Promise, str] = {
    Promise.EXIT_STATUS: _FRESH,
    Promise.FRESH_SHELL: _FRESH,
    Promise.PERSISTENT_SHELL: "when asked for",
    Promise.EXACT_OUTPUT: _FRESH,
    Promise.OUTPUT_CAP: YES,
    Promise.DEADLINE: YES,
    Promise.BACKGROUND: YES,
    Promise.INTERRUPTIBLE: YES,
    Promise.CLEAN_STOP: YES,
    Promise.LIVENESS: YES,
    Promise.ARCHIVES: YES,
    Promise.CHANGED_FILES: YES,
    Promise.RESCUE: YES,
    Promise.CPU_TIME: _FRESH,
    Promise.CLEAN_VARIABLES: YES,
}
_NOT_ROOT = "where actions run as another user than root"
_DAEMON = "when asked for, where the daemon can"

DECLARED: Mapping[Kind, Mapping[Promise, str]] = {
    "docker": {
        **_EVERY,
        Promise.ARCHIVES: "where the image has tar",
        Promise.REAPING: YES,
        Promise.KILL_EVERYTHING: YES,
        Promise.SURVIVES_KILL_ALL: YES,
        Promise.OWN_PROCESSES: YES,
        Promise.ADMINISTRATOR: YES,
        Promise.PEAK_MEMORY: "where the container sees its cgroup",
        Promise.NETWORK_OFF: "unless the network is asked for",
        Promise.OWN_FILES: YES,
        Promise.NO_NEW_PRIVILEGES: _NOT_ROOT,
        Promise.NO_TRACING: _NOT_ROOT,
        Promise.UNFORGEABLE: f"{_NOT_ROOT}, {_FRESH}",
        Promise.EXECUTE_ONLY: _NOT_ROOT,
        Promise.CPU_LIMIT: _DAEMON,
        Promise.MEMORY_LIMIT: _DAEMON,
        Promise.OOM_REPORTED: "where the container sees its cgroup, or with a limit of memory",
        Promise.PIDS_LIMIT: "unless it is set to none",
        Promise.DISK_LIMIT: "when asked for, where the storage driver can",
        Promise.SHM_LIMIT: YES,
        Promise.ULIMITS: "when asked for",
    },
    "sandbox": {
        **_EVERY,
        Promise.REAPING: YES,
        Promise.KILL_EVERYTHING: YES,
        Promise.SURVIVES_KILL_ALL: YES,
        Promise.OWN_PROCESSES: YES,
        Promise.ADMINISTRATOR: YES,
        Promise.NETWORK_OFF: "unless the network is asked for",
        Promise.OWN_FILES: YES,
        Promise.NO_NEW_PRIVILEGES: YES,
        Promise.NO_TRACING: YES,
        Promise.MEMORY_LIMIT_PER_PROCESS: "when asked for",
        Promise.PIDS_LIMIT: "unless it is set to none",
        Promise.SHM_LIMIT: "where bubblewrap is 0.5 or later",
        Promise.ULIMITS: "when asked for",
    },
    "local": {
        **_EVERY,
        Promise.REAPING: "with a pid namespace",
        Promise.KILL_EVERYTHING: "with a pid namespace",
        Promise.SURVIVES_KILL_ALL: "with a pid namespace",
        Promise.OWN_PROCESSES: "with a pid namespace, not as root",
        Promise.ADMINISTRATOR: "as root",
        Promise.ULIMITS: "when asked for",
    },
}
"""What each kind can make, `YES` or on what condition; what is not in it, it never makes."""


_SUPERVISED = (
    Promise.EXIT_STATUS,
    Promise.FRESH_SHELL,
    Promise.EXACT_OUTPUT,
    Promise.OUTPUT_CAP,
    Promise.DEADLINE,
    Promise.BACKGROUND,
    Promise.INTERRUPTIBLE,
    Promise.CLEAN_STOP,
    Promise.LIVENESS,
    Promise.ARCHIVES,
    Promise.CHANGED_FILES,
    Promise.RESCUE,
    Promise.CPU_TIME,
    Promise.CLEAN_VARIABLES,
)
_OWN_PIDS = (Promise.REAPING, Promise.KILL_EVERYTHING, Promise.SURVIVES_KILL_ALL)


def supervised(lost: Iterable[str], *, own_pids: bool) -> list[Promise]:
    """What a supervisor gives every kind; `lost` is what it says it lacks.

    `own_pids`: it is the first process of a process list of its own.
    """
    promises = [*_SUPERVISED, *(_OWN_PIDS if own_pids else ())]
    if any(line.startswith("no tar") for line in lost):
        promises.remove(Promise.ARCHIVES)
    return promises


def table() -> str:
    """The promises of each kind, in Markdown."""
    lines = ["| promise | " + " | ".join(DECLARED) + " |", "|---|" + "---|" * len(DECLARED)]
    for promise in Promise:
        cells = [kind.get(promise, "no") for kind in DECLARED.values()]
        lines.append(f"| `{promise.value}`: {MEANING[promise]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
