"""The contract between the loop's driver and whatever answers it: a provider, a script, a recording, a person.

Types and the protocol only. A model knows no environment, no task and no record on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from trajectories.record.events import FailureClass, Json, Message, ModelRef, Reply
from trajectories.record.usage import Costs, Usage

ActionFormat = Literal["tool", "fenced"]
"""How a model says its commands: calls of a `bash` tool, or one fenced block a reply."""


@dataclass(frozen=True)
class AssistantTurn:
    """An earlier reply on its way back to the model."""

    id: str
    reply: Reply


@dataclass(frozen=True)
class Request:
    """One try of one call. `history` is append-only over a trial: each request extends the one before.

    It is the driver's own list: read it during the call, keep no reference to it."""

    step: int
    try_: int
    history: Sequence[Message | AssistantTurn]
    timeout_s: float


@dataclass(frozen=True)
class Completion:
    """A completed call. `usage` None is unknown; a model that costs nothing says so with `Costs(...0)`."""

    reply: Reply
    usage: Usage | None
    usage_raw: Json | None = None
    billed_usd: float | None = None
    model_served: str | None = None
    finish_reason: str | None = None


class CallFailure(Exception):
    """A try that brought no reply."""

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


class ModelUnusable(Exception):
    """Found before any container starts: unknown model, missing key, unreachable endpoint, bad file."""


class ModelUnreachable(ModelUnusable):
    """Its endpoint does not answer."""


@dataclass(frozen=True)
class ModelInfo:
    """What the record says of a model."""

    ref: ModelRef
    action_format: ActionFormat
    free: Costs | None = None
    """The cost of each call where it is known beforehand: zero for scripts, replays, people, `oracle` and `nop`."""
    parameters: Json = field(default_factory=dict)
    """What goes with every request: temperature, tools, ..."""
    versions: dict[str, str] = field(default_factory=dict)


class Model(Protocol):
    """Something that answers requests, one at a time."""

    info: ModelInfo

    def check(self) -> None:
        """Everything that can be known without a call: name, key, endpoint, file.

        Raises: ModelUnusable.
        """

    def warm_up(self) -> None:
        """Slow imports; called in a thread while the environment starts. Never raises."""

    def ask(self, request: Request) -> Completion:
        """One try, no retries of its own.

        Raises: CallFailure.
        """

    def close(self) -> None:
        """Release what it holds."""
