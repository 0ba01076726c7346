"""The feedback on a turn: the part of its result that an agent is shown before the next turn.

A benchmark's adapter makes it, because only the adapter knows which of its files hold what, and which of them would
give hidden tests away. Everything here is content: putting it into an environment and into a message is for others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trajectories.record.events import FeedbackForm

FORMS: tuple[FeedbackForm, ...] = ("output", "failing", "scores", "paths")
"""All forms of feedback."""
SCORES_ONLY: tuple[FeedbackForm, ...] = ("scores",)
"""Forms of a task whose tests stay hidden."""


class FeedbackError(Exception):
    """There is no feedback on a verdict; the message is one line."""


@dataclass(frozen=True)
class FeedbackContent:
    """The feedback on one verdict."""

    text: str
    """Text for the message to the model, whole; empty if the message only names the files."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files for the directory of the turn, by name."""
    whole: str = ""
    """Name of the file that holds the whole text; empty if there is no text."""


def other_forms(allowed: tuple[FeedbackForm, ...]) -> tuple[FeedbackForm, ...]:
    """Return the forms that a task which allows these does not allow."""
    return tuple(form for form in FORMS if form not in allowed)


def shows_names(allowed: tuple[FeedbackForm, ...]) -> bool:
    """Return True if a task that allows these forms lets the agent see the names of its tests and their groups."""
    return any(form != "scores" for form in allowed)
