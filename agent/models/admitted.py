"""A call on its way through the gate: admitted with its bound, and settled with what it used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from agent.models.protocol import CallFailure
from agent.trial.gate import CallBound, CallUse, Gate
from trajectories.interrupts import interruptible
from trajectories.reading.totals.tally import MAYBE_BILLED
from trajectories.record.events import FailureClass
from trajectories.record.usage import Costs, Usage

_PERMANENT: frozenset[FailureClass] = frozenset({"authentication", "not_found"})
"""Failures that every further call of the model will have."""


class AdmittedCall:
    """A call that may leave. It is settled once; until it has left, it has used nothing."""

    def __init__(self, gate: Gate, ticket: int, bound: CallBound) -> None:
        self.bound = bound
        """Its reservation."""
        self._gate = gate
        self._ticket = ticket
        self._use: CallUse | None = CallUse("failed", usd=0.0, tokens=0, detail="it did not leave")

    def leaves(self) -> None:
        """Note that the request leaves now, once its record is safe: from here on it may be billed.

        Raises: KeyboardInterrupt.
        """
        self._gate.leaves(self._ticket)
        self._use = CallUse("failed", detail="its outcome is unknown")

    def answered(self, usage: Usage | None, costs: Costs) -> None:
        """Settle a call that was answered."""
        self._settle(_used(CallUse("finished"), usage, costs))

    def failed(self, failure: CallFailure, usage: Usage | None, costs: Costs | None) -> None:
        """Settle a call that failed, with what is known of its usage and costs.

        A failure after which the provider may have billed keeps its reservation; any other one has used nothing.
        """
        use = CallUse(
            "failed",
            status=failure.status,
            retry_after_s=failure.retry_after_s,
            permanent=failure.error in _PERMANENT,
            detail=failure.detail,
        )
        if usage is not None or costs is not None:
            use = _used(use, usage, costs or Costs())
        elif failure.error not in MAYBE_BILLED:
            use = replace(use, usd=0.0, tokens=0)
        self._settle(use)

    def close(self) -> None:
        """Settle the call if nothing else has."""
        if self._use is not None:
            self._settle(self._use)

    def _settle(self, use: CallUse) -> None:
        self._use = None
        self._gate.settle(self._ticket, use)


def _used(use: CallUse, usage: Usage | None, costs: Costs) -> CallUse:
    if usage is None or usage.input is None or usage.output is None:
        return replace(use, usd=costs.best)
    return replace(
        use,
        usd=costs.best,
        tokens=usage.total,
        prompt_tokens=usage.prompt,
        cached_tokens=usage.cache_read,
    )


def taken(gate: Gate, bound: CallBound, ask: Callable[[], int | None]) -> AdmittedCall | None:
    """Return the call whose ticket `ask` gets; None if it gets none. A ticket that came with an interrupt is returned.

    Raises: Refused; KeyboardInterrupt.
    """
    ticket: int | None = None
    try:
        with interruptible():
            ticket = ask()
    except KeyboardInterrupt:
        if ticket is not None:
            AdmittedCall(gate, ticket, bound).close()
        raise
    return None if ticket is None else AdmittedCall(gate, ticket, bound)


@contextmanager
def until_settled(call: AdmittedCall | None) -> Iterator[None]:
    """Settle the call at the end, whatever happens. None stands for a call that passes no gate."""
    try:
        yield
    finally:
        if call is not None:
            call.close()
