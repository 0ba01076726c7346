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
