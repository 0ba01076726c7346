"""Submissions of mini-swe-agent: a command submits by printing a mark as its first line; what follows is handed in.

The mark counts only if the command exits with 0. Output is read as Python's text mode reads it.
"""

from __future__ import annotations

import re

_MARKS = ("MICRO_SWE_AGENT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT", "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
_SUBMITS = re.compile(rf"\becho\s+[\"']?(?:{'|'.join(_MARKS)})\b")


def submits(script: str) -> bool:
    """Report if the text of a command prints a mark."""
    return _SUBMITS.search(script) is not None


def submitted(output: bytes) -> bytes | None:
    """Return the part of an output that it hands in; None if it does not begin with a mark."""
    lines = output.lstrip().splitlines(keepends=True)
    return b"".join(lines[1:]) if lines and lines[0].strip().decode("ascii", "replace") in _MARKS else None


def as_read(output: bytes) -> bytes:
    """Return an output as the file holds it: valid UTF-8, and each end of a line a single line feed."""
    text = output.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").encode()
