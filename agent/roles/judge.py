"""A model as a judge: it is asked, asked once more if the answer is malformed, and every request's cost is kept.

The protocol is in `trajectories.analysis.integrity.judge`. Each judge has a model of its own, because a model answers
one request at a time; judges may be asked in threads.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from agent.models.protocol import AssistantTurn, CallFailure, Completion, Model, Request
from agent.models.retries import RetryPolicy
from agent.roles.budget import JudgeBudget
from agent.trial.priced import CallPricing
from prompts import Prompt
from scoring.pricing.tables import PriceTable
from trajectories.analysis.integrity.judge import JudgeRequest, JudgeResult, MalformedAnswer, parse_answers
from trajectories.reading.tally import MAYBE_BILLED
from trajectories.record.events import Json, Message, ModelRef, RoleCallFinished
from trajectories.record.panel import VoteOutcome
from trajectories.record.texts.text import storable
from trajectories.record.usage import Costs

_TIMEOUT_S = 600.0
_ANSWERS = 2
"""Number of times that an answer is asked for, the first included."""


class ModelJudge:
    """Asks one model. A provider's failure never raises: it is part of the result."""

    def __init__(
        self, model: Model, prompt: Prompt, prices: PriceTable, budget: JudgeBudget, retries: RetryPolicy
    ) -> None:
        self._model = model
        self._prompt = prompt
        self._pricing = CallPricing(model.info, prices)
        self._budget = budget
        self._retries = retries

    @property
    def model(self) -> ModelRef:
        """The model that is asked."""
        return self._model.info.ref

    def judge(self, request: JudgeRequest) -> JudgeResult:
        """Return the model's answers, or the reason for having none."""
        history: list[Message | AssistantTurn] = [
            Message(id="m1", role="system", content=request.system, why="system"),
            Message(id="m2", role="user", content=request.case, why="task"),
        ]
        calls: list[int] = []
        for turn in range(1, _ANSWERS + 1):
            asked = self._ask(turn, history, request, calls)
            if asked is None:
                outcome: VoteOutcome = "not_asked" if not calls else "failed" if turn == 1 else "invalid"
                return JudgeResult(outcome, calls=tuple(calls))
            completion, result = asked
            try:
                answers = parse_answers(result.text or "", request.last_step)
            except MalformedAnswer as problem:
                request.journal.finished(result.model_copy(update={"status": "malformed", "detail": str(problem)}))
                again = self._prompt.render("again", problem=str(problem))
                history += [
                    AssistantTurn(f"m{len(history) + 1}", completion.reply),
                    Message(id=f"m{len(history) + 2}", role="user", content=again, why="format_error"),
                ]
            else:
                request.journal.finished(result)
                return JudgeResult("valid", answers, tuple(calls))
        return JudgeResult("invalid", calls=tuple(calls))

    def close(self) -> None:
        """Close the model."""
        self._model.close()

    def _ask(
        self, turn: int, history: Sequence[Message | AssistantTurn], request: JudgeRequest, calls: list[int]
    ) -> tuple[Completion, RoleCallFinished] | None:
        """Return one completed call with its result, which is not recorded yet, or None after retries as in a trial.

        The number of every request is added to `calls`.
        """
        try_ = 1
        while request.may_ask():
            calls.append(request.journal.started(self.model, _messages(history), try_))
            began = time.monotonic()
            try:
                completion = self._model.ask(Request(turn, try_, history, _TIMEOUT_S))
            except CallFailure as failure:
                request.journal.finished(self._failed(calls[-1], failure, time.monotonic() - began))
                wait_s = self._retries.wait_s(failure, try_)
                if wait_s is None or self._budget.stop.wait(wait_s):
                    return None
                try_ += 1
            else:
                return completion, self._completed(calls[-1], completion, time.monotonic() - began)
        return None

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


def _messages(history: Sequence[Message | AssistantTurn]) -> list[Json]:
    """Return the messages of a request, as they are kept with it."""
    return [
        {"role": "assistant", "content": storable(turn.reply.text)}
        if isinstance(turn, AssistantTurn)
        else {"role": turn.role, "content": turn.content}
        for turn in history
    ]
