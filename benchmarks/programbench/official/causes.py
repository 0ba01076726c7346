"""The decision who caused that the official evaluator gave no result: the submission, or the machine.

After compile.sh has run as root, everything inside of a container can be the submission's doing, and so can everything
that the evaluator reads from it. The machine is the cause only if a fact says so that no container can forge.
"""

from __future__ import annotations

import signal

from benchmarks.judging.faults import Fault, HostFailed
from benchmarks.programbench.official.facts import Facts, Failure
from benchmarks.programbench.official.preparation import Prepared
from trajectories.record.verdict import VerdictCause

WRITTEN_BYTES = 8 << 30
"""Bytes that a submission may write. A disk that is full with less than that written is the host's fault."""
_UNREADABLE = ("MemoryError", "UnicodeDecodeError")
"""Errors over the size or the encoding of what a container printed: the evaluator's memory is limited."""
_NO_RESULTS = ("XmlParseError", "EmptyTestResultError")
_PARSING = frozenset({"parse_test_results", "_process_branch_xml", "count_testcases", "count_worker_crashes"})
"""Functions of the package that read results, and nothing else."""
_HASHING = frozenset({"_compile_executable", "_restore_executable"})
"""Functions that read the output of sha256sum in a container."""
_TESTING = "_run_test_branch"
"""Function that runs a branch in an image of what the submission left."""
_UNPACKING = "copy_in_tar"
_STREAMING = "_stream_tar_in"
_BROKEN_IMAGE = ("OCI runtime", "executable file not found", "unable to find user", "no such file or directory")
"""Parts of the daemon's messages about an image in which not even `sleep` can be started."""
_CRASHES = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS)
"""Signals with which a program ends that gets no memory; the kernel's own choice of a victim ends with SIGKILL."""


def of_machine(facts: Facts) -> HostFailed | None:
    """Return the failure of the machine, if one is certain."""
    if facts.unreachable:
        more = f" ({facts.failure.text})" if facts.failure else ""
        return HostFailed(f"the Docker daemon did not answer during the evaluation; evaluate again{more}")
    if facts.killed:
        return HostFailed("somebody killed a container of the evaluation through the daemon; evaluate again")
    return None


def of_failure(facts: Facts, prepared: Prepared, free_bytes: int) -> Fault | None:
    """Return the fault of the submission because of which the evaluator raised its error, if it is one.

    `free_bytes` is what is free on the disk now that the evaluator's containers are gone.

    Raises: HostFailed.
    """
    failure = facts.failure
    if failure is None:
        return None
    if host := of_machine(facts):
        raise host
    if failure.error in _UNREADABLE:
        printed = "more than the evaluator can read" if failure.error == "MemoryError" else "what is not UTF-8"
        return _counted("output", f"the submission printed {printed}", failure)
    if failure.error in _NO_RESULTS or _PARSING & set(failure.functions):
        return _counted("result", "the results of a branch are not JUnit XML", failure)
    if failure.error == "IndexError" and _HASHING & set(failure.functions):
        return _counted("program", "sha256sum printed nothing where the submission had been", failure)
    full = "no space left on device" in failure.message.lower()
    if {_TESTING, _STREAMING} <= set(failure.functions):  # commands in the submission's image, which may print anything
        if full:
            check_disk(facts, prepared, free_bytes)
        return _counted("program", "no tests can be unpacked in what the submission left", failure)
    if full or failure.error == "TimeoutExpired":
        reason = "filled the disk" if full else "took too long to be copied"
        return of_disk(facts, prepared, f"the submission {reason}", failure)
    if _TESTING in failure.functions and _is_broken_image(failure):
        return _counted("program", "no test can be started in what the submission left", failure)
    if _UNPACKING in failure.functions and prepared.builds is False:
        return _counted("unpacking", "the submission cannot be unpacked", failure)
    return None


def of_disk(facts: Facts, prepared: Prepared, reason: str, failure: Failure) -> Fault:
    """Return the fault of a submission that wrote more than it may.

    Raises: HostFailed if it did not: then the machine was short of space, or too slow.
    """
    written = max(facts.written_bytes, prepared.written_bytes)
    if written < WRITTEN_BYTES:
        raise HostFailed(_short_of_space(written, failure.text))
    return _counted("disk", f"{reason}: it wrote {written >> 20} MiB", failure)


def check_disk(facts: Facts, prepared: Prepared, free_bytes: int) -> None:
    """Accept a failed step that reports a full disk, unless the disk is full without the submission, too.

    A container can print such a report. `free_bytes` is what is free now that its containers are gone.

    Raises: HostFailed.
    """
    written = max(facts.written_bytes, prepared.written_bytes)
    if written < WRITTEN_BYTES and free_bytes < WRITTEN_BYTES:
        raise HostFailed(_short_of_space(written, f"{free_bytes >> 20} MiB are free"))


def _short_of_space(written: int, more: str) -> str:
    return (
        f"the disk is full or too slow, and the submission wrote only {written >> 20} MiB; an evaluation needs "
        f"{WRITTEN_BYTES >> 30} GiB ({more})"
    )


def of_signal(status: int, facts: Facts) -> Fault | None:
    """Return the fault if the evaluator crashed over what it read.

    Raises: HostFailed if the machine ended it.
    """
    if host := of_machine(facts):
        raise host
    if -status in _CRASHES:
        return Fault("output", f"the evaluator crashed over what the submission printed: {_signal(status)}")
    if status == -signal.SIGKILL:
        raise HostFailed("the evaluator was killed, perhaps because the machine has too little memory; evaluate again")
    return None


def _is_broken_image(failure: Failure) -> bool:
    started = not failure.message.startswith("Failed to start container")
    return failure.error == "RuntimeError" and (started or any(part in failure.message for part in _BROKEN_IMAGE))


def _counted(cause: VerdictCause, reason: str, failure: Failure) -> Fault:
    text = f"{reason}, of which the official evaluator dies without a result: the leaderboard would count 0"
    return Fault(cause, f"{text} ({failure.text})")


def _signal(status: int) -> str:
    return signal.Signals(-status).name
