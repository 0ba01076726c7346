"""What the loop says is to be done, and the words it needs: the vocabulary between `loop` and `drive`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from agent.models.protocol import ActionFormat
from trajectories.record.events import ActionFinished, Why
from trajectories.record.exits import Exit


@dataclass(frozen=True)
class Say:
    """Add this message to the conversation."""

    role: Literal["system", "user", "tool"]
    content: str
    why: Why
    tool_call_id: str | None = None
    action: str | None = None


@dataclass(frozen=True)
class Ask:
    """Call the model, within what is left of the time."""

    step: int
    try_: int
    within_s: float | None


@dataclass(frozen=True)
class Run:
    """Run a command."""

    action: str
    step: int
    script: str
    tool_call_id: str | None
    deadline_s: float


@dataclass(frozen=True)
class Stop:
    """The trial is over."""

    exit: Exit


Instruction = Say | Ask | Run | Stop


class Texts(Protocol):
    """The words of the loop; rendered once, when a message is made, and never again."""

    def observation(self, result: ActionFinished, steps_left: int | None, seconds_left: float | None) -> str:
        """What an action did; `steps_left` and `seconds_left` are set when the model should be warned."""

    def format_error(self, problem: str, action_format: ActionFormat) -> str:
        """Why a reply could not be used, and what is expected."""

    def not_executed(self, why: Literal["submitted"]) -> str:
        """The answer to a tool call that was not run."""
