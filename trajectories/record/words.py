"""The closed sets of words that events are written with; a new word needs a new major schema version."""

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
"""Unknown only where another program's file does not say how a command ended."""


CUT_OFF: frozenset[Ended] = frozenset({"interrupted", "supervisor_lost", "environment_lost"})
"""Ends of an action that are not its own: it is run again when the trial goes on."""
