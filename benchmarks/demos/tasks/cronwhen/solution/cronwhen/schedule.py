"""An expression as a schedule: does it match a time, and when does it next."""

import calendar
import datetime

from cronwhen.fields import FIELDS, split

SEARCH_YEARS = 40


class Schedule:
    """The times that an expression matches."""

    def __init__(self, expression):
        self.texts = split(expression)
        minute, hour, day, month, weekday = (
            field.parse(text) for field, text in zip(FIELDS, self.texts)
        )
        self.minutes = sorted(minute)
        self.hours = sorted(hour)
        self.days = day
        self.months = month
        self.weekdays = {number % 7 for number in weekday}
        self.any_day = self.texts[2].startswith("*")
        self.any_weekday = self.texts[4].startswith("*")

    def values(self):
        """The values of each field, for people."""
        return [self.minutes, self.hours, sorted(self.days), sorted(self.months), sorted(self.weekdays)]

    def runs_on(self, date):
        """Whether the date's month, day and weekday match."""
        if date.month not in self.months:
            return False
        day = date.day in self.days
        weekday = (date.weekday() + 1) % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return day and weekday
        return day or weekday

    def matches(self, time):
        """Whether the minute matches."""
        return time.minute in self.minutes and time.hour in self.hours and self.runs_on(time.date())

    def after(self, time):
        """The times that match and are later, in order, for 40 years."""
        first = time.date()
        last = first.replace(year=min(first.year + SEARCH_YEARS, 9999), day=min(first.day, 28))
        for date in days(first, last):
            if not self.runs_on(date):
                continue
            for hour in self.hours:
                for minute in self.minutes:
                    found = datetime.datetime(date.year, date.month, date.day, hour, minute)
                    if found > time:
                        yield found


def days(first, last):
    """Every date from the first to the last."""
    year, month, day = first.year, first.month, first.day
    while (year, month, day) <= (last.year, last.month, last.day):
        yield datetime.date(year, month, day)
        day += 1
        if day > calendar.monthrange(year, month)[1]:
            day = 1
            month += 1
            if month > 12:
                month = 1
                year += 1
