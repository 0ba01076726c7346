"""Named kinds of noise in outputs, and named kinds of differences that only may be noise.

A kind of noise must not remove a result of a program: a size, a line number, a checksum, a date in its data. It sees
one line at a time, or a pair of lines, and its time is linear in their length.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from trajectories.comparison.braces import sorted_texts
from trajectories.comparison.clock import Span, without_dates, without_times
from trajectories.comparison.durations import without_any, without_measured


@dataclass(frozen=True)
class Circumstances:
    """Facts about an output that tell noise from data."""

    span: Span | None = None
    """Time of the output. Without it, every date is data."""
    git: bool = False
    """True if the command names git, so that a line of 40 hexadecimal digits is a commit and not a checksum."""


Normalizer = Callable[[str, Circumstances], str]
"""Function that removes its noise from one line."""


def _replace(pattern: str, by: str) -> Normalizer:
    compiled = re.compile(pattern)
    return lambda line, _: compiled.sub(by, line)


_HEX = r"(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]"
_COMMIT = re.compile(
    rf"(?<=\bcommit ){_HEX}{{7,40}}\b|(?<=HEAD is now at ){_HEX}{{7,40}}\b|(?<=\(root-commit\) ){_HEX}{{7,12}}(?=\])"
    rf"|^(?:[*|/\\ ]{{0,40}}){_HEX}{{7,12}}(?= (?:\(|\S*[g-zG-Z]))|^{_HEX}{{40}}$"
    rf"|^Merge: [0-9a-f]{{7,40}} [0-9a-f]{{7,40}}$|(?<=^Updating )[0-9a-f]{{7,40}}\.\.[0-9a-f]{{7,40}}"
    rf"|(?<=^\[)(?:[\w/.-]{{1,200}}|detached HEAD) {_HEX}{{7,12}}(?=\])|(?<=^From ){_HEX}{{40}}\b"
)
_BLOBS = re.compile(r"(?<=^index )([0-9a-f]{7,40})\.\.([0-9a-f]{7,40})(?= \d{6}$|$)")
_BUILD = r"(?: \([^()]{0,100}\) \[[^\]]{0,100}\])?"


def _commits(line: str, circumstances: Circumstances) -> str:
    return _COMMIT.sub("<commit>", line) if circumstances.git else line


def _same_abbreviation(first: str, second: str) -> tuple[str, str]:
    """Shorten the hashes of git's `index` lines to the same number of digits; git chooses it by the size of a clone."""
    matches = [_BLOBS.search(line) for line in (first, second)]
    if matches[0] is None or matches[1] is None:
        return first, second
    lengths = [min(len(mine), len(other)) for mine, other in zip(matches[0].groups(), matches[1].groups(), strict=True)]

    def shortened(line: str) -> str:
        return _BLOBS.sub(lambda match: f"{match[1][: lengths[0]]}..{match[2][: lengths[1]]}", line)

    return shortened(first), shortened(second)


_SHORT_ADDRESS = re.compile(r"\b0x([1-9a-f][0-9a-f]{3,8})([0-9a-f]{2}[08])\b(?![.-])")


def _same_page_offset(first: str, second: str) -> tuple[str, str]:
    """Remove the page of short addresses that lie at the same place in it, as those of a heap that was moved do.

    Numbers at the beginning of a page stay: they may be sizes and flags.
    """
    numbers = [_SHORT_ADDRESS.findall(line) for line in (first, second)]
    if len(numbers[0]) != len(numbers[1]):
        return first, second
    moved = [mine[1] == other[1] != "000" for mine, other in zip(*numbers, strict=True)]

    def removed(line: str) -> str:
        at = iter(moved)
        return _SHORT_ADDRESS.sub(lambda match: f"0x<page>{match[2]}" if next(at) else match[0], line)

    return removed(first), removed(second)


NORMALIZERS: dict[str, Normalizer] = {
    "temporary names": _replace(
        r"\btmp\.[A-Za-z0-9]{10}\b|(?<=/)tmp[a-z0-9_]{8}\b|(?<=/tmp/)cc[A-Za-z0-9]{6}\b"
        r"|(?<=/)pytest-of-[\w-]{1,64}/pytest-\d+|(?<=/tmp/)(?:pip|npm)-[\w-]+|(?<=/)retrace-\d+-\d+-(?:\d+-)?\w+",
        "<temporary>",
    ),
    "dates": lambda line, circumstances: without_dates(line, circumstances.span),
    "durations": lambda line, _: without_measured(line),
    "times": lambda line, circumstances: without_times(line, circumstances.span),
    "addresses": _replace(
        r"(?<=\bat )0x[0-9a-fA-F]{6,16}\b|\b0x(?:0000)?(?:5[4-6]|7[ef])[0-9a-f]{10}\b"
        r"|\b0x(?:aaaa|ffff)[0-9a-f]{8,12}\b",
        "<address>",
    ),
    "process ids": _replace(
        r"(?i)(?<=\bpid)[ =:]{1,2}\d+\b|(?<=\bin process )\d{2,7}\b|(?<=:) {1,8}\d{1,7} (?=(?:Killed|Terminated"
        r"|Aborted|Segmentation fault|Bus error|Floating point|Illegal)\b)|(?<=/proc/)\d+"
        r"|(?<=\])[+-]? +\d+(?= +(?:Running|Done|Killed|Terminated|Stopped|Exit)\b)",
        "<process>",
    ),
    "commit hashes": _commits,
    "hash-seeded order": lambda line, _: sorted_texts(line),
    "interpreter banners": _replace(
        rf"(?<=^Python )(\d\.\d+)\.\d+{_BUILD}(?= on \w+$)|(?<= -- Python )(\d\.\d+)\.\d+(?=, pytest-)",
        r"\1\2.<patch>",
    ),
}
"""Functions that each remove one kind of noise from a line, in the order of application."""

PAIRED: dict[str, Callable[[str, str], tuple[str, str]]] = {
    "abbreviated hashes": _same_abbreviation,
    "heap addresses": _same_page_offset,
}
"""Functions that each remove one kind of noise that only both lines together show. They are applied first."""

SUSPECTED: dict[str, Normalizer] = {
    "possible durations": lambda line, _: without_any(line),
    "interpreter version": _replace(
        r"(?i)\b(python|pypy|node|ruby|perl|php|openjdk|rustc|cargo|go|gcc|clang|bash)"
        rf"((?:,? version)? ?v?\d+\.\d+)\.\d+{_BUILD}",
        r"\1\2.<patch>",
    ),
}
"""Functions that remove a kind of difference which may be noise or a result. It is named, and stays a difference."""
