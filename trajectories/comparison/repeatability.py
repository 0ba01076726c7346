"""Commands that may not reproduce, because of the clock, randomness, the network, process ids or an order.

A finding is a prediction for people and not a proof: nothing is run. The text of a command shows what it depends on,
and its recorded output shows if that was printed. A dependency that left no trace in the output is not a finding,
except on the network, because a replay may have none. Shell commands count only in text that the shell reads as
commands, and not in here-documents, quoted texts or comments. Calls in Python and other languages count everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trajectories.comparison.clock import Span, seconds_of
from trajectories.comparison.evidence import shows_order, shows_value, traces
from trajectories.comparison.shell_text import shell_text
from trajectories.reading.reader import first_event, read_events
from trajectories.record.events import ActionFinished, ActionStarted, Event

_START = r"(?:^|[|;&(`\n]|\$\(|\b(?:then|do|else|sudo|time|xargs|exec|env|nohup|watch)\b)\s*"
_END = r"(?![\w=./-])"
_UNSORTED = r"(?![^\n;]*\|\s*(?:sort|wc)\b)"

SHELL: dict[str, re.Pattern[str]] = {
    "clock": re.compile(
        rf"{_START}(?:date|time|uptime|cal|who|last){_END}|\$\{{?(?:SECONDS|EPOCH(?:SECONDS|REALTIME))\b"
        rf"|{_START}ls\s+(?:-[\w-]+\s+)*-\w*l|{_START}stat\s|{_START}(?:ll|make\s+-\w*d){_END}|%\([^)\n]{{0,20}}\)T"
        rf"|{_START}git\s+(?:log|show)\b(?!\s+--oneline)",
        re.M,
    ),
    "randomness": re.compile(
        rf"\$\{{?S?RANDOM\b|/dev/u?random\b|{_START}(?:shuf|mktemp|uuidgen){_END}|\bsort\s+-\w*R|/random/uuid\b"
        rf"|{_START}openssl\s+rand\b",
        re.M,
    ),
    "network": re.compile(
        rf"{_START}(?:curl|wget|ssh|scp|sftp|rsync|ping|nc|telnet|dig|nslookup|host){_END}|/dev/tcp/"
        r"|\bgit\s+(?:clone|fetch|pull|push|ls-remote)\b|\b(?:pip3?|uv|poetry|conda)\s+(?:install|download|sync|add)\b"
        r"|\b(?:apt|apt-get|apk|dnf|yum)\s+(?:-\w+\s+)*(?:update|install|add|upgrade)\b"
        r"|\b(?:npm|yarn|pnpm)\s+(?:install|ci|add|i)\b|\bcargo\s+(?:install|fetch|add)\b|\bgo\s+(?:get|install)\b"
        r"|\bgo\s+mod\s+(?:download|tidy)\b|\bgem\s+install\b",
        re.M,
    ),
    "process ids": re.compile(
        rf"\$\$|\$!|\$\{{?(?:BASH)?P?PID\b|{_START}(?:ps|pgrep|pidof|pstree|jobs\s+-\w*[lp]|top|lsof){_END}", re.M
    ),
    "directory order": re.compile(
        rf"{_START}find{_END}(?![^\n]*-(?:delete|quit)\b){_UNSORTED}|{_START}grep\s+(?:-[\w-]+\s+)*-\w*[rR]{_UNSORTED}"
        rf"|{_START}(?:rg|ag){_END}{_UNSORTED}|{_START}ls\s+(?:-[\w-]+\s+)*-\w*[Uf]\b|{_START}(?:tar|zip|du)\s"
        rf"(?=[^\n]*\s-?\w*[cr]\w*\s){_UNSORTED}",
        re.M,
    ),
    "background processes": re.compile(
        rf"(?<![&>|<\d\\])&(?![&>\d])|{_START}(?:nohup|setsid|disown|coproc){_END}|\bxargs\s+(?:-\w+\s+)*-P"
        r"|\bmake\s+(?:-\w+\s+)*-j|\bparallel\b",
        re.M,
    ),
}
"""Patterns of each cause in the shell's own words."""
CODE: dict[str, re.Pattern[str]] = {
    "clock": re.compile(
        r"\btime\.(?:time|time_ns|monotonic|perf_counter|ctime|localtime|strftime)\(|\b(?:datetime|date)\.(?:now|today|utcnow)\("
        r"|\bDate\.now\(|\bnew Date\(\)|\bclock_gettime\(|\btime\.Now\(|\bInstant::now\(|\bgettimeofday\("
    ),
    "randomness": re.compile(
        r"\brandom\.(?!seed\b)\w+\(|\bsecrets\.\w+\(|\buuid[14]\(|\burandom\(|\bMath\.random\(|\brand\(\)|\btempfile\.\w+\("
    ),
    "network": re.compile(
        r"\brequests\.(?:get|post|put|head)\(|\burlopen\(|\bsocket\.(?:create_connection|socket)\(|\bhttp\.Get\("
    ),
    "process ids": re.compile(r"\bgetp?pid\(|\bprocess\.pid\b|\bos\.Getpid\("),
    "directory order": re.compile(
        r"(?<!sorted\()\bos\.(?:listdir|scandir|walk)\(|\breaddir(?:Sync)?\(|(?<!sorted\()\bglob\.i?glob\(|\.(?:iterdir|rglob)\("
    ),
    "background processes": re.compile(r"\bos\.fork\(|\bmultiprocessing\."),
}
"""Patterns of each cause in code of any language, anywhere in a script."""
CAUSES = (*SHELL, "addresses", "hash order")
_ENDS_ELSEWHERE = re.compile(r"(?<![0-9&])>{1,2}(?!\s*/dev/null|&)|\btee\b")
"""Redirection of an output to a file, where no trace of it was recorded."""
_SHOWS_ITSELF = re.compile(
    rf"{_START}(?:date|shuf|mktemp|uuidgen)\b|\$\{{?S?RANDOM\b|\$\$|\$\{{?(?:SECONDS|EPOCH|BASHPID|PPID)|/dev/u?random|/random/uuid"
    rf"|{_START}openssl\s+rand\b|{_START}(?:ps|pgrep|pidof|top)\b|\bsort\s+-\w*R|%\([^)\n]{{0,20}}\)T",
    re.M,
)
"""Commands that print a value which has no form of its own."""
_SEEDED = re.compile(r"\brandom\.seed\(\s*[^\s)]|\bRandom\(\s*[^\s)]")
_MOST = 1 << 18
"""Number of characters of a script that are examined."""


@dataclass(frozen=True)
class Finding:
    """A command that shows a cause, with the text of the command or of its output that shows it."""

    action: str
    cause: str
    text: str
    predicted: bool = True
    """True if its output or the workspace will probably differ; False if that depends on the place of the replay."""


@dataclass(frozen=True)
class RepeatabilityReport:
    """A trial's commands that may not reproduce."""

    trial: Path
    commands: int
    findings: list[Finding]

    def json(self) -> dict[str, Any]:
        """Return the report as `agent doctor TRIAL --json` prints it."""
        counts = {cause: sum(finding.cause == cause for finding in self.findings) for cause in CAUSES}
        return {
            "trial": str(self.trial),
            "commands": self.commands,
            "causes": counts,
            "findings": [
                {
                    "action": finding.action,
                    "cause": finding.cause,
                    "text": finding.text,
                    "predicted": finding.predicted,
                }
                for finding in self.findings
            ],
        }

    @property
    def line(self) -> str:
        """A summary in one line."""
        affected = {finding.action for finding in self.findings if finding.predicted}
        others = {finding.action for finding in self.findings} - affected
        line = f"{len(affected)} of {self.commands} commands will probably differ in a replay"
        return f"{line}, {len(others)} more possibly" if others else line


def report(trial: Path) -> RepeatabilityReport:
    """Examine the commands of a recorded trial and their outputs.

    Raises: RecordError.
    """
    first_event(trial)
    events = list(read_events(trial))
    started = {event.action for event in events if isinstance(event, ActionStarted)}
    return RepeatabilityReport(trial, len(started), findings(events))


def findings(events: Iterable[Event]) -> list[Finding]:
    """Return every cause of every command in the order of the record; a command that started twice counts once."""
    distinct: dict[tuple[str, str], Finding] = {}
    scripts: dict[str, str] = {}
    began_s: float | None = None
    ended: set[str] = set()
    for event in events:
        seconds = seconds_of(event)
        began_s = seconds if began_s is None else began_s
        if isinstance(event, ActionStarted):
            scripts[event.action] = event.command
        elif isinstance(event, ActionFinished) and event.action in scripts:
            ended.add(event.action)
            span = None if began_s is None or seconds is None else Span(began_s, seconds)
            for finding in _of_action(scripts[event.action], event, span):
                distinct.setdefault((finding.action, finding.cause), finding)
    for action in scripts.keys() - ended:
        for cause, text in causes(scripts[action]):
            distinct.setdefault((action, cause), Finding(action, cause, text, predicted=False))
    order = {action: place for place, action in enumerate(scripts)}
    return sorted(distinct.values(), key=lambda finding: order[finding.action])


def _of_action(script: str, finished: ActionFinished, span: Span | None) -> Iterator[Finding]:
    output = finished.output.text + ("" if finished.stderr is None else "\n" + finished.stderr.text)
    for cause, line in traces(script, output, span):
        yield Finding(finished.action, cause, _short(line.strip()))
    shell = shell_text(script[:_MOST])
    for cause, text in causes(script):
        if cause == "directory order":
            shown = shows_order(output)
        elif cause in ("clock", "randomness", "process ids"):
            itself = _SHOWS_ITSELF.search(shell) is not None or CODE[cause].search(script) is not None
            shown = itself and (shows_value(output) or _ENDS_ELSEWHERE.search(shell) is not None)
        else:
            shown = False
        if shown or cause == "network":
            yield Finding(finished.action, cause, text, predicted=shown)


def causes(script: str) -> list[tuple[str, str]]:
    """Return each cause that a script shows, with the first line that shows it."""
    script = script[:_MOST]
    shell = shell_text(script)
    shown = []
    for cause in SHELL:
        hits = [hit for hit in (SHELL[cause].search(shell), CODE[cause].search(script)) if hit is not None]
        if cause == "randomness" and _SEEDED.search(script):
            hits = [hit for hit in hits if hit.re is not CODE[cause]]
        if hits:
            shown.append((cause, _line_of(script, min(hit.start() for hit in hits))))
    return shown


def _line_of(script: str, at: int, width: int = 80) -> str:
    at += len(script[at:]) - len(script[at:].lstrip())
    start = script.rfind("\n", 0, at) + 1
    return _short(script[start:].split("\n", 1)[0].strip(), width)


def _short(line: str, width: int = 80) -> str:
    return line if len(line) <= width else line[: width - 3] + "..."
