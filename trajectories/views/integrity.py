"""Findings and panels in the terminal: a table of each, and what every judge said where they did not agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from trajectories.analysis.integrity.panels import Decision, Panel
from trajectories.analysis.integrity.report import Agreement, IntegrityAnalysis, TrialIntegrity
from trajectories.record.panel import KINDS
from trajectories.record.text import printable

_EVIDENCE = 100
_WHY = 160
_LISTED = 20


def print_integrity(console: Console, analysis: IntegrityAnalysis) -> None:
    """A row a trial, then findings, votes and agreement."""
    table = Table(box=None, pad_edge=False)
    table.add_column("trial", overflow="fold")
    for kind in KINDS:
        table.add_column(kind.replace("_", " "), justify="right")
    table.add_column("judges", justify="right")
    for trial in analysis.trials:
        panel = trial.panels[-1] if trial.panels else None
        cells = (_cell(trial, panel, kind) for kind in KINDS)
        judges = f"{panel.valid} of {panel.judges} valid" if panel else "-"
        table.add_row(Text(printable(Path(trial.trial).name)), *cells, judges)
    console.print(table)
    for trial in analysis.trials:
        for line in _lines(trial):
            console.print(Text(printable(line)), soft_wrap=True)
    if analysis.agreement is not None:
        console.print(_agreement(analysis.agreement), soft_wrap=True)
    for note in analysis.notes:
        console.print(Text(printable(f"note: {note}"), "yellow"), soft_wrap=True)
    for broken in analysis.unreadable:
        console.print(Text(printable(f"unreadable: {broken.problem}"), "red"), soft_wrap=True)


def _cell(trial: TrialIntegrity, panel: Panel | None, kind: str) -> Text:
    findings = [finding for finding in trial.findings if finding.kind == kind]
    hints = sum(not finding.sure for finding in findings)
    words = f"{len(findings)}" + (f" ({hints} hints)" if hints else "")
    if panel is not None:
        words += f", {_decided(next(found for name, found in panel.decisions.items() if name == kind))}"
    return Text(words, "red" if len(findings) > hints else "")


def _decided(decision: Decision) -> str:
    word = {True: "violated", False: "kept", None: "undecided"}[decision.violated]
    return f"{word} {decision.yes}:{decision.no}"


def _lines(trial: TrialIntegrity) -> Iterator[str]:
    name = Path(trial.trial).name
    for finding in trial.findings[:_LISTED]:
        where = finding.action or "final workspace"
        hint = "" if finding.sure else ", a hint"
        what = f"{finding.kind} ({finding.rule}, {finding.severity}{hint})"
        yield f"{name} {where}: {what}: {finding.evidence[:_EVIDENCE]}"
    if len(trial.findings) > _LISTED:
        yield f"{name}: {len(trial.findings) - _LISTED} more findings (--json has them all)"
    for panel in trial.panels[-1:]:
        cost = "unknown" if panel.cost_usd.best is None else f"${panel.cost_usd.best:.4f}"
        old = ", before the trial went on" if panel.outdated else ""
        yield f"{name}: panel {panel.panel} of {panel.judges} judges ({', '.join(panel.models)}), cost {cost}{old}"
        for vote in panel.votes:
            if vote.outcome != "valid":
                how = (vote.outcome or "cut off").replace("_", " ")
                reasons = [one.malformed for one in vote.asks] + [one.detail for one in reversed(vote.asks)]
                why = " ".join(next(filter(None, reasons), "").split())[:_WHY]
                said = f" ({why})" if why else ""
                yield f"  judge {vote.judge} ({vote.model}): {how}, no vote{said}"
            for kind, answer in vote.answers.items():
                if answer.violated:
                    why = " ".join(answer.why.split())[:_WHY]
                    yield f"  judge {vote.judge} ({vote.model}): {kind}, step {answer.step}: {why}"
    for note in trial.notes:
        yield f"{name}: {note}"


def _agreement(found: Agreement) -> Text:
    kappa = found.fleiss_kappa
    words = f"Fleiss' kappa {kappa.value:.3f}" if kappa.value is not None else f"no kappa: {kappa.why_none}"
    rate = "" if found.disagreement_rate is None else f"judges disagree on {found.disagreement_rate:.1%} of questions; "
    return Text(f"{rate}{words} ({kappa.subjects} questions)")
