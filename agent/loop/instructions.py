"""The vocabulary between `loop` and `drive`: the loop's instructions, and the texts that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from agent.loop.remaining import Remaining
from agent.models.protocol import ActionFormat
from trajectories.record.events import ActionFinished, Why
from trajectories.record.exits import Exit
from trajectories.record.interventions import AnswerStatus


@dataclass(frozen=True)
class Say:
    """Add this message to the conversation."""

    role: Literal["system", "user", "tool"]
    content: str
    why: Why | str
    tool_call_id: str | None = None
    action: str | None = None


@dataclass(frozen=True)
class Ask:
    """Call the model."""

    step: int
    try_: int
    within_s: float | None
    """Seconds left of the trial's time limit; None without one."""
    tries: int = 1
    """Number of this try since the trial began or was last resumed: only these count against the retry policy."""


@dataclass(frozen=True)
class Run:
    """Run a command."""

    action: str
    step: int
    script: str
    tool_call_id: str | None
    deadline_s: float


@dataclass(frozen=True)
class Consult:
    """Put a question to the expert."""

    question: int
    """Number of the question in the trial, from 1."""
    action: str
    step: int
    text: str
    tool_call_id: str | None
    left: int
    """Number of questions that are still answered, this one included; 0 if this one is not passed on."""
    recorded: bool = False
    """True if the record holds the question already, without an answer."""
    try_: int = 1
    """Number of the next answer: earlier ones broke the rule for answers."""


@dataclass(frozen=True)
class Stop:
    """End the trial."""

    exit: Exit


Instruction = Say | Ask | Run | Consult | Stop


class Texts(Protocol):
    """The texts of the loop. Each is rendered once, when its message is made, and never again."""

    def observation(self, result: ActionFinished, remaining: Remaining, *, near_submit: bool) -> str:
        """Return the observation of an action, with what is left of the limits.

        `near_submit` is True if the command holds the end marker and did not submit.
        """

    def format_error(
        self, problem: str, action_format: ActionFormat, remaining: Remaining, *, near_submit: bool
    ) -> str:
        """Return the answer to a reply that cannot be used: the problem, and the format that is expected.

        `near_submit` is True if the reply holds the end marker.
        """

    def answer(self, status: AnswerStatus | Literal["none_left"], text: str, left: int) -> str:
        """Return the answer to a question: that of the expert if one is given; `left` questions are left after it."""

    def not_executed(self, why: Literal["submitted"]) -> str:
        """Return the answer to a tool call that was not run."""
