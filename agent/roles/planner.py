"""A model or a person that writes a plan for a task from its instruction and the listing of its workspace.

A reply that is empty or breaks the rule is asked for again, with the line named. Every request is a priced, recorded
role call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.errors import MachineError
from agent.roles.asking import Asker, Turns, conversation
from agent.roles.calls import PurposeJournal, RoleCalls
from prompts import Prompt
from trajectories.record.events import Purpose, TextRef
from trajectories.record.interventions import CodeRule
from trajectories.writing import excerpts

REPLIES = 3
"""Number of times that a plan is asked for, the first included."""


@dataclass(frozen=True)
class PlanRequest:
    """Everything that a planner is told."""

    instruction: str
    workdir: str
    listing: str
    left_out: int
    """Number of paths that the listing leaves out."""


@dataclass(frozen=True)
class PlanCheck:
    """What a plan is checked by."""

    rule: CodeRule
    language: str | None
    solution: Path | None
    """The task's reference solution, from which a plan must not copy. The planner does not see it."""


@dataclass(frozen=True)
class PlanConversation:
    """The conversation with a planner, and how often it was asked."""

    history: Turns
    replies: int = 0
    """Number of replies so far, none of which can be used."""
    tries: int = 0
    """Number of requests for the next reply so far."""


def first_messages(prompt: Prompt, request: PlanRequest, rule: CodeRule) -> PlanConversation:
    """Return the conversation before the first request."""
    return PlanConversation(
        conversation(
            prompt.render("system", rule=rule),
            prompt.render(
                "task",
                instruction=request.instruction,
                workdir=request.workdir,
                listing=request.listing,
                left_out=request.left_out,
            ),
        )
    )


def ask_for_plan(
    asker: Asker,
    prompt: Prompt,
    check: PlanCheck,
    asked: PlanConversation,
    calls: RoleCalls,
    say: Callable[[str], None],
) -> None:
    """Ask until a plan can be used; the record then holds it. `say` shows the reason for which it is asked for again.

    Raises: MachineError if no reply can be used; KeyboardInterrupt; RecordFull.
    """
    journal = PurposeJournal(calls, "planner", Purpose(plan=1), TextRef(name=prompt.name, sha256=prompt.sha256))
    history, tries, problem = list(asked.history), asked.tries, ""
    for turn in range(asked.replies + 1, REPLIES + 1):
        reply = asker.ask(turn, history, journal, tries=tries)
        tries = 0
        if reply.result is None:
            raise MachineError(f"{asker.model.asked} gave no plan: {reply.failure or 'it was not asked'}")
        flaw = flaw_of(reply.text, check)
        if flaw is None:
            journal.finished(reply.result)
            return
        refused = bool(reply.result.refusal) and not reply.text.strip()
        problem = f"the model refused: {excerpts.on_one_line(reply.result.refusal)}" if refused else flaw.problem
        journal.finished(reply.malformed(problem))
        say(f"reply {turn} of at most {REPLIES} cannot be used: {problem}")
        history += reply.asked_again(history, flaw.told(prompt))
    raise MachineError(f"{asker.model.asked} gave no plan in {REPLIES} replies; in the last, {problem}")


@dataclass(frozen=True)
class Flaw:
    """What is wrong with a reply."""

    problem: str
    line: str | None = None
    """Line that breaks the rule, if one does."""
    line_number: int | None = None

    def told(self, prompt: Prompt) -> str:
        """Return the message that asks again."""
        return prompt.render("again", line=self.line, line_number=self.line_number)


def flaw_of(text: str, by: PlanCheck) -> Flaw | None:
    """Return what is wrong with a reply as a plan; None if it can be used."""
    if not text.strip():
        return Flaw("the plan is empty")
    if by.rule == "none":
        return None
    from agent.guidance.no_code import check

    violation = check(text, language=by.language, solution=by.solution)
    if violation is None:
        return None
    line = excerpts.on_one_line(violation.line)
    problem = f"line {violation.line_number} breaks the rule no-code ({violation.rule}): {line}"
    return Flaw(problem, violation.line, violation.line_number)
