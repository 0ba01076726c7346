"""A model as an expert: it answers the questions of an agent, one conversation for each trial.

The conversation follows from the record alone: task, then each question with the answers to it. So a trial that was
interrupted goes on with the same one.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.guidance.experts import Advice, Consultation, ExpertUnavailable
from agent.guidance.material import last_seen, shortened
from agent.models.protocol import AssistantTurn
from agent.roles.asking import Asker, Turns, conversation
from prompts import Prompt
from trajectories.analysis.integrity.judge import NOTHING, Journal, Reserved
from trajectories.record.events import (
    Answered,
    Guidance,
    Json,
    Message,
    ModelRef,
    Reply,
    RoleCallFinished,
)

_REPLIES = 3
"""Number of times that a reply is asked for until one holds a text."""


class ModelExpert:
    """Implements `Expert` with a model."""

    def __init__(self, asker: Asker, prompt: Prompt, guidance: Guidance, instruction: str, solution: str) -> None:
        self.guidance = guidance
        self.inputs: tuple[bytes, ...] = (prompt.data,)
        self._asker = asker
        self._prompt = prompt
        self._task = prompt.render("task", instruction=instruction.strip(), solution=solution)
        self._system = prompt.render("system", rule=guidance.rule, solution_shown=bool(solution))

    def check(self) -> None:
        """See `Expert`; the model was checked when it was made."""

    def answer(self, consultation: Consultation) -> Advice:
        """See `Expert`. A context that is too long for the model, and an empty reply, are no answer."""
        history = self._conversation(consultation)
        journal = _Watched(consultation.journal)
        for _ in range(_REPLIES):
            replies = sum(isinstance(turn, AssistantTurn) for turn in history)
            reply = self._asker.ask(replies + 1, history, journal, gate=consultation.gate)
            if reply.result is None:
                if journal.last is not None and journal.last.error == "context_overflow":
                    return Advice()
                detail = "" if journal.last is None else f": {journal.last.error}: {journal.last.detail}"
                raise ExpertUnavailable(f"the expert {self._asker.model.asked} cannot be asked{detail}")
            if reply.text.strip():
                journal.finished(reply.result)
                return Advice(reply.text, reply.calls[-1])
            journal.finished(reply.malformed("the reply holds no answer"))
            history += reply.asked_again(history, self._prompt.render("again", line=None, broken=None))
        return Advice()

    def close(self) -> None:
        """See `Expert`."""
        self._asker.close()

    def _conversation(self, consultation: Consultation) -> Turns:
        history = conversation(self._system, self._task)
        current = consultation.asked.question
        asked = None
        for question, answer in consultation.answers:
            if answer.call is None:
                continue  # nobody answered
            if question.question != asked:
                asked = question.question
                seen = last_seen(consultation.turns) if asked == current else []
                history.append(self._message(history, "question", question=shortened(question.text), seen=seen))
            history.append(AssistantTurn(f"m{len(history) + 1}", Reply(text=answer.text)))
            if answer.status == "refused":
                history.append(self._again(history, answer))
        if asked != current:
            text = shortened(consultation.asked.text)
            history.append(self._message(history, "question", question=text, seen=last_seen(consultation.turns)))
        return history

    def _again(self, history: Turns, answer: Answered) -> Message:
        return self._message(history, "again", line=answer.line, broken=answer.broken)

    def _message(self, history: Turns, key: str, **values: object) -> Message:
        return Message(id=f"m{len(history) + 1}", role="user", content=self._prompt.render(key, **values), why="task")


class _Watched:
    """A journal that remembers the last result. Implements `Journal`."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.last: RoleCallFinished | None = None

    def started(self, model: ModelRef, messages: Sequence[Json], try_: int, reserved: Reserved = NOTHING) -> int:
        """See `Journal`."""
        return self._journal.started(model, messages, try_, reserved)

    def finished(self, result: RoleCallFinished) -> None:
        """See `Journal`."""
        self.last = result
        self._journal.finished(result)
