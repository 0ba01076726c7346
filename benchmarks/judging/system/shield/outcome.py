"""The last line of `inside.pl`: the outcome of a script, or the reason for which it did not count."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.judging.faults import HostFailed, SubmissionFailed
from environments.protocol import Execution


class Unshielded(Exception):
    """This machine cannot shield a script. Nothing of it has run; the message is the reason."""


def of_line(line: str, execution: Execution, *, out_of_memory: bool) -> Execution:
    """Return the execution with its status.

    A program that was killed has no last line. What a process of the agent can cause never leads to `Unshielded`.

    Raises: Unshielded, SubmissionFailed, HostFailed.
    """
    word, _, rest = line.partition(" ")
    if out_of_memory:
        execution = replace(execution, ended="oom")
    if word == "ended":
        status = int(rest)
        return replace(execution, exit_code=None if status & 127 else status >> 8, signal=status & 127 or None)
    if word == "unable":
        raise Unshielded(f"the kernel or the daemon refused {rest}")
    if word == "crowded":
        raise HostFailed(f"the tests could not be started beside the agent's processes: {rest}")
    if word == "moved":
        raise SubmissionFailed("processes", f"a process of the agent moved {rest} while the tests ran")
    return replace(execution, ended="oom" if out_of_memory else "supervisor_lost", signal=9)
