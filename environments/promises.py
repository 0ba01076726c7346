"""The promises of environments: the meaning of each in one line, and the kinds that make it.

`Started.promises` lists the promises that a started environment keeps; `DECLARED` lists those that its kind can make,
with the conditions. `scripts/docs` writes the table in `docs/reference/environments.md` from it. The conformance kit
has checks for each promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from environments.kinds import Kind


class Promise(StrEnum):
    """A property of an environment that checks of the conformance kit test; `MEANING` explains it."""

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
    PAUSE = "pause"
    PROTECTED_FILES = "protected-files"
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
    Promise.EXIT_STATUS: "an action's exit code, or the signal that ended its shell, is the one the kernel reports",
    Promise.FRESH_SHELL: "each action has its own login shell, in the working directory, with empty standard input",
    Promise.PERSISTENT_SHELL: "directory, variables and functions persist between actions; losing them is reported",
    Promise.EXACT_OUTPUT: "an action's output comes back byte for byte, with both streams in order or separate",
    Promise.OUTPUT_CAP: "an action that writes more than its cap is ended for that reason, before anything fills up",
    Promise.DEADLINE: "an action that runs too long is ended with everything it started; its output so far is kept",
    Promise.BACKGROUND: "background processes of a finished action keep running, and do not disturb later actions",
    Promise.REAPING: "orphaned processes leave no zombies",
    Promise.INTERRUPTIBLE: "interrupting the harness ends the action and leaves a usable environment",
    Promise.KILL_EVERYTHING: "a deadline or a stop also ends detached processes (setsid, double fork, nohup)",
    Promise.SURVIVES_KILL_ALL: "`kill -9 -1` in an action affects neither the host nor the environment itself",
    Promise.OWN_PROCESSES: "actions can neither see nor reach the host's processes",
    Promise.CLEAN_STOP: "a stop is quick, can be repeated and leaves nothing behind, nor does a killed harness",
    Promise.LIVENESS: "the loss of an environment is noticed within 5 s, and its reason is reported",
    Promise.ARCHIVES: "files go in and out unchanged; an export is complete or fails",
    Promise.CHANGED_FILES: "changes in the workspace since a mark can be listed",
    Promise.RESCUE: "the workspace can be exported without the supervisor, as long as its files exist",
    Promise.PAUSE: "the environment can be paused: nothing runs, its files can be read and added to, no process ends",
    Promise.PROTECTED_FILES: "actions can read but not change the files that the harness puts below /feedback as root",
    Promise.ADMINISTRATOR: "the harness can read and change files that actions have locked",
    Promise.CPU_TIME: "an action's processor time is measured",
    Promise.PEAK_MEMORY: "if an action raises the memory's high-water mark, the new mark is known",
    Promise.CLEAN_VARIABLES: "actions see no variable of the harness unless it was named",
    Promise.NETWORK_OFF: "actions have no network except loopback, which works",
    Promise.OWN_FILES: "actions see no files of the host except the task's and, read-only, the system's programs",
    Promise.NO_NEW_PRIVILEGES: "actions have no capability and cannot gain one, not even by a setuid program",
    Promise.NO_TRACING: "actions can trace only processes of their own user, and never the supervisor",
    Promise.UNFORGEABLE: "actions can forge neither an exit code nor the end of an action or of an output, and no name "
    "leads to an action's output or script",
    Promise.EXECUTE_ONLY: "a program with execute permission alone can be run but not read",
    Promise.CPU_LIMIT: "the number of cores is limited",
    Promise.MEMORY_LIMIT: "one memory limit holds for all processes, swap included",
    Promise.MEMORY_LIMIT_PER_PROCESS: "a memory limit holds for each single process",
    Promise.OOM_REPORTED: "an action that lost a process for lack of memory is reported as such",
    Promise.PIDS_LIMIT: "the number of processes is limited; a fork bomb harms neither host nor environment",
    Promise.DISK_LIMIT: "the size of the file system is limited",
    Promise.SHM_LIMIT: "the size of /dev/shm is limited",
    Promise.ULIMITS: "the requested ulimits hold for each process",
}

YES = "yes"
_FRESH = "unless the shell is persistent"
_EVERY: Mapping[Promise, str] = {
    Promise.EXIT_STATUS: _FRESH,
    Promise.FRESH_SHELL: _FRESH,
    Promise.PERSISTENT_SHELL: "on request",
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
_NOT_ROOT = "if actions do not run as root"
_SHOWN = "if the container's control group shows it"

DECLARED: Mapping[Kind, Mapping[Promise, str]] = {
    "docker": {
        **_EVERY,
        Promise.ARCHIVES: "if the image has tar",
        Promise.PAUSE: "if the daemon can pause containers",
        Promise.PROTECTED_FILES: _NOT_ROOT,
        Promise.REAPING: YES,
        Promise.KILL_EVERYTHING: YES,
        Promise.SURVIVES_KILL_ALL: YES,
        Promise.OWN_PROCESSES: YES,
        Promise.ADMINISTRATOR: YES,
        Promise.PEAK_MEMORY: "if the container sees a control group of its own",
        Promise.NETWORK_OFF: "unless the network is requested",
        Promise.OWN_FILES: YES,
        Promise.NO_NEW_PRIVILEGES: _NOT_ROOT,
        Promise.NO_TRACING: _NOT_ROOT,
        Promise.UNFORGEABLE: f"{_NOT_ROOT}, {_FRESH}",
        Promise.EXECUTE_ONLY: _NOT_ROOT,
        Promise.CPU_LIMIT: f"on request, {_SHOWN}",
        Promise.MEMORY_LIMIT: f"on request, {_SHOWN}",
        Promise.OOM_REPORTED: "if the container sees a control group of its own, or has a memory limit",
        Promise.PIDS_LIMIT: f"unless it is set to none, {_SHOWN}",
        Promise.DISK_LIMIT: "on request, if the storage driver can",
        Promise.SHM_LIMIT: YES,
        Promise.ULIMITS: "on request",
    },
    "sandbox": {
        **_EVERY,
        Promise.PAUSE: YES,
        Promise.PROTECTED_FILES: YES,
        Promise.REAPING: YES,
        Promise.KILL_EVERYTHING: YES,
        Promise.SURVIVES_KILL_ALL: YES,
        Promise.OWN_PROCESSES: YES,
        Promise.ADMINISTRATOR: YES,
        Promise.NETWORK_OFF: "unless the network is requested",
        Promise.OWN_FILES: YES,
        Promise.NO_NEW_PRIVILEGES: YES,
        Promise.NO_TRACING: YES,
        Promise.UNFORGEABLE: f"with bubblewrap 0.5 or later, {_FRESH}",
        Promise.MEMORY_LIMIT_PER_PROCESS: "on request",
        Promise.PIDS_LIMIT: "unless it is set to none",
        Promise.SHM_LIMIT: "with bubblewrap 0.5 or later",
        Promise.ULIMITS: "on request",
    },
    "local": {
        **_EVERY,
        Promise.REAPING: "with a pid namespace",
        Promise.KILL_EVERYTHING: "with a pid namespace",
        Promise.SURVIVES_KILL_ALL: "with a pid namespace",
        Promise.OWN_PROCESSES: "with a pid namespace, not as root",
        Promise.ADMINISTRATOR: "as root",
        Promise.ULIMITS: "on request",
    },
}
"""The promises that each kind can make: `YES`, or the condition. It never makes any other."""


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


SHARED_USER = "one user: processes that an action left running can read and write later outputs through /proc"
"""The rest that `UNFORGEABLE` leaves: /dev/stdout belongs to the user of actions, so that they can open it again."""


def supervised(lost: Iterable[str], *, own_pids: bool) -> list[Promise]:
    """Return the promises that a supervisor keeps in every kind; `lost` are its lines about what it cannot give.

    `own_pids`: it is the first process of a process list of its own.
    """
    promises = [*_SUPERVISED, *(_OWN_PIDS if own_pids else ())]
    if any(line.startswith("no tar") for line in lost):
        promises.remove(Promise.ARCHIVES)
    return promises


def table() -> str:
    """Return the table of the promises of each kind, in Markdown."""
    lines = ["| promise | " + " | ".join(DECLARED) + " |", "|---|" + "---|" * len(DECLARED)]
    for promise in Promise:
        cells = [kind.get(promise, "no") for kind in DECLARED.values()]
        lines.append(f"| `{promise.value}`: {MEANING[promise]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
