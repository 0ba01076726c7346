"""Terminal view of a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from rich.console import Console
from rich.text import Text

from trajectories.reading.verdict_report import failed_cases
from trajectories.record.texts.text import cut_middle, printable, quantity
from trajectories.record.verdict import Case, SystemChange, Verdict
from trajectories.views.tables import ALWAYS, TextColumn, TextTable

_GROUPS = (TextColumn("group", rank=ALWAYS), TextColumn("passed", right=True), TextColumn("total", right=True))
_NOTE = 600
"""Number of characters of a note that are shown."""
_EXAMPLES = 5
"""Number of failed tests that are shown."""
_REASON = 200
"""Number of characters of a failed test's message that are shown."""
_PATHS = 5
"""Number of changed paths that are shown."""


def print_verdict(console: Console, verdict: Verdict, *, logs: Path | None = None, trial: Path | None = None) -> None:
    """Print the verdict in a line, a table of its groups, the first tests that failed, and its notes.

    `logs` is the directory of the evaluator's logs, and `trial` that of the trial, if there is one.
    """
    if verdict.status == "error":
        console.print(Text(f"no verdict: the evaluator failed: {printable(verdict.error)}", "red"))
        _print_notes(console, verdict)
        _print_places(console, verdict, logs, None)
        return
    word = "passed" if verdict.passed else "not passed"
    console.print(Text(f"verdict: {word}, quality {verdict.quality:.3f}", "bold"))
    groups = [(name, str(group.passed), str(group.total)) for name, group in verdict.groups.items()]
    TextTable(_GROUPS, groups).print(console)
    _print_judged(console, verdict)
    _print_failures(console, failed_cases(verdict))
    _print_notes(console, verdict)
    _print_places(console, verdict, logs, trial)


def print_cases(console: Console, cases: Sequence[Case]) -> None:
    """Print each case with its whole message."""
    for case in cases:
        console.print(Text(printable(f"{case.status:7} {case.id}"), "" if case.status == "passed" else "bold"))
        if case.message:
            lines = "".join(f"        {line}\n" for line in printable(case.message.rstrip("\n")).split("\n"))
            console.print(Text(lines.rstrip("\n")), soft_wrap=True)


def _print_failures(console: Console, failed: Sequence[Case]) -> None:
    """Print the first tests that ran and failed, a line each."""
    ran = [case for case in failed if case.status != "missing"][:_EXAMPLES]
    if not ran:
        return
    more = ", for example" if len(failed) > len(ran) else ""
    console.print(Text(f"{quantity(len(failed), 'test')} failed{more}:"))
    for case in ran:
        reason = " ".join(cut_middle(case.message, _REASON).split())
        console.print(Text(printable(f"  {case.status:7} {case.id}{f': {reason}' if reason else ''}")), soft_wrap=True)


def _print_places(console: Console, verdict: Verdict, logs: Path | None, trial: Path | None) -> None:
    """Print where to look further after a verdict that is not passed."""
    if verdict.passed:
        return
    if logs is not None and logs.is_dir():
        console.print(Text(printable(f"logs: {logs}")), soft_wrap=True)
    if trial is not None and failed_cases(verdict):
        console.print(
            Text(printable(f"all that failed: agent show {quote(str(trial))} --verdict --failed")), soft_wrap=True
        )


def _print_judged(console: Console, verdict: Verdict) -> None:
    """Print what was judged, unless it was just an exported workspace, and if the score can be compared."""
    if verdict.result == "system":
        kept = "with all its processes" if verdict.processes_kept else "without any of its processes"
        system = {"live": "the system itself", "image": "the committed system"}
        judged = system.get(verdict.submission or "", "the system")
        console.print(Text(f"judged: {judged}, {kept}"))
    for name, value in verdict.settings.items():
        console.print(Text(printable(f"evaluated with {name.replace('_', ' ')}: {value}"), "yellow"), soft_wrap=True)
    if verdict.comparable is not None:
        text = "yes" if verdict.comparable else "no"
        console.print(Text(f"comparable with published scores: {text}", "" if verdict.comparable else "yellow"))
    for line in verdict.exposed:
        console.print(
            Text(printable(f"exposed: {' '.join(cut_middle(line, _NOTE).split())}"), "yellow"), soft_wrap=True
        )


def _print_notes(console: Console, verdict: Verdict) -> None:
    if verdict.tampered:
        text = f"tampered: the submission changed what the tests execute or import: {_listed(verdict.tampered)}"
        console.print(Text(text, "bold red"), soft_wrap=True)
    if verdict.changed:
        text = f"note: the submission changed the system that the tests run in: {_listed(verdict.changed)}"
        console.print(Text(text, "yellow"), soft_wrap=True)
    for note in verdict.notes:
        console.print(Text(printable(f"note: {' '.join(cut_middle(note, _NOTE).split())}"), "yellow"), soft_wrap=True)


def _listed(changes: Sequence[SystemChange]) -> str:
    shown = [
        printable(f"{change.path} ({change.reached_by.replace('_', ' ') or change.kind})")
        for change in changes[:_PATHS]
    ]
    more = len(changes) - _PATHS
    return ", ".join([*shown, *([f"and {quantity(more, 'more path')}"] if more > 0 else [])])
