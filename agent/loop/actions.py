"""Parses a reply into the actions that it asks for.

Pure. An action is a bash command, given in calls of the `bash` tool or in one fenced block, or, if the model may ask an
expert, one question: a call of the `ask` tool or a fenced block of its own, alone in its reply.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from agent.loop.fences import NOT_ALONE, NoCommand, command_in, question_in
from agent.models.protocol import ActionFormat, Fence
from agent.models.tools import ASK, BASH, COMMAND, QUESTION
from trajectories.record.events import Reply, ToolCall

SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""A command that is exactly this, without surrounding blanks, ends the trial and is not executed."""
_MARKER = "COMPLETE_TASK_AND_SUBMIT"
"""The beginning of the end marker, which no command needs for anything else."""


@dataclass(frozen=True)
class Command:
    """A command to run, and the tool call that asks for it."""

    script: str
    tool_call_id: str | None = None

    @property
    def submits(self) -> bool:
        """Report if the command is the end marker."""
        return self.script.strip() == SUBMIT


@dataclass(frozen=True)
class Question:
    """A question to the expert, and the tool call that asks it."""

    text: str
    tool_call_id: str | None = None


@dataclass(frozen=True)
class Malformed:
    """Something that should have been an action; `problem` completes "the reply was not usable: ..."."""

    problem: str
    tool_call_id: str | None = None


def nearly_submits(script: str) -> bool:
    """Report if a command holds the end marker and does not submit."""
    return _MARKER in script and script.strip() != SUBMIT


def means_to_submit(reply: Reply) -> bool:
    """Report if a reply without a usable command holds the end marker."""
    return _MARKER in reply.text or any(_MARKER in call.arguments for call in reply.tool_calls)


Action = Command | Question | Malformed


def parse(reply: Reply, action_format: ActionFormat, finish_reason: str | None, fence: Fence) -> list[Action]:
    """Return the actions of a reply, in order: at least one item, malformed ones included.

    `fence` is the prompt's rule for actions in a text, and tells if the model may ask.
    """
    cut_off = " (the reply was cut off at the output limit)" if finish_reason == "length" else ""
    if action_format == "tool":
        if not reply.tool_calls:
            return [Malformed(f"it holds no call of the bash tool{cut_off}")]
        if fence.asks is not None and len(reply.tool_calls) > 1 and any(call.name == ASK for call in reply.tool_calls):
            return [Malformed(NOT_ALONE, call.id) for call in reply.tool_calls]
        return [_tool_action(call, cut_off, may_ask=fence.asks is not None) for call in reply.tool_calls]
    try:
        question = question_in(reply.text, fence, cut_off=finish_reason == "length")
        if question is not None:
            return [_question(question)]
        return [Command(command_in(reply.text, fence, cut_off=finish_reason == "length"))]
    except NoCommand as problem:
        return [Malformed(f"{problem}{cut_off}")]


def _tool_action(call: ToolCall, cut_off: str, *, may_ask: bool) -> Action:
    arguments_of = {BASH: COMMAND} | ({ASK: QUESTION} if may_ask else {})
    if call.name not in arguments_of:
        return Malformed(f"there is no tool {call.name!r}, only {' and '.join(arguments_of)}", call.id)
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError) as error:
        return Malformed(f"the arguments are no valid JSON: {error}{cut_off}", call.id)
    argument = arguments_of[call.name]
    text = arguments.get(argument) if isinstance(arguments, dict) else None
    if not isinstance(text, str):
        return Malformed(f'the arguments must be {{"{argument}": "..."}} with a text', call.id)
    return Command(text, call.id) if call.name == BASH else _question(text, call.id)


def _question(text: str, tool_call_id: str | None = None) -> Question | Malformed:
    return Question(text, tool_call_id) if text.strip() else Malformed("its question is empty", tool_call_id)
