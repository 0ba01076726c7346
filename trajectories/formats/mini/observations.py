"""What a command came to, as the layouts say it.

From 2.x on, return code and output stand in `extra`; before, they are in the text that the model was shown. A
return code of -1 is no status of a process: `exception_info` says whether it was a time-out.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from trajectories.formats.errors import BadDocument
from trajectories.formats.items import Outcome
from trajectories.formats.mini.fields import Oddities
from trajectories.record.events import Ended

NOT_EXECUTED = "action was not executed"
_HEAD = re.compile(r"(?:<exception>(.*?)</exception>\s*)?<returncode>(-?\d{1,9})</returncode>", re.DOTALL)
_WHOLE = re.compile(r"<output>\n(.*)</output>", re.DOTALL)  # greedy: an output may contain </output>
_CUT = re.compile(
    r"<output_head>\n(.*)\n</output_head>.*?(\d{1,12}) characters elided.*?<output_tail>\n(.*)\n</output_tail>",
    re.DOTALL,
)
_OLDEST = "Observation: {"
_TIMED_OUT = re.compile(r"timed out", re.IGNORECASE)


class OursOfObservation(BaseModel):
    """What `write` adds beside mini-swe-agent's own keys, so that a trial of ours comes back exactly."""

    model_config = ConfigDict(extra="ignore")

    ended: Ended
    exit_code: int | None = None
    signal: int | None = None
    duration_s: float | None = None
    stdout: str | None = None
    stderr: str | None = None
    executed: bool = True


def from_extra(extra: dict[str, Any], content: str, place: str, oddities: Oddities) -> tuple[Outcome | None, bool]:
    """Outcome and whether the command ran at all, of 2.x (`returncode`, `raw_output`, `exception_info`).

    Raises: BadDocument if the return code is no whole number.
    """
    code = extra.get("returncode")
    if code is not None and (isinstance(code, bool) or not isinstance(code, int) or not -(2**31) <= code < 2**32):
        raise BadDocument(f"{str(code)[:40]!r} is no return code", f"{place}.extra.returncode")
    output, left_out = _output(extra, content, place, oddities)
    if isinstance(extra.get("retrace"), dict):
        try:
            ours = OursOfObservation.model_validate(extra["retrace"])
        except ValidationError as error:
            raise BadDocument(error.errors()[0]["msg"], f"{place}.extra.retrace") from None
        outcome = Outcome(
            ours.ended,
            output if ours.stdout is None else ours.stdout,
            exit_code=ours.exit_code,
            signal=ours.signal,
            stderr=ours.stderr,
            left_out=left_out,
            duration_s=ours.duration_s,
        )
        return (outcome, True) if ours.executed else (None, False)
    exception = extra.get("exception_info")
    exception = exception if isinstance(exception, str) else ""
    if exception == NOT_EXECUTED:  # it ran, if it is the one that submitted; what it came to is not said
        return None, True
    return _outcome(code, exception or str(extra.get("exception_type") or ""), output, left_out), True


def from_text(content: str) -> Outcome | None:
    """The same from the text that the model was shown, before 2.x; None if it does not say."""
    if content.startswith(_OLDEST):
        return _oldest(content)
    head = _HEAD.match(content)
    if head is None:
        if not _TIMED_OUT.search(content):
            return None
        output, left_out = _shown_output(content)
        return Outcome("deadline", output or "", left_out=left_out)
    output, left_out = _shown_output(content[head.end() :])
    return None if output is None else _outcome(int(head[2]), head[1] or "", output, left_out)


def _oldest(content: str) -> Outcome | None:
    """A Python dict literal: `args`, `returncode`, `stdout`, `stderr`."""
    try:
        value = ast.literal_eval(content.removeprefix("Observation: ").strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    code, out, err = (value.get(key) for key in ("returncode", "stdout", "stderr"))
    if not isinstance(code, int) or abs(code) >= 2**32 or not isinstance(out, str) or not isinstance(err, str):
        return None
    outcome = _outcome(code, "", out, 0)
    return Outcome(outcome.ended, out, outcome.exit_code, outcome.signal, stderr=err)


def _outcome(code: int | None, exception: str, output: str, left_out: int) -> Outcome:
    if code is None or code == -1 or exception:
        ended: Ended = "deadline" if _TIMED_OUT.search(exception) or exception == "TimeoutExpired" else "unknown"
        known = None if code == -1 or ended == "deadline" else code
        return Outcome("exited" if known is not None else ended, output, exit_code=known, left_out=left_out)
    if code < 0:  # Python's subprocess: the number of a signal
        return Outcome("exited", output, signal=-code, left_out=left_out)
    return Outcome("exited", output, exit_code=code, left_out=left_out)


def _output(extra: dict[str, Any], content: str, place: str, oddities: Oddities) -> tuple[str, int]:
    raw = extra.get("raw_output")
    if isinstance(raw, str):
        return raw, 0
    shown, left_out = _shown_output(content)
    if shown is None:
        oddities.add("the output of a command is not in the file", place)
    return shown or "", left_out


def _shown_output(content: str) -> tuple[str | None, int]:
    """The output in a rendered observation, and how many characters of it were left out."""
    whole = _WHOLE.search(content)
    if whole is not None:
        return whole[1], 0
    cut = _CUT.search(content)
    return (None, 0) if cut is None else (cut[1] + cut[3], int(cut[2]))
