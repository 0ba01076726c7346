"""Endings and durations of actions, by class. An unknown figure is None."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from pydantic import BaseModel

from trajectories.analysis.commands.classes import PRIORITY, ActionClass
from trajectories.record.events import ActionFinished

_BY_ITSELF = frozenset({"exited", "unknown"})
"""Endings of an action that nothing stopped; imported files may not state the ending."""


class Outcomes(BaseModel):
    """Figures about a trial's finished actions."""

    finished: int
    known_exit_codes: int
    non_zero: int
    non_zero_share: float | None
    """Share of the known exit codes that are not 0."""
    longest_failing_run: int
    """Length of the longest run of actions with a non-zero exit code or a forced end."""
    recoveries: int
    """Number of times that an action with exit code 0 followed one that failed."""
    ended: dict[str, int]
    """Number of actions by ending: exited, deadline, oom, output_cap, ..."""
    seconds: dict[ActionClass, float]
    """Seconds spent in the actions of each class, as far as durations are known."""
    unknown_durations: int


@dataclass
class OutcomeCount:
    """Counts the outcomes of finished actions in order."""

    finished: int = 0
    known_exit_codes: int = 0
    non_zero: int = 0
    longest: int = 0
    recoveries: int = 0
    unknown_durations: int = 0
    _run: int = 0
    _ended: Counter[str] = field(default_factory=Counter)
    _seconds: dict[ActionClass, float] = field(default_factory=dict)

    def feed(self, event: ActionFinished, kind: ActionClass) -> None:
        """Process one action of this class."""
        self.finished += 1
        self._ended[event.ended] += 1
        duration: float | None = event.duration_s
        if duration is None:
            self.unknown_durations += 1
        else:
            self._seconds[kind] = self._seconds.get(kind, 0.0) + duration
        failed = event.ended not in _BY_ITSELF or event.signal is not None
        if event.exit_code is not None:
            self.known_exit_codes += 1
            self.non_zero += event.exit_code != 0
            failed = failed or event.exit_code != 0
        elif not failed:
            return  # an imported action with an unknown exit code
        if failed:
            self._run += 1
            self.longest = max(self.longest, self._run)
        else:
            self.recoveries += self._run > 0
            self._run = 0

    def outcomes(self) -> Outcomes:
        """Return the counts so far."""
        return Outcomes(
            finished=self.finished,
            known_exit_codes=self.known_exit_codes,
            non_zero=self.non_zero,
            non_zero_share=round(self.non_zero / self.known_exit_codes, 4) if self.known_exit_codes else None,
            longest_failing_run=self.longest,
            recoveries=self.recoveries,
            ended=dict(self._ended),
            seconds={name: round(self._seconds[name], 3) for name in PRIORITY if name in self._seconds},
            unknown_durations=self.unknown_durations,
        )
