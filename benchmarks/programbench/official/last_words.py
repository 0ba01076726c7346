"""Why a command of the package failed, dug out of what it said: it exits 0 whatever happens."""

from __future__ import annotations

import re

_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Expired|NotFound|Interrupt)\w*(?::.*)?")
_EVALUATING = "Error evaluating "
_LONGEST = 500


def failure_of_evaluation(log: str, instance: str) -> str | None:
    """What `programbench eval` raised over an instance, `ExceptionClass: message`; None if it raised nothing.

    The package logs `Error evaluating ID: MESSAGE` with the traceback behind it.
    """
    lines = log.splitlines()
    begins = [at for at, line in enumerate(lines) if line.startswith(f"{_EVALUATING}{instance}: ")]
    return reason("\n".join(lines[begins[-1] + 1 :])) if begins else None


def reason(log: str) -> str:
    """The exception that a log ends with, else its last line, in one line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.fullmatch(line)]
    text = (raised or lines or ["it said nothing"])[-1]
    return " ".join(text.split())[:_LONGEST]
