"""What an expert sees of a trial: the agent's last commands with their results, and the task's reference solution.

Hidden tests are never read: the only files that are opened are those of the solution.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass

from agent.models.protocol import AssistantTurn
from agent.models.tools import COMMAND
from benchmarks.task import taskdir, tree
from benchmarks.task.task import Task
from trajectories.plain_files import read_plain
from trajectories.record.events import Message, Reply
from trajectories.record.texts.text import cut_middle, storable

LAST_OBSERVATIONS = 20
_QUESTION_CHARACTERS = 10_000
"""Longest question that is passed on whole: a reply may be as long as the model's output limit."""
_SOLUTION_CHARACTERS = 200_000
"""Longest part of a solution that a model is shown."""


@dataclass(frozen=True)
class Seen:
    """A command of the agent, and the result as the agent was told it."""

    command: str
    result: str


def last_seen(turns: Sequence[Message | AssistantTurn], count: int = LAST_OBSERVATIONS) -> list[Seen]:
    """Return the last observations of a conversation, the newest at the end."""
    seen: list[Seen] = []
    waiting: list[Message] = []
    for turn in reversed(turns):
        if isinstance(turn, Message):
            if turn.why == "observation":
                waiting.append(turn)
            continue
        seen += [Seen(_command(turn.reply, message.tool_call_id), message.content) for message in waiting]
        waiting = []
        if len(seen) >= count:
            break
    return seen[:count][::-1]


def shortened(question: str) -> str:
    """Return a question as it is passed on."""
    return cut_middle(question, _QUESTION_CHARACTERS)


def solution_text(task: Task) -> str:
    """Return the files of the task's reference solution as one text; empty if there is none to show."""
    source = task.reference
    if source is None or not source.exists():
        return ""
    files = tree.of_file(source) if source.is_file() else tree.scan(source, taskdir.CACHES)
    parts = []
    left = _SOLUTION_CHARACTERS
    for entry in files.entries:
        if entry.type != "file":
            continue
        name = os.fsdecode(entry.path)
        try:
            text = read_plain(files.root / name).decode()
        except (OSError, ValueError):  # not a text
            continue
        part = storable(f"--- {name} ---\n{text}")
        if len(part) > left:
            parts.append("--- the rest is left out ---")
            break
        parts.append(part)
        left -= len(part)
    return "\n".join(parts)


def _command(reply: Reply, tool_call_id: str | None) -> str:
    """Return the command of a reply that a message answers: that of the tool call, otherwise the whole text."""
    for call in reply.tool_calls:
        if call.id == tool_call_id:
            try:
                return str(json.loads(call.arguments)[COMMAND])
            except (ValueError, LookupError, TypeError, RecursionError):
                return call.arguments
    return reply.text
