# The reference solution of demo/cronwhen; run it in the task's workspace.
cat > cronwhen/fields.py <<'PY'
"""The five fields of an expression: from text to sets of values."""

import re

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}


class BadExpression(ValueError):
    """An expression that cannot be read."""


class Field:
    """Name, range and value names of one of the five fields."""

    def __init__(self, name, low, high, names=()):
        self.name = name
        self.low = low
        self.high = high
        self.names = {word: low + number for number, word in enumerate(names)}

    def fail(self, what, item):
        raise BadExpression(f"{self.name}: {what} '{item}'")

    def value(self, word, item):
        if word.lower() in self.names:
            return self.names[word.lower()]
        if not re.fullmatch(r"[0-9]+", word):
            self.fail("bad item", item)
        number = int(word)
        if not self.low <= number <= self.high:
            self.fail("value out of range", item)
        return number

    def parse(self, text):
        """The set of values that a field's text stands for."""
        values = set()
        for item in text.split(","):
            values.update(self.parse_item(item))
        return values

    def parse_item(self, item):
        span, slash, step = item.partition("/")
        if span == "*":
            first, last = self.low, self.high
        elif "-" in span:
            begin, _, end = span.partition("-")
            first, last = self.value(begin, item), self.value(end, item)
            if last < first:
                self.fail("backward range", item)
        else:
            first = self.value(span, item)
            last = self.high if slash else first
        if not slash:
            return range(first, last + 1)
        if not re.fullmatch(r"[0-9]+", step) or int(step) == 0:
            self.fail("bad step", item)
        return range(first, last + 1, int(step))


FIELDS = [
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day of month", 1, 31),
    Field("month", 1, 12, MONTHS),
    Field("day of week", 0, 7, DAYS),
]


def split(expression):
    """The texts of the five fields."""
    text = expression.strip()
    if text.startswith("@"):
        if text not in MACROS:
            raise BadExpression(f"unknown macro '{text}'")
        text = MACROS[text]
    words = text.split()
    if len(words) != 5:
        raise BadExpression(f"expected 5 fields, found {len(words)}")
    return words
PY
cat > cronwhen/schedule.py <<'PY'
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
PY
cat > cronwhen/crontab.py <<'PY'
"""A crontab file: its jobs, and what is wrong in it."""

import re

from cronwhen.fields import BadExpression
from cronwhen.schedule import Schedule


class Job:
    """A line that runs a command."""

    def __init__(self, line, schedule, command):
        self.line = line
        self.schedule = schedule
        self.command = command


def read(text):
    """The jobs, and the errors as (line, message)."""
    jobs, errors = [], []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#") or re.match(r"[A-Za-z_][A-Za-z_0-9]*\s*=", line):
            continue
        try:
            expression, command = split_line(line)
            jobs.append(Job(number, Schedule(expression), command))
        except BadExpression as error:
            errors.append((number, str(error)))
    return jobs, errors


def split_line(line):
    """The expression and the command of a line."""
    words = line.split(None, 1 if line.startswith("@") else 5)
    count = 1 if line.startswith("@") else 5
    if len(words) <= count:
        Schedule(" ".join(words[:count]))
        raise BadExpression("line has no command")
    command = re.split(r"(?<!\\)%", words[count], maxsplit=1)[0]
    return " ".join(words[:count]), command.replace("\\%", "%").rstrip()


def between(jobs, first, last):
    """(time, command) of everything that runs from `first` to `last`, both included."""
    import datetime

    found = []
    for job in jobs:
        for time in job.schedule.after(first - datetime.timedelta(minutes=1)):
            if time > last:
                break
            found.append((time, job.line, job.command))
    return [(time, command) for time, _, command in sorted(found)]
PY
cat > cronwhen/cli.py <<'PY'
"""The command line."""

import argparse
import datetime
import re
import sys

from cronwhen import crontab
from cronwhen.fields import FIELDS, BadExpression
from cronwhen.schedule import Schedule


class UsageError(Exception):
    """Something is wrong with an argument."""


def time_of(text):
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}", text):
        raise UsageError(f"bad time '{text}'")
    try:
        return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M")
    except ValueError:
        raise UsageError(f"bad time '{text}'") from None


def count_of(text):
    if not re.fullmatch(r"[0-9]+", text) or int(text) < 1:
        raise UsageError(f"bad count '{text}'")
    return int(text)


def do_next(arguments):
    count = count_of(arguments.count)
    times = Schedule(arguments.expression).after(time_of(arguments.start))
    for _ in range(count):
        time = next(times, None)
        if time is None:
            print("no more matches", file=sys.stderr)
            return 1
        print(time.strftime("%Y-%m-%d %H:%M %a"))
    return 0


def do_match(arguments):
    matches = Schedule(arguments.expression).matches(time_of(arguments.time))
    print("yes" if matches else "no")
    return 0 if matches else 1


def do_explain(arguments):
    schedule = Schedule(arguments.expression)
    for field, text, values in zip(FIELDS, schedule.texts, schedule.values()):
        print(f"{field.name}: {'*' if text == '*' else ' '.join(map(str, values))}")
    return 0


def do_list(arguments):
    first, last = time_of(arguments.start), time_of(arguments.end)
    try:
        with open(arguments.file, encoding="utf-8") as file:
            text = file.read()
    except OSError:
        raise UsageError(f"cannot read '{arguments.file}'") from None
    jobs, errors = crontab.read(text)
    if errors:
        for line, message in errors:
            print(f"{arguments.file}:{line}: {message}", file=sys.stderr)
        return 1
    for time, command in crontab.between(jobs, first, last):
        print(f"{time:%Y-%m-%d %H:%M} {command}")
    return 0


def parser():
    top = argparse.ArgumentParser(prog="when")
    commands = top.add_subparsers(dest="command", required=True)
    one = commands.add_parser("next")
    one.add_argument("expression")
    one.add_argument("--from", dest="start", required=True)
    one.add_argument("-n", dest="count", default="1")
    one.set_defaults(run=do_next)
    one = commands.add_parser("match")
    one.add_argument("expression")
    one.add_argument("time")
    one.set_defaults(run=do_match)
    one = commands.add_parser("explain")
    one.add_argument("expression")
    one.set_defaults(run=do_explain)
    one = commands.add_parser("list")
    one.add_argument("file")
    one.add_argument("--from", dest="start", required=True)
    one.add_argument("--to", dest="end", required=True)
    one.set_defaults(run=do_list)
    return top


def main(argv):
    arguments = parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except (BadExpression, UsageError) as error:
        print(f"when: {error}", file=sys.stderr)
        return 2
PY
