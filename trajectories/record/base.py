"""The types that events and the records inside them are made of.

A field that holds somebody's words has the type `Words` or `WordsJson`: secrets in it are masked when the event is
written (`trajectories.writing.masking`). Every other text is a name, a kind or a hash that readers depend on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict

Json = dict[str, Any]
"""A JSON object kept as it came, for instance a provider's raw usage."""


@dataclass(frozen=True)
class Masked:
    """Mark of a field in which secrets are masked, at any depth. Keys of objects stay, because readers look them up."""

    below: frozenset[str] | None = None
    """Keys of a JSON object below which texts are masked; None: everywhere in it."""


Words = Annotated[str, Masked()]
"""Text that a person, a model or a program wrote, and that may hold a secret."""

WordsJson = Annotated[Json, Masked()]
"""A JSON object whose texts may hold a secret."""


class BaseEvent(BaseModel):
    """What every event has. `seq` counts from 0, `t` is UTC in ISO 8601."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    seq: int = -1
    t: str = ""
    mono_s: float = 0.0
    """Seconds since the trial began, monotonic."""


class Part(BaseModel):
    """Base of the records inside an event: unknown fields of a newer writer are dropped."""

    model_config = ConfigDict(frozen=True, extra="ignore")
