"""A model as a judge: it is asked, asked once more if the answer is malformed, and every request's cost is kept.

The protocol is in `trajectories.analysis.integrity.judge`. Each judge has a model of its own, because a model answers
one request at a time; judges may be asked in threads.
"""

from __future__ import annotations

from agent.roles.asking import Asker, conversation
from prompts import Prompt
from trajectories.analysis.integrity.judge import JudgeRequest, JudgeResult, MalformedAnswer, parse_answers
from trajectories.record.events import ModelRef
from trajectories.record.panel import VoteOutcome

_ANSWERS = 2
"""Number of times that an answer is asked for, the first included."""


class ModelJudge:
    """Asks one model. A provider's failure never raises: it is part of the result."""

    def __init__(self, asker: Asker, prompt: Prompt) -> None:
        self._asker = asker
        self._prompt = prompt

    @property
    def model(self) -> ModelRef:
        """The model that is asked."""
        return self._asker.model

    def judge(self, request: JudgeRequest) -> JudgeResult:
        """Return the model's answers, or the reason for having none."""
        history = conversation(request.system, request.case)
        calls: list[int] = []
        for turn in range(1, _ANSWERS + 1):
            reply = self._asker.ask(turn, history, request.journal, request.may_ask)
            calls += reply.calls
            if reply.result is None:
                outcome: VoteOutcome = "not_asked" if not calls else "failed" if turn == 1 else "invalid"
                return JudgeResult(outcome, calls=tuple(calls))
            try:
                answers = parse_answers(reply.text, request.last_step)
            except MalformedAnswer as problem:
                request.journal.finished(reply.malformed(str(problem)))
                history += reply.asked_again(history, self._prompt.render("again", problem=str(problem)))
            else:
                request.journal.finished(reply.result)
                return JudgeResult("valid", answers, tuple(calls))
        return JudgeResult("invalid", calls=tuple(calls))

    def close(self) -> None:
        """Close the model."""
        self._asker.close()
