"""What in recorded commands is likely not to give the same again: clock, randomness, network, ids, order.

A warning for people, found by looking at the text of the commands; nothing is run, and a finding is no proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from trajectories.events import ActionStarted, Event

_START = r"(?:^|[|;&(`\n]|\$\(|\bthen\b|\bdo\b|\belse\b|\bsudo\b|\btime\b|\bxargs\b)\s*"

CAUSES: dict[str, re.Pattern[str]] = {
    "clock": re.compile(
        rf"{_START}(?:date|time|uptime|cal)\b|\$\{{?(?:SECONDS|EPOCH(?:SECONDS|REALTIME))\b|\btime\.time\(|\bdatetime\.now\("
        r"|\bDate\.now\(|\bclock_gettime\b|\bls\s+(?:-\w+\s+)*-\w*l|\bstat\s",
        re.M,
    ),
    "randomness": re.compile(
        rf"\$\{{?S?RANDOM\b|/dev/u?random\b|{_START}(?:shuf|mktemp|uuidgen)\b|\brandom\.|\bsort\s+-\w*R|\bsecrets\.|\buuid4\(",
        re.M,
    ),
    "network": re.compile(
        rf"{_START}(?:curl|wget|ssh|scp|rsync|ping|nc|telnet|dig|nslookup|host)\b|\bgit\s+(?:clone|fetch|pull|push)\b"
        r"|\b(?:pip3?|uv|poetry)\s+(?:install|download|sync|add)\b|\b(?:apt|apt-get|apk|dnf|yum)\s+(?:update|install|add)\b"
        r"|\b(?:npm|yarn|pnpm)\s+(?:install|ci|add|i)\b|\bcargo\s+(?:install|fetch|add)\b|\bgo\s+(?:get|install|mod)\b",
        re.M,
    ),
    "process ids": re.compile(
        rf"\$\$|\$!|\$\{{?(?:BASH)?P?PID\b|{_START}(?:ps|pgrep|pidof|jobs|top)\b|\bgetpid\(", re.M
    ),
    "directory order": re.compile(
        rf"{_START}find\b(?!.*\|\s*sort)|\bgrep\s+(?:-\w+\s+)*-\w*[rR](?!.*\|\s*sort)|\bls\s+(?:-\w+\s+)*-\w*[Uf]\b"
        r"|\bos\.(?:listdir|scandir|walk)\(|\breaddir\b|\bglob\.glob\(",
    ),
    "background processes": re.compile(
        r"(?<![&>|\d])&(?![&>\d])\s*(?:$|\n|[^\s&])|\bnohup\b|\bsetsid\b|\bdisown\b", re.M
    ),
}
"""For each cause, how commands show it."""


@dataclass(frozen=True)
class Finding:
    """One command that shows a cause, with the text that shows it."""

    action: str
    cause: str
    text: str


def findings(events: Iterable[Event]) -> list[Finding]:
    """Every cause of every command, in the order of the record."""
    found = []
    for event in events:
        if isinstance(event, ActionStarted):
            for cause, pattern in CAUSES.items():
                if match := pattern.search(event.script):
                    found.append(Finding(event.action, cause, _line_of(event.script, match.start())))
    return found


def _line_of(script: str, at: int, width: int = 80) -> str:
    at += len(script[at:]) - len(script[at:].lstrip())
    start = script.rfind("\n", 0, at) + 1
    line = script[start:].split("\n", 1)[0].strip()
    return line if len(line) <= width else line[: width - 3] + "..."
