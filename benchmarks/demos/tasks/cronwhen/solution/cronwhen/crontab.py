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
