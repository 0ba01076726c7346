"""Who is to blame if there is no ordinary result: the submission, the evaluator, or the machine."""

from __future__ import annotations

import errno
from dataclasses import dataclass

from environments.protocol import EnvironmentLost, EnvironmentUnavailable
from trajectories.record.verdict import VerdictCause

_OF_THE_HOST = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Error numbers of a machine that failed: its disk is full or broken, or it has no memory or file handles left."""


class EvaluatorFailed(Exception):
    """The evaluator or its infrastructure failed, not the submission; the message is one line."""


class HostFailed(EvaluatorFailed):
    """The machine failed: its disk is full, or its daemon does not answer."""


@dataclass(frozen=True)
class Fault:
    """The submission's own fault that decides its verdict in place of the tests."""

    cause: VerdictCause
    reason: str


class SubmissionFailed(Exception):
    """The submission ended its own evaluation: it scores 0."""

    def __init__(self, cause: VerdictCause, reason: str) -> None:
        super().__init__(reason)
        self.fault = Fault(cause, reason)


def cause_of(failure: Exception) -> VerdictCause:
    """Return the cause of a verdict with status "error": the machine, or the evaluator."""
    if isinstance(failure, OSError) and failure.errno in _OF_THE_HOST:
        return "host"
    return "host" if isinstance(failure, HostFailed | EnvironmentLost | EnvironmentUnavailable) else "evaluator"
