"""Signs in a recorded output that the same command will print something else in a replay.

The text of a command tells what it may depend on; its output tells whether that shows. `find` that printed one path has
no order, and `ls -l` that printed last year's dates will print them again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trajectories.comparison.clock import Span, without_dates, without_times
from trajectories.comparison.durations import without_measured
from trajectories.comparison.noise import NORMALIZERS, Circumstances

_LINES = 2000
"""Number of lines of an output that are examined."""
_LINE_CHARACTERS = 2000
_GREP = re.compile(r"^([^\s:]{1,300})(?::|-\d+-|$)")
_SET = re.compile(r"\{(?:'[^'{}:]{0,80}'|\"[^\"{}:]{0,80}\")(?:, (?:'[^'{}:]{0,80}'|\"[^\"{}:]{0,80}\"))+\}")
_READS = re.compile(r"^\s*(?:cd \S+ (?:&&|;) )?(?:cat|sed -n|head|tail|grep|git diff|git show|nl)\b(?![^\n]*<<)")
"""Commands that show what a file holds: a set in it is source code, and was not printed by a program."""
_NETWORK = re.compile(
    r"(?i)\bDownloading \S|\bCollecting \S|\bRetrying \(|^Get:\d+ |\bFetched \d|Cloning into|\bcould not resolve\b"
    r"|\bname resolution\b|\bConnection (?:refused|reset|timed out)\b|% Total +% Received"
)
_NEW_COMMIT = re.compile(r"^\[(?:[\w/.-]{1,200}|detached HEAD)(?: \(root-commit\))? [0-9a-f]{7,12}\]")
_NUMBER = re.compile(r"\d")


def traces(script: str, output: str, span: Span | None) -> Iterator[tuple[str, str]]:
    """Yield each cause that an output shows, with the first line that shows it."""
    lines = [line[:_LINE_CHARACTERS] for line in output.split("\n", _LINES)[:_LINES]]
    circumstances = Circumstances(span)
    seen: set[str] = set()
    for line in lines:
        for cause, shown in _of_line(line, circumstances, reads=_READS.match(script) is not None):
            if shown and cause not in seen:
                seen.add(cause)
                yield cause, line


def _of_line(line: str, circumstances: Circumstances, *, reads: bool) -> Iterator[tuple[str, bool]]:
    dated = without_dates(line, circumstances.span)
    changes = without_measured(line) != line or _NEW_COMMIT.match(line) is not None
    yield "clock", changes or dated != line or without_times(dated, circumstances.span) != dated
    yield "randomness", NORMALIZERS["temporary names"](line, circumstances) != line
    yield "process ids", NORMALIZERS["process ids"](line, circumstances) != line
    yield "addresses", NORMALIZERS["addresses"](line, circumstances) != line
    yield "hash order", not reads and _SET.search(line) is not None
    yield "network", _NETWORK.search(line) is not None


def shows_order(output: str) -> bool:
    """Report if an output names at least two files, so that they have an order."""
    names = set()
    for line in output.split("\n", _LINES)[:_LINES]:
        match = _GREP.match(line[:_LINE_CHARACTERS])
        if match is not None and ("/" in match[1] or "." in match[1]):
            names.add(match[1])
    return len(names) > 1


def shows_value(output: str) -> bool:
    """Report if an output may hold a number that a clock, a generator or the kernel chose."""
    return _NUMBER.search(output) is not None
