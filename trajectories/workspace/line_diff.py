"""A unified diff of two texts in bounded time and length, made by difflib."""

from __future__ import annotations

import difflib
from collections import Counter

MOST_LINES = 2000
"""Most lines of a diff. A line at its end counts those that were cut."""
_MOST_PAIRS = 300_000
"""Most pairs of equal lines for which difflib is quick. With more, the differing middle is shown as one replacement."""


def unified(before: str, after: str, path: str, was: bool = True, remains: bool = True) -> str:
    """Return the diff from one text to the other. If `was` or `remains` is False, that side is named /dev/null."""
    first, second = _lines(before), _lines(after)
    start, end = _common(first, second)
    middle = first[start : len(first) - end], second[start : len(second) - end]
    names = f"a/{path}" if was else "/dev/null", f"b/{path}" if remains else "/dev/null"
    if _pairs(*middle) > _MOST_PAIRS:
        made = _replaced(first, second, start, end, names)
    else:
        made = list(difflib.unified_diff(first, second, *names))
    shown = [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in made[:MOST_LINES]]
    if len(made) > MOST_LINES:
        shown.append(f"[... {len(made) - MOST_LINES} more lines ...]\n")
    return "".join(shown)


def _lines(text: str) -> list[str]:
    """Split a text at newlines only, as diff does. Form feeds and the like are content."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _common(first: list[str], second: list[str]) -> tuple[int, int]:
    """Return the number of equal lines at the beginning, and of the remaining ones at the end."""
    most = min(len(first), len(second))
    start = next((at for at in range(most) if first[at] != second[at]), most)
    rest = most - start
    end = next((at for at in range(rest) if first[-1 - at] != second[-1 - at]), rest)
    return start, end


def _pairs(first: list[str], second: list[str]) -> int:
    others = Counter(second)
    return sum(others[line] for line in first)


def _replaced(first: list[str], second: list[str], start: int, end: int, names: tuple[str, str]) -> list[str]:
    old, new = first[start : len(first) - end], second[start : len(second) - end]
    sizes = f"-{start + 1},{len(old)} +{start + 1},{len(new)}"
    head = [f"--- {names[0]}\n", f"+++ {names[1]}\n", f"@@ {sizes} @@\n"]
    return head + [f"-{line}" for line in old] + [f"+{line}" for line in new]
