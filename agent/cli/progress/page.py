"""The lines of the live view: as many of the facts as a terminal of some size can show, the most important first."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from rich.cells import cell_len
from rich.text import Text

from agent.cli.progress.cells import GAP, cells, cut, packed
from agent.cli.progress.state import Command, ProgressState, clock

_WORDS_LINES = 3
"""Largest number of lines for the model's last words."""
_WIDEST_RESULT = 24
"""Cells that are kept for the end of a command, so that a long command does not push it out."""
_NARROWEST_TEXT = 8
"""Cells that the text before such an end has at least; on narrower terminals the end is left out."""
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_COUNTED_FROM_S = 2.0
"""Seconds from which on the duration of a phase without a limit is shown."""


class _Rank(IntEnum):
    """Importance of a line: where there are too few, the last ranks are left out."""

    PHASE = 0
    NEWEST_COMMAND = 1
    WARNING = 2
    FIRST_BUDGET = 3
    TITLE = 4
    WORDS = 5
    BUDGET = 6
    EARLIER_COMMAND = 7
    MORE_WORDS = 8


@dataclass(frozen=True)
class _Line:
    rank: _Rank
    text: Text


def page(state: ProgressState, width: int, height: int, now: float) -> list[Text]:
    """Return the lines for a terminal of this size, each narrower than it and together lower: the cursor stays below.

    Time runs on in them while nothing happens.
    """
    width = max(1, width - 1)
    lines = [_Line(_Rank.TITLE, cut(state.title, width, "bold")), _Line(_Rank.PHASE, _phase(state, width, now))]
    if state.warning:
        lines.append(_Line(_Rank.WARNING, cut(f"! {state.warning}", width, "yellow")))
    ranks = [_Rank.WORDS, *[_Rank.MORE_WORDS] * (_WORDS_LINES - 1)]
    lines += map(_Line, ranks, _words(state.words, width))
    for number, command in enumerate(state.commands, 1):
        rank = _Rank.NEWEST_COMMAND if number == len(state.commands) else _Rank.EARLIER_COMMAND
        lines.append(_Line(rank, _command(command, width)))
    if state.called:
        budget = packed(state.budget(now), width)
        lines += map(_Line, [_Rank.FIRST_BUDGET, *[_Rank.BUDGET] * (len(budget) - 1)], budget)
    return [line.text for line in _most_important(lines, max(1, height - 1))]


def _most_important(lines: list[_Line], count: int) -> list[_Line]:
    """Return the lines of the first ranks, in their order; of the earlier commands the latest."""
    numbers = sorted(range(len(lines)), key=lambda number: (lines[number].rank, _age(lines, number)))
    return [lines[number] for number in sorted(numbers[:count])]


def _age(lines: list[_Line], number: int) -> int:
    return -number if lines[number].rank == _Rank.EARLIER_COMMAND else number


def _phase(state: ProgressState, width: int, now: float) -> Text:
    since = 0.0 if state.phase_began is None else max(0.0, now - state.phase_began)
    elapsed = ""
    if state.phase_limit_s is not None:
        elapsed = f"{since:.0f} of {state.phase_limit_s:.0f} s"
    elif since >= _COUNTED_FROM_S:
        elapsed = f"{since:.0f} s" if since < 120 else clock(since)
    spinner = _SPINNER[int(now * 4) % len(_SPINNER)]
    return _with_end(f"{spinner} {state.phase}", elapsed, width, "bold", "bold cyan")


def _command(command: Command, width: int) -> Text:
    return _with_end(f"$ {command.script}", command.result, width, "cyan", "green" if command.ok else "red")


def _with_end(text: str, end: str, width: int, style: str, end_style: str) -> Text:
    """Return a line with an end that stays visible if the text before it is cut."""
    end = cells(end, _WIDEST_RESULT)
    room = width - cell_len(end) - len(GAP)
    if not end or room < _NARROWEST_TEXT:
        return cut(text, width, style)
    return cut(text, room, style).append(GAP).append(end, end_style)


def _words(words: str, width: int) -> list[Text]:
    """Return the first lines of the model's words, broken between words where that is possible."""
    lines: list[str] = []
    for word in words.split():
        if lines and cell_len(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        elif len(lines) == _WORDS_LINES:
            lines[-1] = cells(f"{lines[-1]} {word}", width)
            break
        else:
            lines.append(word)
    return [cut(line, width, "italic") for line in lines]
