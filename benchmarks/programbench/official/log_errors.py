"""The reason why a command of the package failed, from its log: the package exits with 0 whatever happens."""

from __future__ import annotations

import re

from trajectories.writing import excerpts

_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Expired|NotFound|Interrupt)\w*(?::.*)?")
_LONGEST = 500


def last_error(log: str) -> str:
    """Return the last exception of a log in one line (`ExceptionClass: message`), or its last line if it has none."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if _RAISED.fullmatch(line)), lines[-1] if lines else "no output")
    return excerpts.on_one_line(last)[:_LONGEST]
