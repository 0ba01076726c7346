"""The contract of a model: the requests that it gets and the completions or failures that it returns.

A model may be a provider's, a script, a recording or a person. It knows no environment, no task and no record on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agent.errors import UserError
from trajectories.record.events import FailureClass, Json, Message, ModelRef, Reply
from trajectories.record.usage import Costs, Usage

ActionFormat = Literal["tool", "fenced"]
"""The form of a model's commands: calls of a `bash` tool, or one fenced block in each reply."""


@dataclass(frozen=True)
class Fence:
    """The rule by which the action in a text is found (`agent.loop.fences`). It belongs to a version of a prompt."""

    tag: str | None
    """Tag of the block that is run; None for the rule of prompts of version 1."""
    asks: str | None = None
    """Tag of the block that asks the expert; None if the model may not ask, by a tool either."""


FIRST_FENCE = Fence(None)


@dataclass(frozen=True)
class AssistantTurn:
    """An earlier reply that is sent back to the model."""

    id: str
    reply: Reply


@dataclass(frozen=True)
class Request:
    """One try of one call.

    `history` only grows during a trial, so each request extends the one before it. It is the driver's own list: read
    it during the call, and keep no reference to it.
    """

    step: int
    try_: int
    history: Sequence[Message | AssistantTurn]
    timeout_s: float


@dataclass(frozen=True)
class Completion:
    """A completed call; `usage` is None if the provider did not report it."""

    reply: Reply
    usage: Usage | None
    usage_raw: Json | None = None
    billed_usd: float | None = None
    model_served: str | None = None
    finish_reason: str | None = None


class CallFailure(Exception):
    """A try that ended without a reply."""

    def __init__(
        self,
        error: FailureClass,
        detail: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        usage_raw: Json | None = None,
        usage: Usage | None = None,
        billed_usd: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.error: FailureClass = error
        self.detail = detail
        self.status = status
        self.retry_after_s = retry_after_s
        self.usage_raw = usage_raw
        self.usage = usage
        self.billed_usd = billed_usd


class ModelUnusable(UserError):
    """The model cannot be used: unknown name, missing key, bad file. Raised before a trial starts."""


class ModelUnreachable(ModelUnusable):
    """The endpoint of the model does not answer."""


@dataclass(frozen=True)
class ModelInfo:
    """The description of a model that goes into the record."""

    ref: ModelRef
    action_format: ActionFormat
    fence: Fence | None = None
    """Rule for recorded texts, which is that of the recorded prompt; None for the rule of the trial's own prompt."""
    free: Costs | None = None
    """Costs of each call if they are known beforehand: zero for scripts, replays, people, `oracle` and `nop`."""
    parameters: Json = field(default_factory=dict)
    """Parameters of every request: temperature, tools, ..."""
    versions: dict[str, str] = field(default_factory=dict)


class Model(Protocol):
    """A model that answers requests, one at a time."""

    info: ModelInfo

    def check(self) -> None:
        """Check all that can be checked without a call: name, key, endpoint, file.

        Raises: ModelUnusable.
        """

    def warm_up(self) -> None:
        """Do slow imports, in a thread while the environment starts; never raise."""

    def ask(self, request: Request) -> Completion:
        """Make one try; the caller is responsible for retries.

        Raises: CallFailure.
        """

    def close(self) -> None:
        """Release connections and files."""
