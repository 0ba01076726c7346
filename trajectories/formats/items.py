"""What a foreign file says, one thing after the other, before it becomes events.

Readers make these and `trial` writes them; None is "the file does not say".
"""

from __future__ import annotations

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
    """A command that a turn asked for."""

    script: str
    tool_call_id: str | None = None
    deadline_s: float | None = None


@dataclass(frozen=True)
class Said:
    """A message to the model; `at` is in Unix seconds, here and below."""

    role: Role
    text: str
    why: Why
    tool_call_id: str | None = None
    at: float | None = None
    inherited: bool = False
    """A copy from the trial that this one was forked from."""


@dataclass(frozen=True)
class Called:
    """A model call that was answered, with the commands it led to. An empty reply: the file did not keep it."""

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
class Inherited:
    """A reply of the trial that this one was forked from."""

    reply: Reply
    step: int
    served: str | None = None


@dataclass(frozen=True)
class Failed:
    """A model call that was not."""

    error: FailureClass
    detail: str


@dataclass(frozen=True)
class Outcome:
    """What came of a command; output as text, since the format holds no bytes."""

    ended: Ended
    output: str
    exit_code: int | None = None
    signal: int | None = None
    stderr: str | None = None
    left_out: int = 0
    """Characters of the output that the file left out."""
    duration_s: float | None = None


@dataclass(frozen=True)
class Observed:
    """A message that answers a command; without an outcome, what the command came to is not known."""

    said: Said
    outcome: Outcome | None
    executed: bool = True


@dataclass(frozen=True)
class Typed:
    """Commands that a person ran between two turns."""

    said: Said
    commands: tuple[Command, ...]


Item = Said | Called | Inherited | Failed | Observed | Typed


@dataclass(frozen=True)
class Run:
    """A whole foreign file."""

    task: str
    benchmark: str
    model: str
    settings: Json
    prompt: tuple[str, str]
    """Name and sha256 of what the prompt was rendered from."""
    limits: Limits
    environment: Place
    environment_spec: Json
    options: Json
    items: tuple[Item, ...]
    exit: Exit | None
    imported: Imported
    submission: str | None = None
    oddities: tuple[str, ...] = field(default=())
    """What was read tolerantly, or does not add up; one line each."""
