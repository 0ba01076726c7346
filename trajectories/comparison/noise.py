"""Named kinds of noise in outputs: differences between runs that have no meaning.

A pattern here must not remove a result of a program: a size, a line number, a checksum, a date in its data. It sees one
line at a time, and its time is linear in the length of any line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = rf"(?:{'|'.join(_MONTHS)})"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_ZONE = r"(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})"
_MARGIN = timedelta(days=2)
"""Time before and after a trial that still counts as its time: clocks and time zones differ between machines."""


@dataclass(frozen=True)
class Span:
    """The time of an output: from the beginning of its trial to its end, in seconds since 1970.

    Only dates and seconds within this time, or close to it, are noise; all others are data.
    """

    start_s: float
    end_s: float

    def holds(self, seconds: float) -> bool:
        """Return True for seconds since 1970 within the span and its margins."""
        margin = _MARGIN.total_seconds()
        return self.start_s - margin <= seconds <= self.end_s + margin

    def holds_day(self, year: int | None, month: int, day: int) -> bool:
        """Return True for a day within the span and its margins; without a year, the day of any of its years."""
        first = date.fromtimestamp(self.start_s) - _MARGIN
        last = date.fromtimestamp(self.end_s) + _MARGIN
        try:
            days = [date(candidate, month, day) for candidate in ({first.year, last.year} if year is None else {year})]
        except ValueError:
            return False
        return any(first <= day_of_year <= last for day_of_year in days)


Normalizer = Callable[[str, Span | None], str]
"""Function that removes its noise from one line; with None for the time of the output, every date is data."""


def _replace(pattern: str, by: str) -> Normalizer:
    compiled = re.compile(pattern)
    return lambda line, _: compiled.sub(by, line)


_DATE = re.compile(
    rf"\b(?:{_DAY},? )?(?:(?P<month>{_MONTH}) {{1,2}}(?P<day>\d{{1,2}})(?:,? {{1,2}}(?P<year>\d{{4}}))?"
    rf"|(?P<day2>\d{{1,2}}) (?P<month2>{_MONTH}) (?P<year2>\d{{4}})"
    r"|(?P<year3>\d{4})-(?P<month3>\d{2})-(?P<day3>\d{2}))(?=\b|T)"
)


def _dates(line: str, span: Span | None) -> str:
    def replaced(match: re.Match[str]) -> str:
        year, month, day = (
            next((value for name, value in match.groupdict().items() if value and name.rstrip("23") == part), None)
            for part in ("year", "month", "day")
        )
        assert month is not None
        assert day is not None
        number = _MONTHS.index(month) + 1 if month in _MONTHS else int(month)
        of_trial = span is not None and span.holds_day(int(year) if year else None, number, int(day))
        return "<date>" if of_trial else match[0]

    return _DATE.sub(replaced, line)


def same_dates_kept(first: str, second: str) -> tuple[str, str]:
    """Return both lines with each date that is the same in both at its place made unreadable as noise."""
    dates = [[match[0] for match in _DATE.finditer(line)] for line in (first, second)]
    if len(dates[0]) != len(dates[1]):
        return first, second
    same = [mine == other for mine, other in zip(*dates, strict=True)]

    def marked(line: str) -> str:
        at = iter(same)
        return _DATE.sub(lambda match: "0000-00-00" if next(at) else match[0], line)

    return marked(first), marked(second)


_CLOCK = r"(?:[01]?\d|2[0-3]):[0-5]\d"
_FRACTION = r"(?:[.,]\d+)?"
_NO_DATA = rf"(?<!\d-\d\d )(?<!{_MONTH} [\d ]\d )"
"""A time after a date is data, unless the date was already removed as noise."""
_TIME = re.compile(
    rf"{_NO_DATA}(?<![\w:.]){_CLOCK}:[0-5]\d{_FRACTION}(?: ?{_ZONE})?(?: \d{{4}}\b)?(?![\w:])"
    rf"|(?<=>T){_CLOCK}(?::[0-5]\d{_FRACTION})?{_ZONE}?(?![\w:])"
    rf"|(?<=[ (\[]){_NO_DATA}{_CLOCK}(?![\w:])"
)
_SECONDS = re.compile(r"(?<![\w.])(1\d{9})(?:\.\d+|\d{3}|\d{6}|\d{9})?(?![\w.])")


def _times(line: str, span: Span | None) -> str:
    def replaced(match: re.Match[str]) -> str:
        return "<time>" if span is not None and span.holds(float(match[1])) else match[0]

    return _SECONDS.sub(replaced, _TIME.sub("<time>", line))


_BRACES = re.compile(r"\{([^{}\n]*)\}")


def _braces_sorted(line: str, _: Span | None) -> str:
    """Sort sets and mappings of texts; those of numbers have a fixed order."""

    def replaced(match: re.Match[str]) -> str:
        items = match[1].split(", ")
        plain = not re.search(r"[\[\]()]", match[1]) and all(item[:1] in ("'", '"', "<") for item in items)
        return "{" + ", ".join(sorted(items)) + "}" if plain and len(items) > 1 else match[0]

    return _BRACES.sub(replaced, line)


_HEX = r"(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]"
_COMMIT = re.compile(
    rf"(?<=\bcommit ){_HEX}{{7,40}}\b|(?<=HEAD is now at ){_HEX}{{7,40}}\b|(?<=\(root-commit\) ){_HEX}{{7,12}}(?=\])"
    rf"|^(?:[*|/\\ ]{{0,40}}){_HEX}{{7,12}}(?= (?:\(|\S*[g-zG-Z]))|^{_HEX}{{40}}$"
    rf"|^Merge: [0-9a-f]{{7,40}} [0-9a-f]{{7,40}}$|(?<=^Updating )[0-9a-f]{{7,40}}\.\.[0-9a-f]{{7,40}}"
    rf"|(?<=^\[)(?:[\w/.-]{{1,200}}|detached HEAD) {_HEX}{{7,12}}(?=\])|(?<=^From ){_HEX}{{40}}\b"
)

NORMALIZERS: dict[str, Normalizer] = {
    "temporary names": _replace(
        r"\btmp\.[A-Za-z0-9]{10}\b|(?<=/)tmp[a-z0-9_]{8}\b|(?<=/tmp/)cc[A-Za-z0-9]{6}\b"
        r"|(?<=/)pytest-of-[\w-]{1,64}/pytest-\d+|(?<=/tmp/)(?:pip|npm)-[\w-]+|(?<=/)retrace-\d+-\d+-(?:\d+-)?\w+",
        "<temporary>",
    ),
    "dates": _dates,
    "durations": _replace(
        r"(?<![\w.])\d+m ?\d+(?:\.\d+)?s\b|(?<![\w.])\d+(?:\.\d+)? ?(?:ns|us|µs|ms|s|secs?|seconds?)\b", "<duration>"
    ),
    "times": _times,
    "addresses": _replace(
        r"(?<=\bat )0x[0-9a-fA-F]{6,16}\b|\b0x[0-9a-fA-F]{9,12}\b|\b0x(?:0000|ffff)[0-9a-fA-F]{12}\b", "<address>"
    ),
    "process ids": _replace(
        r"(?i)(?<=\bpid)[ =:]{1,2}\d+\b|(?<=\bprocess )\d{2,7}\b(?! \w)|(?<=:) {1,8}\d{1,7} (?=(?:Killed|Terminated"
        r"|Aborted|Segmentation fault|Bus error|Floating point|Illegal)\b)|(?<=/proc/)\d+"
        r"|(?<=\])[+-]? +\d+(?= +(?:Running|Done|Killed|Terminated|Stopped|Exit)\b)",
        "<process>",
    ),
    "commit hashes": lambda line, _: _COMMIT.sub("<commit>", line),
    "hash-seeded order": _braces_sorted,
}
"""Functions that each remove one kind of noise from a line, in the order of application."""
