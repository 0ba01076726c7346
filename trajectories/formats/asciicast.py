"""Export as an asciicast v2: the commands and their outputs, at the recorded times.

The file has a header and events `[seconds, "o" or "i", text]`. A command is input and is echoed after `$ `; a question
to an expert is shown after `? `, and its answer after `> `. An output comes all at once when its command ends, since
the record has no finer times; terminal escapes stay as they are. Seconds count from the trial's beginning. No time is
invented: an event without a time in an imported file (the start of a command) gets the last time before it, and a trial
without any times is rejected.
"""

from __future__ import annotations

from typing import Any

from trajectories.formats.errors import CannotExport
from trajectories.formats.json_text import json_lines
from trajectories.formats.source import Source, unix_s
from trajectories.record.events import ActionFinished, ActionStarted, Answered, Asked

_WIDTHS = (80, 160)
_HEIGHT = 40


def write(source: Source) -> bytes:
    """Return the lines of the cast.

    Raises: CannotExport if no event has a time; RecordError if an output's blob is damaged.
    """
    stamped = [(event, at) for event in source.events if (at := unix_s(event)) is not None]
    if not stamped:
        raise CannotExport(f"{source.directory}: the record has no times, and a cast needs them")
    events: list[tuple[float, str, str]] = []
    for event in source.events:
        if isinstance(event, ActionStarted):
            text = _for_terminal(event.command)
            events += [(event.mono_s, "i", f"{text}\r\n"), (event.mono_s, "o", f"$ {text}\r\n")]
        elif isinstance(event, Asked):
            events.append((event.mono_s, "o", f"? {_for_terminal(event.text)}\r\n"))
        elif isinstance(event, Answered) and event.status == "given":
            events.append((event.mono_s, "o", f"> {_for_terminal(event.text)}\r\n"))
        elif isinstance(event, ActionFinished):
            outputs = (event.output, *(() if event.stderr is None else (event.stderr,)))
            text = _for_terminal("".join(source.text(output) for output in outputs))
            if text:
                events.append((event.mono_s, "o", text if text.endswith("\n") else f"{text}\r\n"))
    first, at = stamped[0]
    longest = max((len(line) for _, kind, text in events if kind == "o" for line in text.split("\n")), default=0)
    header: dict[str, Any] = {
        "version": 2,
        "width": min(max(longest, _WIDTHS[0]), _WIDTHS[1]),
        "height": _HEIGHT,
        "timestamp": int(at - first.mono_s),
        "title": f"{source.start.task.id} by {source.start.model.asked}",
    }
    if events:
        header["duration"] = events[-1][0]
    lines: list[object] = [header]
    clock_s = 0.0
    for seconds, kind, text in events:
        clock_s = max(clock_s, seconds)
        lines.append([round(clock_s, 6), kind, text])
    return json_lines(lines)


def _for_terminal(text: str) -> str:
    """Add the carriage returns that a terminal in raw mode needs."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n")
