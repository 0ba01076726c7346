"""What is left of a trial's limits, as far as the model is told. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from agent.trial.limits import LimitCheck

STEPS_TO_TELL = 20
SECONDS_TO_TELL = 600.0
SHARE_TO_TELL = 0.2
"""The model is told what is left of its tokens or dollars when this share of the limit is left."""
URGENT_STEPS = 5
URGENT_SHARE = 0.1


@dataclass(frozen=True)
class Remaining:
    """What is left of each limit: None without a limit, and as long as much of it is left."""

    steps: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    urgent: bool = False
    """True if so little of one limit is left that the model should finish and submit."""


NOTHING_TO_TELL = Remaining()


def remaining(check: LimitCheck, now_s: float) -> Remaining:
    """Return what the model is told of its limits at this time of the events' clock."""
    limits, tally = check.limits, check.tally
    steps, seconds = check.steps_left(), check.seconds_left(now_s)
    if steps is not None and steps >= STEPS_TO_TELL:
        steps = None
    if seconds is not None and seconds >= SECONDS_TO_TELL:
        seconds = None
    unknown = check.not_kept()
    tokens = None if limits.tokens is None or "token" in unknown else limits.tokens - tally.usage.total
    if tokens is not None and tokens > SHARE_TO_TELL * (limits.tokens or 0):
        tokens = None
    cost_usd = None if limits.cost_usd is None or "cost" in unknown else limits.cost_usd - tally.spent_usd
    if cost_usd is not None and cost_usd > SHARE_TO_TELL * (limits.cost_usd or 0.0):
        cost_usd = None
    urgent = (
        (steps is not None and steps <= URGENT_STEPS)
        or (seconds is not None and seconds <= URGENT_SHARE * (limits.time_s or 0.0))
        or (tokens is not None and tokens <= URGENT_SHARE * (limits.tokens or 0))
        or (cost_usd is not None and cost_usd <= URGENT_SHARE * (limits.cost_usd or 0.0))
    )
    return Remaining(steps, seconds, tokens, cost_usd, urgent)
