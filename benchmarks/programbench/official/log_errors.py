"""The reason why a command of the package failed, from its log: the package exits with 0 whatever happens."""

from __future__ import annotations

import re
from dataclasses import dataclass

from trajectories.writing import excerpts

_RAISED = re.compile(r"([A-Za-z_][\w.]*(?:Error|Exception|Expired|NotFound|Interrupt)\w*)(?::.*)?")
_EVALUATING = "Error evaluating "
_LONGEST = 500


@dataclass(frozen=True)
class LoggedError:
    """The error that a log ends with."""

    text: str
    """One line: `ExceptionClass: message`, or the last line of a log without an exception."""
    exception: str = ""
    """Class of the exception, or '' if the log has none."""


def error_of_evaluation(log: str, instance: str) -> LoggedError | None:
    """Return the error that `programbench eval` raised over an instance, or None if it raised none.

    The package logs `Error evaluating ID: MESSAGE`, followed by the traceback.
    """
    lines = log.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith(f"{_EVALUATING}{instance}: ")]
    return last_error("\n".join(lines[starts[-1] + 1 :])) if starts else None


def last_error(log: str) -> LoggedError:
    """Return the last exception of a log, or its last line if it has none."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    for line in reversed(lines):
        if raised := _RAISED.fullmatch(line):
            return LoggedError(_one_line(line), raised[1])
    return LoggedError(_one_line(lines[-1] if lines else "it said nothing"))


def _one_line(text: str) -> str:
    return excerpts.on_one_line(text)[:_LONGEST]
