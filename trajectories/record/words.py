"""The closed sets of words that events are written with. A new word needs a new major schema version."""

from __future__ import annotations

from typing import Literal

Why = Literal[
    "system", "task", "plan", "observation", "format_error", "not_executed", "hint", "feedback", "reply", "notice"
]

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
    "exited", "deadline", "output_cap", "oom", "interrupted", "supervisor_lost", "environment_lost", "unknown"
]
"""Ways in which an action can end. `unknown` only in an imported trial whose file lacks it."""

CUT_OFF: frozenset[Ended] = frozenset({"interrupted", "supervisor_lost", "environment_lost"})
"""Ends that an action did not cause. It runs again when the trial is resumed."""
