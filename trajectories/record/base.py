"""The types that events and the records inside them are made of.

A field that holds somebody's words has the type `Words` or `WordsJson`: secrets in it are masked when the event is
written (`trajectories.writing.masking`). Every other text is a name, a kind or a hash that readers depend on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict

Json = dict[str, Any]
"""A JSON object that is kept as it came, for instance a provider's raw usage."""


@dataclass(frozen=True)
class Masked:
    """Mark of a field in which secrets are masked, at any depth. Keys of objects stay, because readers look them up."""

    below: frozenset[str] | None = None
    """Keys of a JSON object below which texts are masked. None: everywhere in it."""


Words = Annotated[str, Masked()]
"""Text that a person, a model or a program wrote, and that may hold a secret."""

WordsJson = Annotated[Json, Masked()]
"""A JSON object whose texts may hold a secret."""


def is_none(value: object) -> bool:
    """Return True for None: a field that most events lack is left out of their lines."""
    return value is None


def is_empty(value: object) -> bool:
    """Return True for an empty collection: a list that most events lack is left out of their lines."""
    return not value


def is_false(value: object) -> bool:
    """Return True for False: a mark that most events lack is left out of their lines."""
    return value is False


class BaseEvent(BaseModel):
    """Base of all events. The recorder sets these fields when it writes the event."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    seq: int = -1
    """Number of the event in its record, from 0."""
    t: str = ""
    """Time at which the event was written, in UTC and ISO 8601."""
    mono_s: float = 0.0
    """Seconds since the trial began, by a clock that never goes back."""


class Part(BaseModel):
    """Base of the records inside an event. Fields that a newer version wrote are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")
