"""A crontab file: its jobs, and what is wrong in it."""

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
        if not line.strip() or line.startswith("#") or "=" in line:
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
    command = words[count].split("%")[0]
    return " ".join(words[:count]), command.rstrip()


def between(jobs, first, last):
    """(time, command) of everything that runs from `first` to `last`, both included."""
    found = []
    for job in jobs:
        for time in job.schedule.after(first):
            if time > last:
                break
            found.append((time, job.command))
    return sorted(found)
