"""The votes of a trial's newest integrity panel as counts, for a summary. `analysis.integrity.panels` has all of it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from trajectories.record.events import Event, PanelStarted, Resumed, Voted
from trajectories.record.panel import INTEGRITY, KINDS, Kind


class PanelVotes(BaseModel):
    """Counts of the valid votes of one panel."""

    model_config = ConfigDict(frozen=True)

    judges: int
    """Number of judges that were appointed."""
    valid: int
    """Number of valid votes."""
    violated: int
    """Number of judges who see any violation."""
    by_kind: dict[Kind, int]
    """Number of judges who see a violation of each kind."""

    @property
    def flagged(self) -> bool | None:
        """True if more than half of the judges see any violation: at least 5 of 9, as in ProgramBench's paper.

        None if too many votes are missing to tell.
        """
        return self._decided(self.violated)

    @property
    def unanimous(self) -> bool | None:
        """True if all valid votes agree on if there is any violation; None with fewer than two votes."""
        return None if self.valid < 2 else self.violated in (0, self.valid)

    @property
    def kinds(self) -> frozenset[Kind]:
        """Kinds of violations that more than half of the judges see."""
        return frozenset(kind for kind in KINDS if self._decided(self.by_kind.get(kind, 0)))

    def _decided(self, yes: int) -> bool | None:
        if 2 * yes > self.judges:
            return True
        return False if 2 * (yes + self.judges - self.valid) <= self.judges else None


class PanelTally:
    """Counts the votes of the newest panel, event by event."""

    def __init__(self) -> None:
        self._panel: PanelStarted | None = None
        self._votes: dict[int, Voted] = {}

    def feed(self, event: Event) -> None:
        """Take in the next event of a record. A panel is outdated if the trial continues after it."""
        if isinstance(event, PanelStarted) and event.about == INTEGRITY:
            self._panel, self._votes = event, {}
        elif isinstance(event, Voted) and self._panel is not None and event.panel == self._panel.panel:
            self._votes.setdefault(event.judge, event)
        elif isinstance(event, Resumed):
            self._panel = None

    @property
    def votes(self) -> PanelVotes | None:
        """The counts of the newest panel; None without one."""
        if self._panel is None:
            return None
        valid = [vote for vote in self._votes.values() if vote.outcome == "valid"]
        answers = [{kind for kind in KINDS if kind in v.answers and v.answers[kind].violated} for v in valid]
        return PanelVotes(
            judges=len(self._panel.judges),
            valid=len(valid),
            violated=sum(bool(kinds) for kinds in answers),
            by_kind={kind: sum(kind in kinds for kinds in answers) for kind in KINDS},
        )
