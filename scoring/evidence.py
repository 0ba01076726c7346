"""Evidence that a trial violated the rules of its benchmark: a panel of judges, findings by rule, tampering."""

from __future__ import annotations

from dataclasses import dataclass

from scoring.choices import IntegrityBy
from trajectories.analysis.integrity.flags import RuleFlags
from trajectories.reading.panel_votes import PanelVotes
from trajectories.record.panel import Kind

PANEL, RULES, TAMPERED = "panel", "rules", "tampered"
"""Kinds of evidence."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known about one trial. None is unknown."""

    panel: PanelVotes | None = None
    """Votes of the newest panel that is not outdated."""
    rules: RuleFlags | None = None
    """Findings by rule; None if the rules were not applied, or there are no commands to apply them to."""
    tampered: bool | None = None
    """True if the submission changed the system in which its tests ran; None if nobody looked."""

    def flags(self, by: IntegrityBy | None) -> tuple[bool | None, tuple[str, ...]]:
        """Return if the trial is flagged, and the kinds of evidence for it.

        None stands for a trial that neither a panel nor the rules have examined. Judges do not see the system in which
        the tests ran, so without a choice tampering flags a trial that a panel let pass.
        """
        panel = None if self.panel is None else self.panel.flagged
        rules = None if self.rules is None else bool(self.rules.violated)
        match by:
            case IntegrityBy.PANEL:
                considered = {PANEL: panel}
            case IntegrityBy.RULES:
                considered = {RULES: rules, TAMPERED: self.tampered}
            case IntegrityBy.ANY:
                considered = {PANEL: panel, RULES: rules, TAMPERED: self.tampered}
            case None:
                first = {RULES: rules} if panel is None else {PANEL: panel}
                considered = {**first, TAMPERED: self.tampered}
        against = tuple(kind for kind, flagged in considered.items() if flagged)
        if against:
            return True, against
        examined = any(flagged is not None for kind, flagged in considered.items() if kind != TAMPERED)
        return (False if examined else None), ()

    def kinds(self, by: IntegrityBy | None) -> frozenset[Kind]:
        """Return the kinds of violations that the evidence shows, of the evidence that `flags` considers."""
        panel = self.panel if by != IntegrityBy.RULES else None
        decided = panel is not None and panel.flagged is not None
        rules = self.rules if by in (IntegrityBy.RULES, IntegrityBy.ANY) or (by is None and not decided) else None
        return (panel.kinds if panel is not None else frozenset()) | frozenset(rules.violated if rules else ())
