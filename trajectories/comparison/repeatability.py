"""What in recorded commands is likely not to give the same again: clock, randomness, network, ids, order.

A warning for people, found by looking at the text of the commands; nothing is run, and a finding is no proof. Words of
the shell count only where the shell reads them: not in a here-document, a quoted text or a comment. Calls of Python and
the like count everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
"""For each cause, how the shell's own words show it."""
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
"""For each cause, how code in any language shows it, wherever it stands."""
CAUSES = tuple(SHELL)
_SEEDED = re.compile(r"\brandom\.seed\(\s*[^\s)]|\bRandom\(\s*[^\s)]")
_MOST = 1 << 18
"""Characters of a script that are looked at."""


@dataclass(frozen=True)
class Finding:
    """One command that shows a cause, with the text that shows it."""

    action: str
    cause: str
    text: str


@dataclass(frozen=True)
class RepeatabilityReport:
    """A trial's findings."""

    trial: Path
    commands: int
    findings: list[Finding]

    def json(self) -> dict[str, Any]:
        """As `agent doctor TRIAL --json` prints it."""
        counts = {cause: sum(one.cause == cause for one in self.findings) for cause in CAUSES}
        return {
            "trial": str(self.trial),
            "commands": self.commands,
            "causes": counts,
            "findings": [{"action": one.action, "cause": one.cause, "text": one.text} for one in self.findings],
        }

    @property
    def line(self) -> str:
        """All of it in a line."""
        several = len({one.action for one in self.findings})
        return f"{several} of {self.commands} commands may not give the same again"


def report(trial: Path) -> RepeatabilityReport:
    """The findings of a recorded trial.

    Raises: RecordError.
    """
    first_event(trial)
    started = [event for event in read_events(trial) if isinstance(event, ActionStarted)]
    return RepeatabilityReport(trial, len({event.action for event in started}), findings(started))


def findings(events: Iterable[Event]) -> list[Finding]:
    """Every cause of every command, in the order of the record; a command that was begun twice counts once."""
    found: dict[Finding, None] = {}
    for event in events:
        if isinstance(event, ActionStarted):
            for cause, text in causes(event.script):
                found[Finding(event.action, cause, text)] = None
    return list(found)


def causes(script: str) -> list[tuple[str, str]]:
    """Each cause that a script shows, with the line that shows it first."""
    script = script[:_MOST]
    shell = shell_text(script)
    found = []
    for cause in CAUSES:
        hits = [hit for hit in (SHELL[cause].search(shell), CODE[cause].search(script)) if hit is not None]
        if cause == "randomness" and _SEEDED.search(script):
            hits = [hit for hit in hits if hit.re is not CODE[cause]]
        if hits:
            found.append((cause, _line_of(script, min(hit.start() for hit in hits))))
    return found


_HERE = re.compile(r"<<-?[ \t]*(?:(['\"])(?P<quoted>[^'\"\n]{1,80})\1|\\?(?P<plain>\w{1,80}))")
_SHELL_READS = re.compile(r"\b(?:bash|sh|zsh|dash)\b[^\n|;&]*$")


def shell_text(script: str) -> str:
    """What of a script the shell itself reads as words of its own; the rest is blank, at the same length.

    Within double quotes only expansions are left. A here-document or a quoted text that a shell is given (`bash -c`)
    is left as it is.
    """
    out: list[str] = []
    at, size = 0, len(script)
    waiting: list[tuple[str, bool]] = []
    """Here-documents whose bodies begin with the next line: delimiter, and whether a shell reads it."""
    line_start = 0
    while at < size:
        char = script[at]
        if char == "\\" and at + 1 < size:
            out.append("  ")
            at += 2
        elif char == "#" and (at == 0 or script[at - 1] in " \t\n;"):
            end = _index(script, "\n", at)
            out.append(" " * (end - at))
            at = end
        elif char in "'\"":
            end = _quote_end(script, at)
            inside = script[at + 1 : end]
            given = bool(
                re.search(r"(?:^|[\s;&|])(?:ba|z|da)?sh\s+(?:-\w+\s+)*-\w*c\s*$", script[max(line_start, at - 80) : at])
            )
            if given:
                out.append("\n" + inside)
            elif char == '"':
                out.append(" " + re.sub(r"[|;&(\n`](?<!\$\()", " ", inside))
            else:
                out.append(" " * (len(inside) + 1))
            if end < size:
                out.append(" ")
            at = end + 1
        elif char == "<" and script.startswith("<<", at) and not script.startswith("<<<", at):
            found = _HERE.match(script, at)
            if found is not None:
                reads = bool(_SHELL_READS.search(script[max(line_start, at - 200) : at]))
                waiting.append((found["quoted"] or found["plain"], reads))
            length = found.end() - at if found is not None else 2
            out.append(" " * length)
            at += length
        elif char == "\n":
            out.append("\n")
            at += 1
            line_start = at
            for delimiter, reads in waiting:
                end = _body_end(script, at, delimiter)
                out.append(script[at:end] if reads else re.sub(r"[^\n]", " ", script[at:end]))
                at = line_start = end
            waiting = []
        else:
            out.append(char)
            at += 1
    return "".join(out)[:size]


def _quote_end(script: str, at: int) -> int:
    """Where the quote that begins here ends: at its closing one, or with the script."""
    quote, end = script[at], at + 1
    while end < len(script) and script[end] != quote:
        end += 2 if quote == '"' and script[end] == "\\" else 1
    return min(end, len(script))


def _body_end(script: str, at: int, delimiter: str) -> int:
    found = re.compile(rf"^\t*{re.escape(delimiter)}$", re.M).search(script, at)
    return len(script) if found is None else found.end()


def _index(script: str, text: str, at: int) -> int:
    found = script.find(text, at)
    return len(script) if found < 0 else found


def _line_of(script: str, at: int, width: int = 80) -> str:
    at += len(script[at:]) - len(script[at:].lstrip())
    start = script.rfind("\n", 0, at) + 1
    line = script[start:].split("\n", 1)[0].strip()
    return line if len(line) <= width else line[: width - 3] + "..."
