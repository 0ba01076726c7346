"""The next part of a chain of turns, from the records alone, so that a running and a resumed chain go the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trajectories.record.events import Chain

NextPart = Literal["work", "evaluation", "next turn"]
"""Parts of a chain: the work of a turn that has begun, its evaluation, or a turn that has not begun."""


@dataclass(frozen=True)
class TurnScore:
    """The score of a turn, by which its chain goes on or ends."""

    passed: bool | None
    metrics: Mapping[str, float]


def next_part(chain: Chain, turn: int, *, ended: bool, score: TurnScore | None) -> NextPart | None:
    """Return what comes next in a chain of which `turn` is the last that has begun; None if the chain is finished.

    `ended` is True if the agent or a limit ended the turn; `score` is None as long as no evaluation has scored it.
    """
    if not ended:
        return "work"
    if score is None:
        return "evaluation"
    return "next turn" if chain.goes_on_after(turn, passed=score.passed, metrics=score.metrics) else None
