"""Who is to blame if there is no ordinary result: the submission, the evaluator, or the machine."""

from __future__ import annotations

from dataclasses import dataclass

from trajectories.record.verdict import VerdictCause


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
