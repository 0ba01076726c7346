"""Findings and panels of trials together: the shapes of `agent analyze --integrity --json`, its CSV, and agreement."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from trajectories.analysis.aggregate import Cell, Unreadable, write_rows
from trajectories.analysis.integrity.agreement import Kappa, disagreement_rate, fleiss_kappa
from trajectories.analysis.integrity.findings import Finding, scan
from trajectories.analysis.integrity.language import SubmissionLanguage, submission_language
from trajectories.analysis.integrity.panels import Panel, panels_of
from trajectories.reading.reader import read_events
from trajectories.record.events import Exited, TrialStarted
from trajectories.record.panel import KINDS, Kind


class TrialIntegrity(BaseModel):
    """One trial: its findings by rule, and the panels in its record, the newest last."""

    trial: str
    task: str
    model: str
    exit: str | None
    findings: list[Finding]
    by_kind: dict[Kind, int]
    commands: int
    unparsed: int
    original: list[str]
    panels: list[Panel]
    language: SubmissionLanguage | None = None
    """Languages of the submission; None without snapshots."""
    notes: list[str]


class Agreement(BaseModel):
    """Agreement in the newest panels of all trials, without outdated ones; a subject is a question about a trial."""

    trials: int
    disagreement_rate: float | None
    disagreement_by_kind: dict[Kind, float | None]
    fleiss_kappa: Kappa
    """Kappa over all questions; it leaves out subjects on which a judge has no valid vote."""
    kappa_by_kind: dict[Kind, Kappa]
    left_out: int
    """Number of subjects that kappa leaves out, since it needs the same number of votes on each."""


class IntegrityAnalysis(BaseModel):
    """The object that `agent analyze --integrity --json` prints."""

    trials: list[TrialIntegrity]
    unreadable: list[Unreadable] = []
    agreement: Agreement | None
    """None if no trial was judged."""
    judged_now: int = 0
    """Number of panels that this call asked."""
    spent_usd: float = 0.0
    """Cost of these panels, as far as known."""
    notes: list[str] = []


def integrity_of(directory: Path) -> TrialIntegrity:
    """Apply the rules to a trial and read its recorded panels.

    Raises: RecordError if its events cannot be read; MissingExtra without tree-sitter.
    """
    events = list(read_events(directory))
    scanned = scan(directory, events)
    start = events[0]
    assert isinstance(start, TrialStarted)
    exits = [event.exit.cause for event in events if isinstance(event, Exited)]
    return TrialIntegrity(
        trial=str(directory),
        task=start.task.id,
        model=start.model.asked,
        exit=exits[-1] if exits else None,
        findings=scanned.findings,
        by_kind={kind: sum(finding.kind == kind for finding in scanned.findings) for kind in KINDS},
        commands=scanned.commands,
        unparsed=scanned.unparsed,
        original=scanned.original,
        panels=panels_of(events),
        language=submission_language(directory, events),
        notes=scanned.notes,
    )


def agreement(trials: Sequence[TrialIntegrity]) -> Agreement | None:
    """Compute the agreement of the newest panels' judges; None if there is no panel."""
    panels = [trial.panels[-1] for trial in trials if trial.panels and not trial.panels[-1].outdated]
    if not panels:
        return None
    every = {kind: [_counts(panel, kind) for panel in panels] for kind in KINDS}
    whole = {
        kind: [_counts(panel, kind) for panel in panels if sum(_counts(panel, kind)) == panel.judges] for kind in KINDS
    }
    subjects = [row for rows in every.values() for row in rows]
    full = [row for rows in whole.values() for row in rows]
    return Agreement(
        trials=len(panels),
        disagreement_rate=disagreement_rate(subjects),
        disagreement_by_kind={kind: disagreement_rate(rows) for kind, rows in every.items()},
        fleiss_kappa=fleiss_kappa(full),
        kappa_by_kind={kind: fleiss_kappa(rows) for kind, rows in whole.items()},
        left_out=len(subjects) - len(full),
    )


def _counts(panel: Panel, kind: Kind) -> tuple[int, int]:
    return panel.decisions[kind].yes, panel.decisions[kind].no


def row(trial: TrialIntegrity) -> dict[str, Cell]:
    """Return one trial's figures in the order of the CSV's columns; None stands for a missing panel."""
    panel = trial.panels[-1] if trial.panels else None
    cells: dict[str, Cell] = {"trial": trial.trial, "task": trial.task, "model": trial.model, "exit": trial.exit}
    for kind in KINDS:
        of_kind = [finding for finding in trial.findings if finding.kind == kind]
        cells[f"{kind}_findings"] = len(of_kind)
        cells[f"{kind}_sure"] = sum(finding.sure for finding in of_kind)
        cells[f"{kind}_succeeded"] = sum(finding.severity == "succeeded" for finding in of_kind)
        decision = panel.decisions[kind] if panel else None
        cells[f"{kind}_yes"] = decision.yes if decision else None
        cells[f"{kind}_no"] = decision.no if decision else None
        cells[f"{kind}_violated"] = (
            None if decision is None else "undecided" if decision.violated is None else str(decision.violated).lower()
        )
    return {
        **cells,
        "judges": panel.judges if panel else None,
        "panel_outdated": panel.outdated if panel else None,
        "valid_votes": panel.valid if panel else None,
        "judges_cost_usd": panel.cost_usd.best if panel else None,
        "commands": trial.commands,
        "unparsed": trial.unparsed,
        **_language_cells(trial.language),
    }


def _language_cells(language: SubmissionLanguage | None) -> dict[str, Cell]:
    """Return the cells about the submission's language; the last one is empty if no variant asked for another one."""
    if language is None:
        return {"languages": None, "original_language": None, "other_language": None}
    kept = {True: "kept", False: "broken", None: "unknown"}[language.kept]
    return {
        "languages": " ".join(f"{name.replace(' ', '_')}:{lines}" for name, lines in language.lines.items()) or None,
        "original_language": language.original,
        "other_language": kept if language.asked else None,
    }


def write_csv(path: Path, trials: Sequence[TrialIntegrity]) -> None:
    """Write a header and one row for each trial; an unknown figure is an empty cell.

    Raises: RecordError if the file cannot be written.
    """
    write_rows(path, [row(trial) for trial in trials])
