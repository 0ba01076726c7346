"""The vocabulary of the record: every event that a trial's `events.jsonl` can hold.

Only the shape of events lives here (a panel's two: in `panel`); writing them is `recorder`'s, reading them
`reader`'s. A field or a type of event may be added at any time; a changed meaning, or a new word in a closed
set (an exit's cause, say), needs a new major `SCHEMA_VERSION`. None is "unknown".
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from trajectories.record.base import BaseEvent as BaseEvent, Json as Json, Masked, Words, WordsJson
from trajectories.record.exits import Exit
from trajectories.record.panel import Answer as Answer, Ask as Ask, PanelStarted as PanelStarted, Voted as Voted
from trajectories.record.parts import (
    Change as Change,
    Imported as Imported,
    Limits as Limits,
    Lowered as Lowered,
    ModelRef as ModelRef,
    Output as Output,
    Parent as Parent,
    PriceRef as PriceRef,
    Reply as Reply,
    Skipped as Skipped,
    TaskRef as TaskRef,
    TextRef as TextRef,
    ToolCall as ToolCall,
)
from trajectories.record.usage import Costs, Usage
from trajectories.record.verdict import Verdict
from trajectories.record.words import CUT_OFF as CUT_OFF, Ended as Ended, FailureClass as FailureClass, Why as Why

SCHEMA_VERSION = "1.1"
"""1.1 added `panel_started` and `vote`."""


class TrialStarted(BaseEvent):
    """Event 0: what was asked for, resolved to the last input."""

    type: Literal["trial_started"] = "trial_started"
    schema_version: str = SCHEMA_VERSION
    trial: str
    identity: str
    """Hash of everything that makes this trial this trial, the attempt included."""
    attempt: int = 1
    task: TaskRef
    model: ModelRef
    prompt: TextRef
    plan: TextRef | None = None
    limits: Limits
    environment: Literal["docker", "sandbox", "local", "unknown"]
    """Unknown only where another program's file does not say it (`imported`)."""
    environment_spec: Annotated[Json, Masked(below=frozenset({"env", "build"}))] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    prices: PriceRef | None = None
    parent: Parent | None = None
    injected: TextRef | None = None
    """A text that a fork gave the model at the branch point."""
    options: WordsJson = Field(default_factory=dict)
    """What was asked for, as far as a resumed or forked trial needs it again."""
    variant: str | None = None
    turn: int | None = None
    tier: str | None = None
    imported: Imported | None = None
    """Where the trial comes from if it is not a recording of our own."""


class EnvStarted(BaseEvent):
    """The environment answered: what it is and what it promises."""

    type: Literal["env_started"] = "env_started"
    kind: str
    container: str | None = None
    image: str | None = None
    image_digest: str | None = None
    user: str | None = None
    workdir: str
    promises: tuple[str, ...] = ()
    lost: tuple[Words, ...] = ()
    """What could not be had here, in one line each (for instance "unprotected: actions run as root")."""
    lowered: tuple[Lowered, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict)
    seconds: float


class Message(BaseEvent):
    """One message exactly as the model is sent it. Replies are in `call_finished`."""

    type: Literal["message"] = "message"
    id: str
    role: Literal["system", "user", "tool"]
    content: Words
    why: Why
    tool_call_id: Words | None = None
    action: str | None = None
    """The action that an observation is of."""
    inherited: bool = False
    """A copy from the trial that this one was forked from."""


class InheritedReply(BaseEvent):
    """A reply in the conversation of the trial that this one was forked from: not a step, and not paid for here."""

    type: Literal["inherited_reply"] = "inherited_reply"
    id: str
    step: int
    """Of the parent."""
    reply: Reply
    model_served: Words | None = None


class CallStarted(BaseEvent):
    """A request is about to leave; without a `call_finished` or `call_failed` its usage is unknown."""

    type: Literal["call_started"] = "call_started"
    step: int
    try_: int = Field(alias="try", default=1)
    message_ids: tuple[str, ...]
    """The messages added since the call before: a request is all messages so far, in order."""
    messages: int
    """How many the request holds in all."""
    messages_sha256: str
    """sha256 over all of them, in order (`trajectories.record.conversation`)."""
    parameters: WordsJson = Field(default_factory=dict)

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class CallFinished(BaseEvent):
    """A reply came. This is what makes a step, also when it could not be parsed."""

    type: Literal["call_finished"] = "call_finished"
    step: int
    try_: int = Field(alias="try", default=1)
    id: str
    """The reply's message id."""
    reply: Reply
    finish_reason: str | None = None
    usage_raw: WordsJson | None = None
    usage: Usage | None = None
    costs: Costs = Costs()
    model_requested: str
    model_served: Words | None = None
    latency_s: float | None

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class CallFailed(BaseEvent):
    """A try that brought no reply."""

    type: Literal["call_failed"] = "call_failed"
    step: int
    try_: int = Field(alias="try", default=1)
    error: FailureClass
    detail: Words
    status: int | None = None
    retry: bool
    wait_s: float = 0.0
    """How long the next try waits."""
    usage_raw: WordsJson | None = None
    usage: Usage | None = None
    costs: Costs | None = None
    """None if nothing says that the try was billed."""
    latency_s: float | None

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class ActionStarted(BaseEvent):
    """A command is about to run. `action` is its address, `step.i`, i from 1."""

    type: Literal["action_started"] = "action_started"
    action: str
    step: int
    script: Words
    tool_call_id: Words | None = None
    deadline_s: float | None
    """None only in an imported trial whose file does not say it."""


class ActionFinished(BaseEvent):
    """A command is over. Exactly one of `exit_code` and `signal` is known if it exited."""

    type: Literal["action_finished"] = "action_finished"
    action: str
    step: int
    tool_call_id: Words | None = None
    ended: Ended
    exit_code: int | None = None
    signal: int | None = None
    duration_s: float | None
    cpu_s: float | None = None
    peak_memory_bytes: int | None = None
    """The environment's high-water mark, page cache included, if this action raised it."""
    streams: Literal["merged", "separate"] = "merged"
    output: Output
    stderr: Output | None = None
    """Only with separate streams."""
    left_running: int | None = None
    """Processes of this action that live on in the background."""
    shell_lost: Words | None = None
    """Why a persistent shell's state (directory, variables, functions) is gone after this action."""


class Snapshot(BaseEvent):
    """What a step changed in the workspace; step 0 is the state that the trial began with, all of it."""

    type: Literal["snapshot"] = "snapshot"
    step: int
    changes: tuple[Change, ...]
    unread: tuple[Skipped, ...] = ()
    """Paths whose state could not be found out, and why."""
    seconds: float = 0.0


class Warned(BaseEvent):
    """Something a reader should know: a limit is near, a limit was lowered, a path left out."""

    type: Literal["warning"] = "warning"
    kind: str
    text: Words


class Paused(BaseEvent):
    """The trial's clock stops."""

    type: Literal["paused"] = "paused"
    why: Literal["human", "down"]


class Resumed(BaseEvent):
    """The trial's clock goes on."""

    type: Literal["resumed"] = "resumed"
    lost: tuple[Words, ...] = ()
    """What could not be brought back, one line each (live processes, files outside of the workspace)."""
    restored_step: int | None = None
    """The workspace is that of this step's snapshot."""
    rerun: tuple[str, ...] = ()
    """Finished actions after that snapshot, which were run again to bring the workspace where it was."""


class Checkpoint(BaseEvent):
    """The whole container was committed after a step."""

    type: Literal["checkpoint"] = "checkpoint"
    step: int
    image: str


class Exited(BaseEvent):
    """The loop ended."""

    type: Literal["exit"] = "exit"
    exit: Exit
    steps: int


class WorkspaceExported(BaseEvent):
    """`workspace.tar.zst` was written."""

    type: Literal["workspace_exported"] = "workspace_exported"
    path: str
    bytes: int
    sha256: str
    entries: int
    skipped: tuple[Skipped, ...] = ()


class EvaluationStarted(BaseEvent):
    """The evaluator begins; may occur again."""

    type: Literal["evaluation_started"] = "evaluation_started"
    evaluator: str
    workspace_sha256: str


class Evaluated(BaseEvent):
    """The evaluator's word, or why there is none."""

    type: Literal["evaluation"] = "evaluation"
    verdict: Verdict | None
    why_none: Words = ""


class Unknown(BaseEvent):
    """An event of a newer writer of the same major version: kept in its place, its content unread."""

    type: str


Known = Annotated[
    TrialStarted
    | EnvStarted
    | Message
    | InheritedReply
    | CallStarted
    | CallFinished
    | CallFailed
    | ActionStarted
    | ActionFinished
    | Snapshot
    | Warned
    | Paused
    | Resumed
    | Checkpoint
    | Exited
    | WorkspaceExported
    | EvaluationStarted
    | Evaluated
    | PanelStarted
    | Voted,
    Field(discriminator="type"),
]

Event = Known | Unknown

EVENT: TypeAdapter[Known] = TypeAdapter(Known)
"""Parses and dumps one event of a type that is known here."""
