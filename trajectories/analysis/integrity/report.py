"""Findings and panels of trials together: the shapes of `agent analyze --integrity --json`, its CSV, and the majority.

A question is decided by a strict majority of all judges that were appointed, so that a judge without a valid vote
speaks for neither side: `violated` is true if more than half of them said so, false if more than half said the
opposite, else None, undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import BaseModel

from trajectories.analysis.aggregate import Cell, Unreadable, write_rows
from trajectories.analysis.integrity.agreement import Kappa, disagreement_rate, fleiss_kappa
from trajectories.analysis.integrity.findings import Finding, scan
from trajectories.reading.reader import read_events
from trajectories.record.events import Answer, Ask, Event, Exited, PanelStarted, Resumed, TrialStarted, Voted
from trajectories.record.panel import INTEGRITY, KINDS, Kind, Outcome
from trajectories.record.usage import Costs, Usage


class Decision(BaseModel):
    """What a panel says to one question."""

    violated: bool | None
    """None: undecided."""
    yes: int
    no: int
    unanimous: bool
    """Of the valid votes; True also of a single one."""


class Vote(BaseModel):
    """One judge, with every request that was made for it."""

    judge: int
    model: str
    outcome: Outcome | None
    """None: it was cut off before an outcome was recorded."""
    answers: dict[Kind, Answer]
    asks: list[Ask]


class Panel(BaseModel):
    """One panel of a trial."""

    panel: int
    judges: int
    models: list[str]
    valid: int
    decisions: dict[Kind, Decision]
    votes: list[Vote]
    usage: Usage
    cost_usd: Costs
    """Each kind None as soon as the cost of one request is not known."""
    left_out: list[str]
    outdated: bool
    """The trial went on after it."""


class TrialIntegrity(BaseModel):
    """One trial: findings by rule, and the panels that its record holds, the newest last."""

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
    notes: list[str]


class Agreement(BaseModel):
    """Over the newest panels of all judged trials, outdated ones left out; a subject is a question about a trial."""

    trials: int
    disagreement_rate: float | None
    disagreement_by_kind: dict[Kind, float | None]
    fleiss_kappa: Kappa
    """Over all questions together; subjects that a judge gave no valid vote on are left out."""
    kappa_by_kind: dict[Kind, Kappa]
    left_out: int
    """Subjects that kappa is without, since it needs the same number of votes on each."""


class IntegrityAnalysis(BaseModel):
    """What `agent analyze --integrity --json` prints."""

    trials: list[TrialIntegrity]
    unreadable: list[Unreadable] = []
    agreement: Agreement | None
    """None where no trial was judged."""
    judged_now: int = 0
    """Panels that this call asked."""
    spent_usd: float = 0.0
    """On them, as far as known."""
    notes: list[str] = []


def integrity_of(directory: Path) -> TrialIntegrity:
    """What the rules and the recorded panels say of a trial.

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
        notes=scanned.notes,
    )


def panels_of(events: Iterable[Event]) -> list[Panel]:
    """The integrity panels of a record, in order."""
    begun: list[tuple[PanelStarted, dict[int, Voted]]] = []
    outdated = 0
    for event in events:
        if isinstance(event, PanelStarted) and event.about == INTEGRITY:
            begun.append((event, {}))
        elif isinstance(event, Voted) and begun and begun[-1][0].panel == event.panel:
            begun[-1][1].setdefault(event.judge, event)
        elif isinstance(event, Resumed):
            outdated = len(begun)
    return [_panel(started, votes, at < outdated) for at, (started, votes) in enumerate(begun)]


def _panel(started: PanelStarted, voted: dict[int, Voted], outdated: bool) -> Panel:
    votes = []
    for judge, model in enumerate(started.judges, start=1):
        vote = voted.get(judge)
        answers = {kind: vote.answers[kind] for kind in KINDS if kind in vote.answers} if vote else {}
        asks = list(vote.asks) if vote else []
        votes.append(
            Vote(judge=judge, model=model.asked, outcome=vote.outcome if vote else None, answers=answers, asks=asks)
        )
    asks = [ask for vote in votes for ask in vote.asks]
    unknown = [Costs()] * sum(vote.outcome is None for vote in votes)
    return Panel(
        panel=started.panel,
        judges=len(votes),
        models=list(dict.fromkeys(vote.model for vote in votes)),
        valid=sum(vote.outcome == "valid" for vote in votes),
        decisions={kind: _decision(kind, votes) for kind in KINDS},
        votes=votes,
        usage=Usage.sum(ask.usage for ask in asks if ask.usage is not None),
        cost_usd=Costs.sum([*(ask.costs for ask in asks if ask.costs is not None), *unknown]),
        left_out=list(started.left_out),
        outdated=outdated,
    )


def _decision(kind: Kind, votes: Sequence[Vote]) -> Decision:
    said = [vote.answers[kind].violated for vote in votes if vote.outcome == "valid" and kind in vote.answers]
    yes, no = said.count(True), said.count(False)
    violated = True if 2 * yes > len(votes) else False if 2 * no > len(votes) else None
    return Decision(violated=violated, yes=yes, no=no, unanimous=not (yes and no))


def agreement(trials: Sequence[TrialIntegrity]) -> Agreement | None:
    """How far the judges of the newest panels agree; None without any panel."""
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
    """One trial, flat, in the order of the CSV's columns; None where no panel said anything."""
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
    }


def write_csv(path: Path, trials: Sequence[TrialIntegrity]) -> None:
    """One row a trial below a row of names; an unknown figure is an empty cell.

    Raises: RecordError if the file cannot be written.
    """
    write_rows(path, [row(trial) for trial in trials])
