"""The content of another program's file as a sequence of items, before it becomes events.

Readers make these and `trial` writes them. None stands for a value that is not in the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from trajectories.record.events import Ended, FailureClass, Imported, Json, Limits, Reply, Why
from trajectories.record.exits import Exit
from trajectories.record.usage import Costs, Usage

Place = Literal["docker", "sandbox", "local", "unknown"]
Role = Literal["system", "user", "tool"]

UNKNOWN_COSTS = Costs()


@dataclass(frozen=True)
class Command:
    """A command that a reply or a person asked for."""

    script: str
    tool_call_id: str | None = None
    deadline_s: float | None = None


@dataclass(frozen=True)
class PlainMessage:
    """A message to the model; here and below, `at` is in Unix seconds."""

    role: Role
    text: str
    why: Why
    tool_call_id: str | None = None
    at: float | None = None
    inherited: bool = False
    """True for a copy from the trial that this one was forked from."""


@dataclass(frozen=True)
class AnsweredCall:
    """An answered model call and its commands; the reply is empty if the file did not keep it."""

    reply: Reply
    commands: tuple[Command, ...] = ()
    usage_raw: Json | None = None
    usage: Usage | None = None
    costs: Costs = UNKNOWN_COSTS
    served: str | None = None
    finish_reason: str | None = None
    at: float | None = None
    latency_s: float | None = None


@dataclass(frozen=True)
class InheritedAnswer:
    """A reply from the trial that this one was forked from."""

    reply: Reply
    step: int
    served: str | None = None


@dataclass(frozen=True)
class FailedCall:
    """A model call that failed."""

    error: FailureClass
    detail: str
    retry: bool = False
    """True if the call was tried again."""


@dataclass(frozen=True)
class CommandResult:
    """The result of a command; the output is text, since the format holds no bytes."""

    ended: Ended
    output: str
    exit_code: int | None = None
    signal: int | None = None
    stderr: str | None = None
    left_out: int = 0
    """Number of characters of the output that the file left out, as far as it states one."""
    complete: bool = True
    """False if the file left out a part of the output, or all of it."""
    duration_s: float | None = None


UNKNOWN_RESULT = CommandResult("unknown", "", complete=False)
"""Result of a command that ran, and of which the file holds nothing."""


@dataclass(frozen=True)
class Observation:
    """A message that answers a command; the result is None if it is unknown."""

    message: PlainMessage
    result: CommandResult | None
    executed: bool = True


@dataclass(frozen=True)
class TypedCommands:
    """Commands that a person typed between two turns."""

    message: PlainMessage
    commands: tuple[Command, ...]


Item = PlainMessage | AnsweredCall | InheritedAnswer | FailedCall | Observation | TypedCommands


@dataclass(frozen=True)
class ForeignRun:
    """The whole content of another program's file."""

    task: str
    benchmark: str
    model: str
    settings: Json
    prompt: tuple[str, str]
    """Name and sha256 of the templates of the prompt."""
    limits: Limits
    environment: Place
    environment_spec: Json
    options: Json
    items: tuple[Item, ...]
    exit: Exit | None
    imported: Imported
    submission: str | None = None
    oddities: tuple[str, ...] = field(default=())
    """Irregular or inconsistent contents of the file, one line each."""


def not_said(run_items: Sequence[Item], has_end: bool, environment: Place) -> tuple[str, ...]:
    """List the parts of a record that the file does not have."""
    calls = [item for item in run_items if isinstance(item, AnsweredCall)]
    missing = []
    if all(item.at is None for item in calls):
        missing.append("times")
    if calls and all(item.latency_s is None for item in calls):
        missing.append("how long calls and commands took")
    if any(item.usage is None for item in calls):
        missing.append("the tokens of all calls" if all(item.usage is None for item in calls) else "some calls' tokens")
    if any(item.costs.best is None for item in calls):
        missing.append("the cost of each call")
    if not has_end:
        missing.append("how the run ended")
    if environment == "unknown":
        missing.append("where commands ran")
    results = [item.result for item in run_items if isinstance(item, Observation) and item.result is not None]
    if not all(result.complete for result in results):
        missing.append("all of the outputs that were shown cut")
    if any(result.ended == "unknown" for result in results):
        missing.append("how some commands ended")
    return (*missing, "the bytes of outputs (only text, decoded with replacement)", "the workspace")
