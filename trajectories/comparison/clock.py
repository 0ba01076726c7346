"""Dates and times of the day that a run left in its outputs, told apart from those in its data by when it ran."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from trajectories.record.events import BaseEvent

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = rf"(?:{'|'.join(_MONTHS)})"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_ZONE = r"(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})"
_MARGIN = timedelta(days=2)
"""Time before and after a trial that still counts as its time: clocks and time zones differ between machines."""
_ZONES_S = 15 * 60
"""Time zones differ by multiples of this, so that only the rest of a time of the day is known in all of them."""
_CLOCK_MARGIN_S = 60


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

    def holds_clock(self, seconds: int) -> bool:
        """Return True for a time of the day, in seconds, that some time zone showed within the span and a minute."""
        since = (seconds - self.start_s + _CLOCK_MARGIN_S) % _ZONES_S
        return since <= self.end_s - self.start_s + 2 * _CLOCK_MARGIN_S


_DATE = re.compile(
    rf"\b(?:{_DAY},? )?(?:(?P<month>{_MONTH}) {{1,2}}(?P<day>\d{{1,2}})(?:,? {{1,2}}(?P<year>\d{{4}}))?"
    rf"|(?P<day2>\d{{1,2}}) (?P<month2>{_MONTH}) (?P<year2>\d{{4}})"
    r"|(?P<year3>\d{4})-(?P<month3>\d{2})-(?P<day3>\d{2}))(?=\b|T)"
)


def without_dates(line: str, span: Span | None) -> str:
    """Remove the dates of a run; without its time, every date is data."""

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


_HOUR = r"(?:[01]?\d|2[0-3])"
_FRACTION = r"(?:[.,]\d+)?"
_NO_DATA = rf"(?<!\d-\d\d )(?<!{_MONTH} [\d ]\d )"
"""A time after a date is data, unless the date was already removed as noise."""
_AFTER_DATE = re.compile(
    rf"(?<=<date>)(?:T| {{1,2}}){_HOUR}:[0-5]\d(?::[0-5]\d{_FRACTION})?(?: ?{_ZONE})?(?: \d{{4}}\b)?(?![\w:])"
)
_ALONE = re.compile(
    rf"{_NO_DATA}(?<![\w:.])(?P<h>{_HOUR}):(?P<m>[0-5]\d):(?P<s>[0-5]\d){_FRACTION}(?: ?{_ZONE})?(?![\w:])"
    rf"|(?<=[ (\[]){_NO_DATA}(?P<h2>{_HOUR}):(?P<m2>[0-5]\d)(?![\w:])"
)
_SECONDS = re.compile(r"(?<![\w.])(1\d{9})(?:\.\d+|\d{3}|\d{6}|\d{9})?(?![\w.])")


def without_times(line: str, span: Span | None) -> str:
    """Remove the times of a run: those after one of its dates, and those of the day or since 1970 within its span."""

    def of_day(match: re.Match[str]) -> str:
        hours, minutes = int(match["h"] or match["h2"]), int(match["m"] or match["m2"])
        seconds = [3600 * hours + 60 * minutes + second for second in ([int(match["s"])] if match["s"] else [0, 59])]
        return "<time>" if span is not None and any(span.holds_clock(second) for second in seconds) else match[0]

    def since_1970(match: re.Match[str]) -> str:
        return "<time>" if span is not None and span.holds(float(match[1])) else match[0]

    line = _AFTER_DATE.sub(" <time>", line)
    return _SECONDS.sub(since_1970, _ALONE.sub(of_day, line))


def seconds_of(event: BaseEvent) -> float | None:
    """Return the time of an event in seconds since 1970; None if the record does not hold it."""
    try:
        return datetime.fromisoformat(event.t).timestamp()
    except (ValueError, OverflowError):
        return None
