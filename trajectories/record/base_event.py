"""What every event of the record has; the events themselves are in `events`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class BaseEvent(BaseModel):
    """What every event has. `seq` counts from 0, `t` is UTC in ISO 8601."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    seq: int = -1
    t: str = ""
    mono_s: float = 0.0
    """Seconds since the trial began, monotonic."""
