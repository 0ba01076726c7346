"""A model as a judge: asks it, asks once more where the answer is malformed, and keeps what every request cost.

The protocol is `trajectories.analysis.integrity.judge`. One judge has one model of its own, since a model answers one
request at a time; judges may be asked in threads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from agent.errors import UserError
from agent.models.protocol import AssistantTurn, CallFailure, Completion, Model, Request
from agent.models.retries import RetryPolicy
from prompts import Prompt
from scoring.pricing.cost import price_call
from scoring.pricing.tables import PriceTable
from trajectories.analysis.integrity.judge import Judge, JudgeRequest, JudgeResult, MalformedAnswer, parse_answers
from trajectories.reading.tally import MAYBE_BILLED
from trajectories.record.events import Ask, Message, ModelRef
from trajectories.record.panel import INTEGRITY
from trajectories.record.text import storable
from trajectories.record.usage import Costs

JUDGES = 9
_TIMEOUT_S = 600.0
_ASKED = 2
"""Times that an answer is asked for, the first included."""


@dataclass
class Purse:
    """What all judges of a call may spend together, and whether they shall stop. Shared by threads."""

    limit_usd: float | None = None
    spent_usd: float = 0.0
    """As far as known."""
    unpriced: int = 0
    """Requests that may have been billed and whose cost nobody knows."""
    stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def may_ask(self) -> bool:
        """Whether another request may leave: those under way at this moment are not known yet."""
        with self._lock:
            return not self.stop.is_set() and (self.limit_usd is None or self.spent_usd < self.limit_usd)

    def pay(self, costs: Costs | None) -> None:
        """Count one request."""
        if costs is None:
            return
        with self._lock:
            self.unpriced += costs.best is None
            self.spent_usd += costs.best or 0.0


class ModelJudge:
    """Asks one model; never raises for what a provider does."""

    def __init__(self, model: Model, prompt: Prompt, prices: PriceTable, purse: Purse, retries: RetryPolicy) -> None:
        self._model = model
        self._prompt = prompt
        self._prices = prices
        self._purse = purse
        self._retries = retries

    @property
    def model(self) -> ModelRef:
        """What is asked."""
        return self._model.info.ref

    def judge(self, sitting: JudgeRequest) -> JudgeResult:
        """Its answers, or why there are none."""
        history: list[Message | AssistantTurn] = [
            Message(id="m1", role="system", content=sitting.system, why="system"),
            Message(id="m2", role="user", content=sitting.case, why="task"),
        ]
        asks: list[Ask] = []
        for turn in range(1, _ASKED + 1):
            reply = self._ask(turn, history, sitting, asks)
            if reply is None:
                return JudgeResult("not_asked" if not asks else "failed" if turn == 1 else "invalid", asks=tuple(asks))
            try:
                answers = parse_answers(asks[-1].text or "", sitting.last_step)
            except MalformedAnswer as problem:
                asks[-1] = asks[-1].model_copy(update={"malformed": str(problem)})
                again = self._prompt.render("again", problem=str(problem))
                history += [
                    AssistantTurn(f"m{len(history) + 1}", reply.reply),
                    Message(id=f"m{len(history) + 2}", role="user", content=again, why="format_error"),
                ]
            else:
                return JudgeResult("valid", answers, tuple(asks))
        return JudgeResult("invalid", asks=tuple(asks))

    def close(self) -> None:
        """Close the model."""
        self._model.close()

    def _ask(
        self, turn: int, history: Sequence[Message | AssistantTurn], sitting: JudgeRequest, asks: list[Ask]
    ) -> Completion | None:
        """One reply, with retries as in a trial; None if none came. Every request joins `asks`."""
        try_ = 1
        while sitting.may_ask():
            began = time.monotonic()
            try:
                reply = self._model.ask(Request(turn, try_, history, _TIMEOUT_S))
            except CallFailure as failure:
                asks.append(self._failed(failure, time.monotonic() - began))
                wait_s = self._retries.wait_s(failure, try_)
                if wait_s is None or self._purse.stop.wait(wait_s):
                    return None
                try_ += 1
            else:
                asks.append(self._answered(reply, time.monotonic() - began))
                return reply
        return None

    def _answered(self, reply: Completion, latency_s: float) -> Ask:
        ask = Ask(
            text=storable(reply.reply.text),
            refusal=storable(reply.reply.refusal),
            usage_raw=reply.usage_raw,
            usage=reply.usage,
            costs=self._model.info.free
            or price_call(
                reply.usage,
                self._prices,
                requested=self.model.name,
                served=reply.model_served,
                billed_usd=reply.billed_usd,
                service_tier=self._service_tier,
            ),
            model_served=reply.model_served,
            latency_s=latency_s,
        )
        self._purse.pay(ask.costs)
        return ask

    def _failed(self, failure: CallFailure, latency_s: float) -> Ask:
        costs = self._model.info.free
        if costs is None and (failure.usage is not None or failure.billed_usd is not None):
            costs = price_call(
                failure.usage,
                self._prices,
                requested=self.model.name,
                served=None,
                billed_usd=failure.billed_usd,
                service_tier=self._service_tier,
            )
        elif costs is None and failure.error in MAYBE_BILLED:
            costs = Costs()
        self._purse.pay(costs)
        return Ask(
            error=failure.error,
            detail=storable(failure.detail),
            usage_raw=failure.usage_raw,
            usage=failure.usage,
            costs=costs,
            latency_s=latency_s,
        )

    @property
    def _service_tier(self) -> str | None:
        tier = self._model.info.parameters.get("service_tier")
        return tier if isinstance(tier, str) else None


@dataclass(frozen=True)
class Bench:
    """The judges of a call and what they share; judge k of a panel has the model that is k-th in turn."""

    judges: Sequence[Judge]
    prompt: Prompt
    prices: PriceTable
    purse: Purse

    def close(self) -> None:
        """Close every judge."""
        for judge in self.judges:
            with suppress(Exception):
                judge.close()


def make_bench(
    models: Sequence[str],
    judges: int,
    *,
    settings: Mapping[str, object],
    api_base: str | None,
    cost_limit_usd: float | None,
) -> Bench:
    """The judges, dealt round-robin over the models and checked, none of them asked.

    Raises: UserError, one line: which model or limit, and what to do.
    """
    from agent.models.choose import HUMAN, REPLAY, SCRIPT, make_model
    from agent.models.protocol import ModelUnusable
    from prompts import load_judging
    from scoring.pricing.tables import wheel_prices

    if len(models) > judges:
        raise UserError(f"--judges {judges}: too few for {len(models)} models; {models[-1]} would never be asked")
    prices, purse, prompt = wheel_prices(), Purse(cost_limit_usd), load_judging(INTEGRITY)
    found: list[Judge] = []
    for number in range(judges):
        asked = models[number % len(models)]
        if asked == HUMAN or asked.startswith(REPLAY):
            raise UserError(f"--judge-model {asked}: judges are models (`agent models list`) or {SCRIPT}FILE")
        ours = {} if asked.startswith(SCRIPT) else {"action": "fenced", **settings}
        try:
            model = make_model(asked, settings=ours, api_base=None if asked.startswith(SCRIPT) else api_base)
            model.check()
        except ModelUnusable as error:
            raise UserError(f"--judge-model {asked}: {error}") from None
        if cost_limit_usd is not None and model.info.free is None and prices.row(model.info.ref.name) is None:
            raise UserError(
                f"--judge-cost-limit {cost_limit_usd:g}: {model.info.ref.name!r} has no price in {prices.source}, so "
                "the limit could not be kept; leave it out, or name a model that has one"
            )
        found.append(ModelJudge(model, prompt, prices, purse, RetryPolicy()))
    return Bench(found, prompt, prices, purse)
