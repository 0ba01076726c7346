"""The sets of words that events are written with.

A new word in a closed set needs a new major schema version. `Why` and `PauseReason` are open: a later version may add
a word to them, and a reader takes it as it stands.
"""

from __future__ import annotations

from typing import Literal

Why = Literal[
    "system",
    "task",
    "guidance",
    "plan",
    "observation",
    "format_error",
    "not_executed",
    "hint",
    "feedback",
    "answer",
    "reply",
    "notice",
]
"""Reasons for a message. `guidance` tells the model that it may ask an expert, and `answer` answers its question."""

Result = Literal["workspace", "system"]
"""What is judged: the workspace, or the whole system that it is in: packages, files anywhere, running services."""
SubmissionKind = Literal["archive", "image", "live"]
"""Forms of a submission: an exported workspace, an image that the container was committed as, the live container."""

PauseReason = Literal["human", "down", "guidance", "queue", "budget"]
"""Reasons for a pause: a person is asked for a reply (`human`) or for guidance (`guidance`), the trial does not run
(`down`), or it waits for its turn (`queue`) or for money (`budget`)."""
WAITS: frozenset[str] = frozenset({"queue", "budget"})
"""Pauses between two calls of a trial that goes on as it was: nothing is restored or tried afresh after them."""

FailureClass = Literal[
    "rate_limit",
    "server_error",
    "timeout",
    "connection",
    "malformed",
    "authentication",
    "bad_request",
    "context_overflow",
    "not_found",
    "gave_up",
    "budget",
    "interrupted",
    "other",
]

Ended = Literal[
    "exited",
    "deadline",
    "output_cap",
    "oom",
    "interrupted",
    "supervisor_lost",
    "environment_lost",
    "denied",
    "unknown",
]
"""Ways in which an action can end. A `denied` action was not allowed, and did not run. `unknown` only in an imported
trial whose file lacks it, and for another agent's tool that does not report it."""

CUT_OFF: frozenset[Ended] = frozenset({"interrupted", "supervisor_lost", "environment_lost"})
"""Ends that an action did not cause. It runs again when the trial is resumed."""
