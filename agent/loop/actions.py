"""Parses a reply into the commands that it asks for.

Pure. The only kind of action is a bash command, given in calls of the `bash` tool or in one fenced block.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from agent.loop.fences import NoCommand, command_in
from agent.models.protocol import ActionFormat, Fence
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
class Malformed:
    """Something that should have been a command; `problem` completes "the reply was not usable: ..."."""

    problem: str
    tool_call_id: str | None = None


def nearly_submits(script: str) -> bool:
    """Report if a command holds the end marker and does not submit."""
    return _MARKER in script and script.strip() != SUBMIT


def means_to_submit(reply: Reply) -> bool:
    """Report if a reply without a usable command holds the end marker."""
    return _MARKER in reply.text or any(_MARKER in call.arguments for call in reply.tool_calls)


def parse(
    reply: Reply, action_format: ActionFormat, finish_reason: str | None, fence: Fence
) -> list[Command | Malformed]:
    """Return the commands of a reply, in order: at least one item, malformed ones included.

    `fence` is the prompt's rule for commands in a text.
    """
    cut_off = " (the reply was cut off at the output limit)" if finish_reason == "length" else ""
    if action_format == "tool":
        if not reply.tool_calls:
            return [Malformed(f"it holds no call of the bash tool{cut_off}")]
        return [_tool_command(call, cut_off) for call in reply.tool_calls]
    try:
        return [Command(command_in(reply.text, fence, cut_off=finish_reason == "length"))]
    except NoCommand as problem:
        return [Malformed(f"{problem}{cut_off}")]


def _tool_command(call: ToolCall, cut_off: str) -> Command | Malformed:
    if call.name != "bash":
        return Malformed(f"there is no tool {call.name!r}, only bash", call.id)
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError) as error:
        return Malformed(f"the arguments are no valid JSON: {error}{cut_off}", call.id)
    command = arguments.get("command") if isinstance(arguments, dict) else None
    if not isinstance(command, str):
        return Malformed('the arguments must be {"command": "..."} with a text', call.id)
    return Command(command, call.id)
