"""The result of a command in each layout.

Since 2.x, return code and output are in `extra`; earlier versions have them only in the text that the model saw. A
return code of -1 is not a process's status; `exception_info` shows if there was a timeout.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from trajectories.formats.errors import BadDocument
from trajectories.formats.fields import Oddities
from trajectories.formats.items import CommandResult
from trajectories.record.events import Ended
from trajectories.writing import excerpts

NOT_EXECUTED = "action was not executed"
REJECTED = "Command not executed"
"""Beginning of the message after a command that a person refused to run, before 2.x."""
_HEAD = re.compile(r"(?:<exception>(.*?)</exception>\s*)?<returncode>(\s*)(-?\d{1,9})\s*</returncode>", re.DOTALL)
_ELIDED = re.compile(r"(\d{1,12}) characters elided")
_STREAMS = {"stdout": re.compile(r"\s*(?:<stderr>|\Z)"), "stderr": re.compile(r"\s*(?:<stdout>|\Z)")}
"""What follows each stream: the other one, or the end of the text. An output may contain the tag that closes it."""
_LAST_LINE = re.compile(r"\n[ ]*\Z")
_OLDEST = "Observation: {"
_TIMED_OUT = re.compile(r"timed out", re.IGNORECASE)


class OursOfObservation(BaseModel):
    """Values that `write` adds to mini-swe-agent's own keys, so that one of our trials can be read back exactly."""

    model_config = ConfigDict(extra="ignore")

    ended: Ended
    exit_code: int | None = None
    signal: int | None = None
    duration_s: float | None = None
    stdout: str | None = None
    stderr: str | None = None
    executed: bool = True


@dataclass(frozen=True)
class _Printed:
    """The output of a command as far as the file holds it."""

    text: str = ""
    left_out: int = 0
    complete: bool = True


_NOTHING = _Printed(complete=False)
"""Output that is not in the file at all."""


def from_extra(
    extra: dict[str, Any], content: str, place: str, oddities: Oddities
) -> tuple[CommandResult | None, bool]:
    """Return the result of a command of 2.x, and True if the command ran at all.

    Raises: BadDocument if the return code is not a whole number.
    """
    code = extra.get("returncode")
    if code is not None and (isinstance(code, bool) or not isinstance(code, int) or not -(2**31) <= code < 2**32):
        raise BadDocument(f"{excerpts.beginning(str(code), 40)!r} is not a return code", f"{place}.extra.returncode")
    printed = _output(extra, content, place, oddities)
    if isinstance(extra.get("retrace"), dict):
        try:
            ours = OursOfObservation.model_validate(extra["retrace"])
        except ValidationError as error:
            raise BadDocument(error.errors()[0]["msg"], f"{place}.extra.retrace") from None
        result = CommandResult(
            ours.ended,
            printed.text if ours.stdout is None else ours.stdout,
            exit_code=ours.exit_code,
            signal=ours.signal,
            stderr=ours.stderr,
            left_out=printed.left_out,
            complete=printed.complete or ours.stdout is not None,
            duration_s=ours.duration_s,
        )
        return (result, True) if ours.executed else (None, False)
    exception = extra.get("exception_info")
    exception = exception if isinstance(exception, str) else ""
    if exception == NOT_EXECUTED:  # the submitting command did run; its result is unknown
        return None, True
    return _result(code, exception or str(extra.get("exception_type") or ""), printed), True


def from_text(content: str) -> CommandResult | None:
    """Return the result from the text that the model saw, before 2.x; None if the text does not show it."""
    if content.startswith(_OLDEST):
        return _oldest(content)
    head = _HEAD.match(content)
    if head is None:
        if not _TIMED_OUT.search(content):
            return None
        printed = _shown_output(content) or _NOTHING
        return CommandResult("deadline", printed.text, left_out=printed.left_out, complete=printed.complete)
    rest = content[head.end() :].lstrip()
    if not rest.startswith(("<stdout>", "<stderr>")):
        # a long output of the oldest layout is shown as the beginning and the end of both streams, with their tags
        return _result(int(head[3]), head[1] or "", _shown_output(rest) or _NOTHING)
    output, errors = (_stream(rest, name, head[2]) for name in ("stdout", "stderr"))
    if output is None or errors is None:
        return _result(int(head[3]), head[1] or "", _NOTHING)
    return replace(_result(int(head[3]), head[1] or "", _Printed(output)), stderr=errors)


def _stream(content: str, name: str, before: str) -> str | None:
    """Return a stream; None if the text does not show it.

    `before` is what the template writes before a value: nothing, or a line break and an indent.
    """
    begin, close = content.find(f"<{name}>") + len(name) + 2, f"</{name}>"
    end = content.find(close, begin)
    while end >= 0 and _STREAMS[name].match(content, end + len(close)) is None:
        end = content.find(close, end + 1)
    if end < 0 or begin < len(name) + 2:
        return None
    shown = content[begin:end]
    return _LAST_LINE.sub("", shown.removeprefix(before)) if before else shown


def _oldest(content: str) -> CommandResult | None:
    """Read a Python dict literal with `args`, `returncode`, `stdout` and `stderr`."""
    try:
        value = ast.literal_eval(content.removeprefix("Observation: ").strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    code, out, err = (value.get(key) for key in ("returncode", "stdout", "stderr"))
    if not isinstance(code, int) or abs(code) >= 2**32 or not isinstance(out, str) or not isinstance(err, str):
        return None
    result = _result(code, "", _Printed(out))
    return CommandResult(result.ended, out, result.exit_code, result.signal, stderr=err)


def _result(code: int | None, exception: str, printed: _Printed) -> CommandResult:
    result = CommandResult("exited", printed.text, left_out=printed.left_out, complete=printed.complete)
    if code is None or code == -1 or exception:
        ended: Ended = "deadline" if _TIMED_OUT.search(exception) or exception == "TimeoutExpired" else "unknown"
        status = None if code == -1 or ended == "deadline" else code
        return replace(result, ended="exited" if status is not None else ended, exit_code=status)
    if code < 0:  # as in Python's subprocess: a signal's number
        return replace(result, signal=-code)
    return replace(result, exit_code=code)


def _output(extra: dict[str, Any], content: str, place: str, oddities: Oddities) -> _Printed:
    raw = extra.get("raw_output")
    if isinstance(raw, str):
        return _Printed(raw)
    shown = _shown_output(content)
    if shown is None:
        oddities.add("the output of a command is not in the file", place)
    return shown or _NOTHING


def _shown_output(content: str) -> _Printed | None:
    """Return the output in a rendered observation; None if the text does not show it."""
    whole = _between(content, "<output>\n", "</output>")
    return _cut_output(content) if whole is None else _Printed(whole)


def _cut_output(content: str) -> _Printed | None:
    """Return the beginning and the end of a long output."""
    end = content.rfind("\n</output_tail>")
    begin = content.find("<output_head>\n")
    middle = content.rfind("\n</output_head>", 0, max(0, end))
    elided = _ELIDED.search(content, middle) if middle >= 0 else None
    tail = content.find("<output_tail>\n", elided.end()) if elided is not None else -1
    if elided is None or not 0 <= begin < middle or not 0 <= tail < end:
        return None
    head = content[begin + len("<output_head>\n") : middle]
    return _Printed(head + content[tail + len("<output_tail>\n") : end], int(elided[1]), complete=False)


def _between(content: str, first: str, last: str) -> str | None:
    """Return the text from the first of these marks to the last: an output may contain both."""
    begin, end = content.find(first), content.rfind(last)
    return content[begin + len(first) : end] if 0 <= begin <= end - len(first) else None
