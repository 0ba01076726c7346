"""How actions ended and how long they took, by class. Counts only; None is unknown."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from pydantic import BaseModel

from trajectories.analysis.commands.classes import PRIORITY, ActionClass
from trajectories.record.events import ActionFinished

_BY_ITSELF = frozenset({"exited", "unknown"})
"""How an action ends that nothing stopped; an imported file may not say it."""


class Outcomes(BaseModel):
    """Of a trial's finished actions."""

    finished: int
    known_exit_codes: int
    non_zero: int
    non_zero_share: float | None
    """Of the known exit codes."""
    longest_failing_run: int
    """Actions in a row, each with a non-zero exit code or ended by force."""
    recoveries: int
    """Times that an action with exit code 0 came after one that failed."""
    ended: dict[str, int]
    """By how they ended: exited, deadline, oom, output_cap, ..."""
    seconds: dict[ActionClass, float]
    """Spent in the actions of each class, as far as durations are known."""
    unknown_durations: int


@dataclass
class OutcomeCount:
    """Feed it every finished action in order."""

    finished: int = 0
    known: int = 0
    non_zero: int = 0
    longest: int = 0
    recoveries: int = 0
    unknown_durations: int = 0
    _run: int = 0
    _ended: Counter[str] = field(default_factory=Counter)
    _seconds: dict[ActionClass, float] = field(default_factory=dict)

    def feed(self, event: ActionFinished, of: ActionClass) -> None:
        """Take in one action and its class."""
        self.finished += 1
        self._ended[event.ended] += 1
        duration: float | None = event.duration_s
        if duration is None:
            self.unknown_durations += 1
        else:
            self._seconds[of] = self._seconds.get(of, 0.0) + duration
        failed = event.ended not in _BY_ITSELF or event.signal is not None
        if event.exit_code is not None:
            self.known += 1
            self.non_zero += event.exit_code != 0
            failed = failed or event.exit_code != 0
        elif not failed:
            return  # an imported action whose exit code nobody knows
        if failed:
            self._run += 1
            self.longest = max(self.longest, self._run)
        else:
            self.recoveries += self._run > 0
            self._run = 0

    def outcomes(self) -> Outcomes:
        """The counts up to here."""
        return Outcomes(
            finished=self.finished,
            known_exit_codes=self.known,
            non_zero=self.non_zero,
            non_zero_share=round(self.non_zero / self.known, 4) if self.known else None,
            longest_failing_run=self.longest,
            recoveries=self.recoveries,
            ended=dict(self._ended),
            seconds={name: round(self._seconds[name], 3) for name in PRIORITY if name in self._seconds},
            unknown_durations=self.unknown_durations,
        )
