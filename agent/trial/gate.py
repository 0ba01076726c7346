"""The gate that every paid call passes, and every evaluation: where trials that run side by side share what is scarce.

A trial that runs alone passes at once. In a batch the coordinator holds one budget and the concurrency of each provider
over all workers: a call leaves when its largest possible cost fits into what is left. A call that may have been billed
keeps its reservation until its true cost is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class CallBound:
    """The most that one call can use. None is unknown: nothing bounds it."""

    usd: float | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class CallUse:
    """Use of a call that has ended. None is unknown: the reservation is kept."""

    outcome: Literal["finished", "failed"]
    usd: float | None = None
    tokens: int | None = None
    prompt_tokens: int | None = None
    """Part of `tokens` that was sent."""
    cached_tokens: int | None = None
    """Part of `prompt_tokens` that was read from the provider's cache."""
    status: int | None = None
    """HTTP status of a failure."""
    retry_after_s: float | None = None
    permanent: bool = False
    """True for a failure that every further call of this model will have: a wrong key, no such model, no access."""
    detail: str = ""


class Refused(Exception):
    """The gate will not let the call pass. `str()` is the reason for people."""

    def __init__(self, cause: Literal["budget", "model_unavailable"], reason: str) -> None:
        super().__init__(reason)
        self.cause: Literal["budget", "model_unavailable"] = cause


class Gate(Protocol):
    """Asked by a trial before it uses something that it shares with others."""

    def admit(self, model: str, bound: CallBound) -> int:
        """Wait until a call of this model (a litellm name) may leave, and return its ticket.

        Called in an interruptible place. Raises: Refused; KeyboardInterrupt.
        """

    def may_leave(self, model: str, bound: CallBound) -> int | None:
        """Return a ticket if the call may leave at once, otherwise None: `admit` would wait or refuse."""

    def leaves(self, ticket: int) -> None:
        """Wait until the record of an admitted call is safe. Called when it is synced, right before the request leaves.

        Only a worker on another machine waits: for its record in the batch folder. Raises: KeyboardInterrupt.
        """

    def settle(self, ticket: int, use: CallUse) -> None:
        """Report what a call used. Called once for each ticket; never waits."""

    def evaluation(self) -> AbstractContextManager[None]:
        """Wait for a free place among the evaluations of this machine, and hold it. Raises: KeyboardInterrupt."""


class OpenGate:
    """Implements `Gate` for a trial that shares nothing."""

    def admit(self, model: str, bound: CallBound) -> int:
        """See `Gate`."""
        return 0

    def may_leave(self, model: str, bound: CallBound) -> int | None:
        """See `Gate`."""
        return 0

    def leaves(self, ticket: int) -> None:
        """See `Gate`."""

    def settle(self, ticket: int, use: CallUse) -> None:
        """See `Gate`."""

    @contextmanager
    def evaluation(self) -> Iterator[None]:
        """See `Gate`."""
        yield


OPEN_GATE: Gate = OpenGate()
