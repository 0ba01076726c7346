"""The events of a step: the messages before a call, the call with its reply, and the actions that the reply asked for.

A step is one completed call with all its actions. A failed call is not a step; each request for a call is a try. An
outcome belongs to the call with the same thread, step and try.
"""

from __future__ import annotations

import json
from typing import Literal

from pydantic import ConfigDict, Field

from trajectories.record.base import BaseEvent, Words, WordsJson, is_none
from trajectories.record.parts import Change, Output, Reply, Skipped
from trajectories.record.usage import Costs, Usage
from trajectories.record.words import Ended, FailureClass, Why

BASH = "bash"
"""Tool that runs a shell script."""


def is_bash(tool: str) -> bool:
    """Return True for the tool that actions of our own agent use, which is left out of their lines."""
    return tool == BASH


class Message(BaseEvent):
    """One message exactly as it is sent to the model. Replies are in `call_finished`."""

    type: Literal["message"] = "message"
    id: str
    """Id of the message, unique in its record."""
    role: Literal["system", "user", "tool"]
    """Role in which the message is sent."""
    content: Words
    """Text of the message."""
    why: Why | str
    """Reason for which the message was written. A later version may have added one."""
    tool_call_id: Words | None = None
    """Id of the tool call that the message answers, if it answers one."""
    action: str | None = None
    """Address of the action whose observation this is, if it is one."""
    inherited: bool = False
    """True for a copy from the trial that this one was forked from."""
    thread: str | None = Field(default=None, exclude_if=is_none)
    """Thread of the agent that the message belongs to, for example a sub-agent's. null: the main one."""


class InheritedReply(BaseEvent):
    """A reply from the conversation of the trial that this one was forked from.

    It is not a step of this trial and costs nothing here.
    """

    type: Literal["inherited_reply"] = "inherited_reply"
    id: str
    """Id of the reply as a message, unique in its record."""
    step: int
    """Step of the parent that the reply made."""
    reply: Reply
    """The reply itself."""
    model_served: Words | None = None
    """Model that answered, as the provider named it."""


class CallStarted(BaseEvent):
    """A request is about to leave. If neither `call_finished` nor `call_failed` follows, its usage is unknown."""

    type: Literal["call_started"] = "call_started"
    step: int
    """Step that a reply to this request will make, from 1."""
    try_: int = Field(alias="try", default=1)
    """Number of this request among those for the same call, from 1."""
    message_ids: tuple[str, ...] | None
    """Ids of the messages added since the thread's call before. A request holds all messages of its thread so far, in
    order. null if the request is not made of messages of the record, but of another agent's own."""
    messages: int | None
    """Number of all messages in the request. null as `message_ids`."""
    messages_sha256: str | None
    """sha256 over all messages in the request, in order (`trajectories.record.conversation`). null as `message_ids`."""
    parameters: WordsJson = Field(default_factory=dict)
    """Parameters of the request besides its messages."""
    thread: str | None = Field(default=None, exclude_if=is_none)
    """Thread of the agent that the call belongs to, for example a sub-agent's. null: the main one."""
    reserved_usd: float | None = Field(default=None, exclude_if=is_none)
    """Largest cost of the call in US dollars, which was reserved in a budget that the trial shares with others."""
    reserved_tokens: int | None = Field(default=None, exclude_if=is_none)
    """Most tokens of the call, which were reserved in the same way."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class CallFinished(BaseEvent):
    """A reply came. It makes a step, even if no action can be read from it."""

    type: Literal["call_finished"] = "call_finished"
    step: int
    """Step that this reply makes, from 1."""
    try_: int = Field(alias="try", default=1)
    """Number of the request that was answered, among those for this call."""
    id: str
    """Id of the reply as a message, unique in its record."""
    reply: Reply
    """The reply itself."""
    finish_reason: str | None = None
    """Reason for which the reply ended, in the provider's word."""
    usage_raw: WordsJson | None = None
    """Usage exactly as the provider reported it."""
    usage: Usage | None = None
    """Usage in buckets that are the same for all providers."""
    costs: Costs = Costs()
    """Costs of the call."""
    model_requested: str
    """Model that was requested."""
    model_served: Words | None = None
    """Model that answered, as the provider named it."""
    latency_s: float | None
    """Time from the request to the end of the reply. null if it is not known."""
    thread: str | None = Field(default=None, exclude_if=is_none)
    """Thread of the agent that the call belongs to, for example a sub-agent's. null: the main one."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class CallFailed(BaseEvent):
    """A try that brought no reply."""

    type: Literal["call_failed"] = "call_failed"
    step: int
    """Step that a reply would have made."""
    try_: int = Field(alias="try", default=1)
    """Number of the request among those for this call, from 1."""
    error: FailureClass
    """Class of the failure."""
    detail: Words
    """Description of the failure in one line."""
    status: int | None = None
    """HTTP status of the provider's answer, if it gave one."""
    retry: bool
    """True if the call is tried again."""
    wait_s: float = 0.0
    """Time to wait before the next try."""
    usage_raw: WordsJson | None = None
    """Usage exactly as the provider reported it."""
    usage: Usage | None = None
    """Usage in buckets that are the same for all providers."""
    costs: Costs | None = None
    """Costs of the try. null if nothing shows that it was billed."""
    latency_s: float | None
    """Time from the request to its failure. null if it is not known."""
    thread: str | None = Field(default=None, exclude_if=is_none)
    """Thread of the agent that the call belongs to, for example a sub-agent's. null: the main one."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class ActionStarted(BaseEvent):
    """A command, or another tool of an agent, is about to run."""

    type: Literal["action_started"] = "action_started"
    action: str
    """Address of the action: `step.i`, with i from 1."""
    step: int
    """Step that the action belongs to."""
    tool: str = Field(default=BASH, exclude_if=is_bash)
    """Tool that is used. `bash` runs `script`."""
    script: Words | None
    """Shell script that is run. null if another agent's tool has none."""
    arguments: WordsJson | None = Field(default=None, exclude_if=is_none)
    """Arguments of a tool without a script."""
    tool_call_id: Words | None = None
    """Id of the tool call that asked for the action. null if the command stood in the reply's text."""
    deadline_s: float | None
    """Time after which the action is ended. null in an imported trial whose file lacks it, and for another agent."""
    thread: str | None = Field(default=None, exclude_if=is_none)
    """Thread of the agent that the action belongs to, for example a sub-agent's. null: the main one."""

    @property
    def command(self) -> str:
        """Text that is shown for the action: the script, or the name of the tool with its arguments as JSON."""
        if self.script is not None:
            return self.script
        return f"{self.tool} {json.dumps(self.arguments or {}, ensure_ascii=False)}"


class ActionFinished(BaseEvent):
    """A command is over. If it exited, exactly one of `exit_code` and `signal` is known."""

    type: Literal["action_finished"] = "action_finished"
    action: str
    """Address of the action, as in `action_started`."""
    step: int
    """Step that the action belongs to."""
    tool_call_id: Words | None = None
    """Id of the tool call that asked for the action."""
    ended: Ended
    """Way in which the action ended."""
    exit_code: int | None = None
    """Exit status, if the command exited by itself."""
    signal: int | None = None
    """Number of the signal that ended the command, if one did."""
    duration_s: float | None
    """Wall-clock time that the action took. null if it is not known."""
    cpu_s: float | None = None
    """CPU time of all processes of the action together."""
    peak_memory_bytes: int | None = None
    """Most memory that the environment has used so far, page cache included, if this action raised it."""
    streams: Literal["merged", "separate"] = "merged"
    """`merged` if standard output and standard error are one stream in `output`."""
    output: Output
    """Output of the command: both streams, or standard output if the streams are separate."""
    stderr: Output | None = None
    """Standard error of the command. null if the streams are merged."""
    left_running: int | None = None
    """Number of the action's processes that still run in the background."""
    left_pids: tuple[int, ...] = ()
    """Process ids of up to 5 of these processes, as later actions see them."""
    shell_lost: Words | None = None
    """Reason for which the state of a persistent shell (directory, variables, functions) is gone after this action."""
    ended_environment: bool = False
    """True if the environment ended with the action, and the trial continued in another one (`resumed`). All that the
    action did is lost."""
    thread: str | None = Field(default=None, exclude_if=is_none)
    """Thread of the agent that the action belongs to, for example a sub-agent's. null: the main one."""


class Snapshot(BaseEvent):
    """Changes to the workspace since the previous snapshot. Step 0 is the whole state that the trial began with."""

    type: Literal["snapshot"] = "snapshot"
    step: int
    """Step after which the snapshot was taken."""
    changes: tuple[Change, ...]
    """Paths that the step created, modified or deleted, in the order of their names."""
    unread: tuple[Skipped, ...] = ()
    """Paths whose state could not be read."""
    seconds: float = 0.0
    """Time that taking the snapshot cost."""
    complete: bool | None = None
    """True if the record holds everything that a restored workspace needs of these changes. null before 1.2."""
    why_incomplete: Words = ""
    """Reason for which something is missing, in one line that names the first path, for example a bound in time."""
