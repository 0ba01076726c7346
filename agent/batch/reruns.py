"""Decides what to do next with a unit, from what its records hold and how often it was started again.

Pure. A trial that has a snapshot is continued from it; one without starts again in a folder of its own. Both count as
reruns if infrastructure ended the trial: its environment, its worker, its disk, its provider or its evaluator. What a
user or a budget ended does not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trajectories.batches.events import How, Status
from trajectories.batches.results import UNREADABLE

FINAL = frozenset({"image_unusable", "agent_unusable", UNREADABLE})
"""Causes that a further try would meet again."""

Standing = Literal["none", "running", "open", "user", "infrastructure", "unevaluated", "evaluator_failed", "finished"]
"""Contents of the records of a unit: nothing; a trial that another process works on; one that nobody ended; one that
its user, a budget or infrastructure ended; one that lacks its verdict; one whose evaluation failed; or everything."""


@dataclass(frozen=True)
class Facts:
    """Facts from the records of a unit."""

    standing: Standing
    cause: str = ""
    """Cause of the exit, if there is one."""
    detail: str = ""
    can_continue: bool = False
    """True if its record holds a snapshot, or if it is a later turn of a chain."""


@dataclass(frozen=True)
class Past:
    """Events of this run that the records of the unit do not hold."""

    counted: int = 0
    """Number of resumes and reruns after infrastructure failures so far."""
    lost: str = ""
    """Reason for which its worker was lost, if it was."""
    defect: str = ""
    """The bug that ended its worker's thread, if one did."""
    stopped: str = ""
    """Reason for which its model gets no further call, if there is one."""
    is_stopping: bool = False
    """True if the user has stopped the batch."""
    had_worker: bool = False
    """False if nobody has worked on it in this run."""
    was_resumed: bool = False
    """True if the work on it was the continuation of its record."""


@dataclass(frozen=True)
class Next:
    """The next thing to do with a unit."""

    kind: Literal["work", "end", "later"]
    """`work`: hand it out. `end`: nothing more in this run. `later`: another process is at work on it; look again."""
    how: How = "fresh"
    counted: bool = False
    """True if the start counts as a rerun."""
    status: Status = "finished"
    cause: str = ""
    detail: str = ""


def next_of(facts: Facts, past: Past, reruns: int, *, evaluate: bool) -> Next:
    """Return what to do with a unit; `reruns` is the largest number of counted starts."""
    match facts.standing:
        case "finished":
            return _end("finished", facts)
        case "running":
            return Next("later")
        case "unevaluated" if not evaluate:
            return _end("finished", facts)
        case "none" if not past.had_worker:
            return Next("work", "fresh")
    if facts.standing == "user" and facts.cause == "budget" and past.had_worker:
        cause = "model_unavailable" if past.stopped else "budget"
        return _end("waiting", facts, cause, past.stopped or facts.detail)
    if past.stopped and facts.cause == "model_unavailable":
        return _end("waiting", facts, "model_unavailable", past.stopped)
    if past.is_stopping:
        return _end("interrupted", facts, facts.cause or "interrupted")
    how: How = "resume" if facts.can_continue or facts.standing == "unevaluated" else "rerun"
    if facts.standing == "none":
        how = "fresh"
    elif facts.standing == "evaluator_failed":
        how = "evaluate"
    if facts.cause in FINAL:
        return _end("failed", facts)
    failed = facts.standing in ("infrastructure", "evaluator_failed") or bool(past.lost or past.defect)
    if facts.standing == "unevaluated" and past.was_resumed:  # its evaluation ended without a verdict
        failed = True
    if not failed:
        return Next("work", how, cause=facts.cause)
    cause = facts.cause or ("worker_lost" if past.lost else "harness_defect")
    if past.counted >= reruns:
        return _end("failed", facts, cause, facts.detail or past.lost or past.defect)
    return Next("work", how, counted=True, cause=cause)


def _end(status: Status, facts: Facts, cause: str = "", detail: str = "") -> Next:
    return Next("end", status=status, cause=cause or facts.cause or facts.standing, detail=detail or facts.detail)
