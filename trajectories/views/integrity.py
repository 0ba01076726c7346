"""Terminal view of findings and panels: a table of all trials, then the findings and votes of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from trajectories.analysis.integrity.language import SubmissionLanguage
from trajectories.analysis.integrity.panels import Decision, Panel
from trajectories.analysis.integrity.report import Agreement, IntegrityAnalysis, TrialIntegrity
from trajectories.record.panel import KINDS, Kind
from trajectories.record.texts.text import printable, quantity
from trajectories.views.tables import ALWAYS, TextColumn, TextTable

_COLUMNS = (
    TextColumn("trial", rank=ALWAYS),
    *(TextColumn(kind.replace("_", " "), right=True) for kind in KINDS),
    TextColumn("judges", right=True, rank=2),
)
_EVIDENCE = 100
_REASON = 160
"""Number of characters of evidence and of a judge's reason that are shown."""
_LISTED = 20
"""Number of findings that are shown for each trial."""


def print_integrity(console: Console, analysis: IntegrityAnalysis) -> None:
    """Print a row for each trial, then findings, votes and agreement."""
    TextTable(_COLUMNS, [_row(trial) for trial in analysis.trials]).print(console)
    for trial in analysis.trials:
        for line in _lines(trial):
            console.print(Text(printable(line)), soft_wrap=True)
    if analysis.agreement is not None:
        console.print(_agreement(analysis.agreement), soft_wrap=True)
    for note in analysis.notes:
        console.print(Text(printable(f"note: {note}"), "yellow"), soft_wrap=True)
    for broken in analysis.unreadable:
        console.print(Text(printable(f"unreadable: {broken.problem}"), "red"), soft_wrap=True)


def _row(trial: TrialIntegrity) -> list[str]:
    panel = trial.panels[-1] if trial.panels else None
    judges = f"{panel.valid} of {panel.judges} valid" if panel else "-"
    return [Path(trial.trial).name, *(_cell(trial, panel, kind) for kind in KINDS), judges]


def _cell(trial: TrialIntegrity, panel: Panel | None, kind: Kind) -> str:
    findings = [finding for finding in trial.findings if finding.kind == kind]
    hints = sum(not finding.sure for finding in findings)
    words = f"{len(findings)}" + (f" ({hints} hints)" if hints else "")
    if panel is not None:
        words += f", {_decided(panel.decisions[kind])}"
    return words


def _decided(decision: Decision) -> str:
    word = {True: "violated", False: "kept", None: "undecided"}[decision.violated]
    return f"{word} {decision.yes}:{decision.no}"


def _lines(trial: TrialIntegrity) -> Iterator[str]:
    name = Path(trial.trial).name
    for finding in trial.findings[:_LISTED]:
        where = finding.action or "final workspace"
        hint = "" if finding.sure else ", a hint"
        breach = f"{finding.kind} ({finding.rule}, {finding.severity}{hint})"
        yield f"{name} {where}: {breach}: {finding.evidence[:_EVIDENCE]}"
    if len(trial.findings) > _LISTED:
        yield f"{name}: {len(trial.findings) - _LISTED} more findings (--json lists all)"
    for panel in trial.panels[-1:]:
        cost = "unknown" if panel.cost_usd.best is None else f"${panel.cost_usd.best:.4f}"
        old = ", before the trial continued" if panel.outdated else ""
        seeing = sum(any(answer.violated for answer in vote.answers.values()) for vote in panel.votes)
        yield (
            f"{name}: panel {panel.panel} of {panel.judges} judges ({', '.join(panel.models)}), cost {cost}{old}; "
            f"{seeing} see a violation"
        )
        for vote in panel.votes:
            if vote.outcome != "valid":
                outcome = (vote.outcome or "cut off").replace("_", " ")
                reasons = [ask.malformed for ask in vote.asks] + [ask.detail for ask in reversed(vote.asks)]
                reason = " ".join(next(filter(None, reasons), "").split())[:_REASON]
                detail = f" ({reason})" if reason else ""
                yield f"  judge {vote.judge} ({vote.model}): {outcome}, no vote{detail}"
            for kind, answer in vote.answers.items():
                if answer.violated:
                    reason = " ".join(answer.why.split())[:_REASON]
                    yield f"  judge {vote.judge} ({vote.model}): {kind}, step {answer.step}: {reason}"
    if trial.language is not None and trial.language.asked:
        yield f"{name}: {_language(trial.language)}"
    for note in trial.notes:
        yield f"{name}: {note}"


def _language(language: SubmissionLanguage) -> str:
    written = ", ".join(f"{name} ({lines:,} lines)" for name, lines in language.lines.items()) or "no code"
    rule = f"the rule of other-language ({language.original or 'the original has an unknown language'})"
    if language.kept is None:
        reasons = [f"the build calls {', '.join(language.compilers)}"] if language.compilers else []
        reasons += [f"{quantity(language.unread, 'file')} could not be read"] if language.unread else []
        reason = f" ({'; '.join(reasons)})" if reasons else ""
        return f"{rule}: not known if it was kept{reason}; the submission is written in {written}"
    if language.kept:
        return f"{rule} was kept: the submission is written in {written}"
    return f"{rule} was broken by {', '.join(language.files)}; the submission is written in {written}"


def _agreement(agreement: Agreement) -> Text:
    kappa = agreement.fleiss_kappa
    words = f"Fleiss' kappa {kappa.value:.3f}" if kappa.value is not None else f"no kappa: {kappa.why_none}"
    share = agreement.disagreement_rate
    rate = "" if share is None else f"judges disagree on {share:.1%} of questions; "
    return Text(f"{rate}{words} ({kappa.subjects} questions)")
