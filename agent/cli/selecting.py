"""Parse the options that select trials, which `agent trials` and `agent score` share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from agent.errors import UserError

if TYPE_CHECKING:
    from trajectories.reading.selection import TrialFilter

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DURATION = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)(s|m|h|d|w)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def trial_filter(
    *,
    task: Sequence[str] | None,
    model: Sequence[str] | None,
    benchmark: Sequence[str] | None,
    label: Sequence[str] | None,
    since: str | None,
    limit: int | None,
) -> TrialFilter:
    """Return the conditions that the options make.

    Raises: UserError.
    """
    from trajectories.reading.selection import TrialFilter

    return TrialFilter(
        tasks=tuple(task or ()),
        models=tuple(model or ()),
        benchmarks=tuple(benchmark or ()),
        labels=tuple(label or ()),
        since="" if since is None else moment(since, datetime.now(UTC)),
        limit=limit,
    )


def moment(text: str, now: datetime) -> str:
    """Return the time that `--since` names, as records write times: UTC in ISO 8601.

    A date begins at midnight UTC, as the times in tables are UTC. A duration is counted back from `now`.

    Raises: UserError.
    """
    try:
        if match := _DURATION.fullmatch(text):
            time = now - timedelta(**{_UNITS[match[2]]: float(match[1])})
        elif _DATE.fullmatch(text):
            time = datetime.fromisoformat(text).replace(tzinfo=UTC)
        else:
            time = datetime.fromisoformat(text)
        if time.tzinfo is None:
            raise ValueError
        return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError):
        raise UserError(
            f"--since {text!r}: write a date (2026-11-01), a time with its zone (2026-11-01T09:00Z, "
            "2026-11-01T09:00+01:00) or a duration (2d, 3h, 45m)"
        ) from None
