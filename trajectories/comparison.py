"""How an output that came again differs from the one that was recorded. Pure.

Two outputs are identical, or equal once named kinds of noise are taken out of both, or different. What was taken out is
always said: a difference is never counted as equal without its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_ZONE = r"(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})"


def _replace(pattern: str, by: str) -> Callable[[str], str]:
    compiled = re.compile(pattern)
    return lambda text: compiled.sub(by, text)


def _braces_sorted(text: str) -> str:
    return _BRACES.sub(lambda found: "{" + ", ".join(sorted(found[1].split(", "))) + "}", text)


_BRACES = re.compile(r"\{([^{}\n]*, [^{}\n]*)\}")


def _lines_sorted(text: str) -> str:
    return "\n".join(sorted(text.split("\n")))


NORMALISERS: dict[str, Callable[[str], str]] = {
    "temporary names": _replace(
        r"\btmp\.[A-Za-z0-9]{6,}\b|\btmp[a-z0-9_]{8}\b|(?<=/tmp/)cc[A-Za-z0-9]{6}\b|(?<=/)pytest-of-\w+/pytest-\d+"
        r"|(?<=/tmp/)(?:pip|npm)-[\w-]+",
        "<temporary>",
    ),
    "dates": _replace(
        rf"\b(?:{_DAY},? )?{_MONTH} {{1,2}}\d{{1,2}}(?:,? {{1,2}}\d{{4}})?\b|\b\d{{1,2}} {_MONTH} \d{{4}}\b"
        r"|\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}/\d{1,2}/\d{4}\b",
        "<date>",
    ),
    "durations": _replace(
        r"\b\d+m ?\d+(?:\.\d+)?s\b|\b\d+(?:\.\d+)? ?(?:ns|us|µs|ms|s|secs?|seconds?|minutes?)\b", "<duration>"
    ),
    "times": _replace(
        rf"\b\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.,]\d+)?)?(?: ?{_ZONE})?(?: \d{{4}}\b)?"
        r"|\b1[6-9]\d{8}(?:\.\d+|\d{3}|\d{9})?\b",
        "<time>",
    ),
    "addresses": _replace(r"\b0x[0-9a-fA-F]{6,16}\b", "<address>"),
    "process ids": _replace(
        r"(?i)\[\d+\] +\d+\b|\bpid[ =:]+\d+\b|\bprocess \d+\b|(?<=: line )\d+: +\d+ (?=[A-Z])|/proc/\d+", "<process>"
    ),
    "commit hashes": _replace(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b", "<hash>"),
    "hash-seeded order": _braces_sorted,
    "unordered listing": _lines_sorted,
}
"""Each takes one kind of noise out of a text; applied in this order."""

DIFFERENT = "output"
"""The class of outputs that differ whatever is taken out."""


@dataclass(frozen=True)
class Comparison:
    """Two outputs; `noise` names what had to be taken out of both to make them equal."""

    identical: bool
    equal: bool
    """Also when identical."""
    noise: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The class of the difference; empty if there is none."""
        return "" if self.identical else " + ".join(self.noise) or DIFFERENT


def compare(then: bytes, now: bytes) -> Comparison:
    """Compare two outputs, byte by byte first."""
    if then == now:
        return Comparison(identical=True, equal=True)
    first, second = (data.decode("utf-8", "surrogateescape") for data in (then, now))
    needed = list(NORMALISERS)
    if _without(first, needed) != _without(second, needed):
        return Comparison(identical=False, equal=False)
    for name in list(needed):
        fewer = [other for other in needed if other != name]
        if _without(first, fewer) == _without(second, fewer):
            needed = fewer
    return Comparison(identical=False, equal=True, noise=tuple(needed))


def first_difference(then: bytes, now: bytes, width: int = 60) -> str:
    """Where two outputs part, in one line for people."""
    at = next((index for index, (a, b) in enumerate(zip(then, now, strict=False)) if a != b), min(len(then), len(now)))
    line = then.count(b"\n", 0, at) + 1
    start = max(then.rfind(b"\n", 0, at) + 1, at - width // 2)
    old, new = (data[start : start + width].split(b"\n")[0] for data in (then, now))
    shown = [repr(part.decode("utf-8", "backslashreplace")) for part in (old, new)]
    return f"line {line}: {shown[0]} then, {shown[1]} now"


def _without(text: str, names: list[str]) -> str:
    for name in names:
        text = NORMALISERS[name](text)
    return text
