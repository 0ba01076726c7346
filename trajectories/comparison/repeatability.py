"""Commands that may not reproduce, because of the clock, randomness, the network, process ids or an order.

A finding is a warning for people and not a proof: only the text of the commands is examined, and nothing is run. Shell
commands count only in text that the shell reads as commands, and not in here-documents, quoted texts or comments. Calls
in Python and other languages count everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trajectories.comparison.shell_text import shell_text
from trajectories.reading.reader import first_event, read_events
from trajectories.record.events import ActionStarted, Event

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
CAUSES = tuple(SHELL)
_SEEDED = re.compile(r"\brandom\.seed\(\s*[^\s)]|\bRandom\(\s*[^\s)]")
_MOST = 1 << 18
"""Number of characters of a script that are examined."""


@dataclass(frozen=True)
class Finding:
    """A command that shows a cause, with the text that shows it."""

    action: str
    cause: str
    text: str


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
                {"action": finding.action, "cause": finding.cause, "text": finding.text} for finding in self.findings
            ],
        }

    @property
    def line(self) -> str:
        """A summary in one line."""
        affected = len({finding.action for finding in self.findings})
        return f"{affected} of {self.commands} commands may not reproduce"


def report(trial: Path) -> RepeatabilityReport:
    """Examine the commands of a recorded trial.

    Raises: RecordError.
    """
    first_event(trial)
    started = [event for event in read_events(trial) if isinstance(event, ActionStarted)]
    return RepeatabilityReport(trial, len({event.action for event in started}), findings(started))


def findings(events: Iterable[Event]) -> list[Finding]:
    """Return every cause of every command in the order of the record; a command that started twice counts once."""
    distinct: dict[Finding, None] = {}
    for event in events:
        if isinstance(event, ActionStarted):
            for cause, text in causes(event.script):
                distinct[Finding(event.action, cause, text)] = None
    return list(distinct)


def causes(script: str) -> list[tuple[str, str]]:
    """Return each cause that a script shows, with the first line that shows it."""
    script = script[:_MOST]
    shell = shell_text(script)
    shown = []
    for cause in CAUSES:
        hits = [hit for hit in (SHELL[cause].search(shell), CODE[cause].search(script)) if hit is not None]
        if cause == "randomness" and _SEEDED.search(script):
            hits = [hit for hit in hits if hit.re is not CODE[cause]]
        if hits:
            shown.append((cause, _line_of(script, min(hit.start() for hit in hits))))
    return shown


def _line_of(script: str, at: int, width: int = 80) -> str:
    at += len(script[at:]) - len(script[at:].lstrip())
    start = script.rfind("\n", 0, at) + 1
    line = script[start:].split("\n", 1)[0].strip()
    return line if len(line) <= width else line[: width - 3] + "..."
