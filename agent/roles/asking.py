"""One priced, recorded request of a role beside a trial: a judge's, a planner's or an expert's.

A request is recorded before it leaves and again with its result. A failed one is tried again as in a trial.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent.errors import UserError
from agent.models.admitted import AdmittedCall, taken, until_settled
from agent.models.call_bounds import CallBounds
from agent.models.protocol import AssistantTurn, CallFailure, Completion, Model, Request
from agent.models.retries import RetryPolicy
from agent.roles.budget import RoleBudget
from agent.trial.gate import OPEN_GATE, Gate
from agent.trial.priced import CallPricing
from agent.trial.sources import USER_FILES, Sources
from scoring.pricing.tables import PriceTable
from trajectories.analysis.integrity.judge import NOTHING, Journal, Reserved
from trajectories.interrupts import interruptible
from trajectories.reading.totals.tally import MAYBE_BILLED
from trajectories.record.events import Json, Message, ModelRef, RoleCallFinished
from trajectories.record.texts.text import storable
from trajectories.record.usage import Costs

_TIMEOUT_S = 600.0

Turns = list[Message | AssistantTurn]
"""The conversation with a role's model."""


@dataclass(frozen=True)
class RoleReply:
    """Result of asking. The result of a completed call is not recorded yet: the caller may find it malformed."""

    calls: tuple[int, ...]
    """Numbers of the role calls, in order."""
    completion: Completion | None = None
    result: RoleCallFinished | None = None
    """Result of the last call if a reply came; otherwise every call is recorded."""
    failure: str = ""
    """Description of the last failure if no reply came; empty if no call was made."""

    @property
    def text(self) -> str:
        """Text of the reply; empty without one."""
        return self.result.text or "" if self.result is not None else ""

    def malformed(self, detail: str) -> RoleCallFinished:
        """Return the result of a reply that cannot be used."""
        assert self.result is not None
        return self.result.model_copy(update={"status": "malformed", "detail": storable(detail)})

    def asked_again(self, history: Sequence[Message | AssistantTurn], text: str) -> Turns:
        """Return the reply and a message that asks again, which continue a conversation."""
        assert self.completion is not None
        return [
            AssistantTurn(f"m{len(history) + 1}", self.completion.reply),
            Message(id=f"m{len(history) + 2}", role="user", content=text, why="format_error"),
        ]


class Asker:
    """Asks one model in a role. A provider's failure never raises: it is recorded and part of the reply.

    A model answers one request at a time. Different askers may be used in different threads.
    """

    def __init__(
        self, model: Model, prices: PriceTable, budget: RoleBudget, retries: RetryPolicy | None = None
    ) -> None:
        self._model = model
        self._prices = prices
        self._pricing = CallPricing(model.info, prices)
        self._budget = budget
        self._retries = retries or RetryPolicy()

    @property
    def model(self) -> ModelRef:
        """The model that is asked."""
        return self._model.info.ref

    @property
    def is_free(self) -> bool:
        """True if calls cost nothing, as those of a script."""
        return self._model.info.free is not None

    @property
    def versions(self) -> dict[str, str]:
        """Versions of the packages that ask the model."""
        return self._model.info.versions

    def ask(
        self,
        turn: int,
        history: Sequence[Message | AssistantTurn],
        journal: Journal,
        may_ask: Callable[[], bool] | None = None,
        tries: int = 0,
        gate: Gate = OPEN_GATE,
    ) -> RoleReply:
        """Ask once, and again after failures as in a trial; `may_ask` is called before each request.

        `turn` is the number of the reply that is asked for, from 1, and `tries` the number of requests for it before
        the record was continued, which do not count against the retries. Each request passes the gate. An interrupt
        cuts a request off, which is recorded.

        Raises: KeyboardInterrupt; Ended, RecordFull, Refused.
        """
        calls: list[int] = []
        detail = ""
        while (may_ask or self._budget.may_ask)():
            try_ = len(calls) + 1
            request = Request(turn, try_, history, _TIMEOUT_S)
            passed = self._admitted(gate, history)
            with until_settled(passed):
                answer = self._asked(request, journal, tries + try_, passed, calls)
            if not isinstance(answer, CallFailure):
                return RoleReply(tuple(calls), *answer)
            detail = f"{answer.error}: {storable(answer.detail)}"
            wait_s = self._retries.wait_s(answer, try_)
            if wait_s is None or self._waited(wait_s):
                break
        return RoleReply(tuple(calls), failure=detail)

    def _admitted(self, gate: Gate, history: Sequence[Message | AssistantTurn]) -> AdmittedCall | None:
        """Wait until a request may leave, and return it; None if it passes no gate.

        Raises: Refused, KeyboardInterrupt.
        """
        if self.is_free or gate is OPEN_GATE:
            return None
        bound = CallBounds(self._model.info, self._prices).next(history)
        return taken(gate, bound, lambda: gate.admit(self.model.name, bound))

    def _asked(
        self, request: Request, journal: Journal, try_: int, passed: AdmittedCall | None, calls: list[int]
    ) -> tuple[Completion, RoleCallFinished] | CallFailure:
        """Make one request, and return the reply with its result, which is not recorded yet, or the failure.

        Raises: KeyboardInterrupt; Ended, RecordFull.
        """
        reserved = NOTHING if passed is None else Reserved(passed.bound.usd, passed.bound.tokens)
        call = journal.started(self.model, _messages(request.history), try_, reserved)
        calls.append(call)
        completion: Completion | None = None
        began = time.monotonic()
        try:
            with interruptible():
                if passed is not None:
                    passed.leaves()
                completion = self._model.ask(request)
        except CallFailure as failure:
            result = self._failed(call, failure, time.monotonic() - began)
            journal.finished(result)
            if passed is not None:
                passed.failed(failure, result.usage, self._pricing.failure_costs(failure))
            return failure
        except KeyboardInterrupt:
            result = self._interrupted(call, completion, time.monotonic() - began)
            journal.finished(result)
            if passed is not None and completion is not None:
                passed.answered(result.usage, result.costs or Costs())
            raise
        result = self._completed(call, completion, time.monotonic() - began)
        if passed is not None:
            passed.answered(result.usage, result.costs or Costs())
        return completion, result

    def close(self) -> None:
        """Close the model."""
        self._model.close()

    def _waited(self, seconds: float) -> bool:
        """Wait before the next try; return True if the user interrupts the command meanwhile.

        Raises: KeyboardInterrupt in the main thread.
        """
        with interruptible():
            return self._budget.stop.wait(seconds)

    def _completed(self, call: int, completion: Completion, latency_s: float) -> RoleCallFinished:
        costs = self._pricing.costs(completion.usage, served=completion.model_served, billed_usd=completion.billed_usd)
        self._budget.pay(costs)
        return RoleCallFinished(
            call=call,
            status="answered",
            text=storable(completion.reply.text),
            refusal=storable(completion.reply.refusal),
            usage_raw=completion.usage_raw,
            usage=completion.usage,
            costs=costs,
            model_served=completion.model_served,
            latency_s=latency_s,
        )

    def _failed(self, call: int, failure: CallFailure, latency_s: float) -> RoleCallFinished:
        costs = self._pricing.failure_costs(failure)
        if costs is None and failure.error in MAYBE_BILLED:
            costs = Costs()
        self._budget.pay(costs)
        return RoleCallFinished(
            call=call,
            status="failed",
            error=failure.error,
            detail=storable(failure.detail),
            usage_raw=failure.usage_raw,
            usage=failure.usage,
            costs=costs,
            latency_s=latency_s,
        )

    def _interrupted(self, call: int, completion: Completion | None, latency_s: float) -> RoleCallFinished:
        if completion is not None:  # the signal came with the reply
            return self._completed(call, completion, latency_s)
        costs = self._model.info.free or Costs()
        self._budget.pay(costs)
        return RoleCallFinished(
            call=call,
            status="cut_off",
            error="interrupted",
            detail="interrupted by the user",
            costs=costs,
            latency_s=latency_s,
        )


def make_asker(
    name: str,
    *,
    option: str,
    settings: Mapping[str, object],
    api_base: str | None,
    prices: PriceTable,
    budget: RoleBudget,
    sources: Sources = USER_FILES,
) -> Asker:
    """Return an asker of a provider's model or a script, which `option` named, after checking it.

    Raises: UserError naming the option.
    """
    from agent.models.choose import SCRIPT, make_model
    from agent.models.protocol import ModelUnusable

    is_script = name.startswith(SCRIPT)
    try:
        model = make_model(
            name,
            settings={} if is_script else {"action": "fenced", **settings},
            api_base=None if is_script else api_base,
            sources=sources,
        )
        sources.check_model(model)
    except ModelUnusable as error:
        raise UserError(f"{option} {name}: {error}") from None
    return Asker(model, prices, budget)


def conversation(system: str, text: str) -> Turns:
    """Return the beginning of a conversation with a role's model."""
    return [
        Message(id="m1", role="system", content=system, why="system"),
        Message(id="m2", role="user", content=text, why="task"),
    ]


def _messages(history: Sequence[Message | AssistantTurn]) -> list[Json]:
    """Return the messages of a request, as they are kept with it."""
    return [
        {"role": "assistant", "content": storable(turn.reply.text)}
        if isinstance(turn, AssistantTurn)
        else {"role": turn.role, "content": turn.content}
        for turn in history
    ]
