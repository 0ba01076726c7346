"""Comparison of a recorded output with the output of the same command in a later run.

Two outputs are identical, or equal after named kinds of noise are removed from both, or different. The removed kinds
are always named: a difference never counts as equal without a name. A difference that may be noise or a result, such as
a duration in a text of unknown origin, has a name too, and stays a difference. Only lines that differ are examined, and
outputs of more than `NORMALIZED_BYTES` are only compared byte by byte, so that time and memory stay bounded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from trajectories.comparison.clock import Span as Span, same_dates_kept
from trajectories.comparison.noise import NORMALIZERS, PAIRED, SUSPECTED, Circumstances
from trajectories.comparison.repeatability import causes

DIFFERENT = "output"
"""Class of outputs that differ after all noise is removed."""
UNORDERED = "unordered listing"
"""Class of equal outputs with the same lines in another order, of a command that lists files in no order."""
REORDERED = "order of lines"
"""Class of different outputs that have the same lines in another order, of any other command."""
PART = "part of an unordered listing"
"""Class of different outputs of a command that shows only so many lines of a listing in no order: any may be shown."""
NORMALIZED_BYTES = 8 << 20
"""Largest output from which noise is removed."""
_SAMPLE = 50
"""Number of pairs of lines from which the necessary kinds of noise are first determined."""
_CHUNK = 1 << 16
_NOISE = (*PAIRED, *NORMALIZERS)
_ALL = (*_NOISE, *SUSPECTED)
_GIT = re.compile(r"\bgit\b")
_PART = re.compile(r"\|\s*(?:head|tail)\b")
_WITHOUT_ORDER = frozenset({"directory order", "background processes"})
"""Causes for which the order of lines is not a result of the command."""


@dataclass(frozen=True)
class Comparison:
    """The result for two outputs; `noise` names the kinds of difference without which they are equal."""

    identical: bool
    equal: bool
    """True if the outputs are identical, or equal without noise. False with a kind that only may be noise."""
    noise: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The class of the difference; empty if the outputs are identical."""
        return "" if self.identical else " + ".join(self.noise) or DIFFERENT


_DIFFER = Comparison(identical=False, equal=False)
_Both = tuple[Circumstances, Circumstances]


def compare(
    then: bytes, now: bytes, then_span: Span | None = None, now_span: Span | None = None, script: str = ""
) -> Comparison:
    """Compare two outputs of a script, first byte by byte; the spans are the times of their trials.

    If one of them is unknown, dates and times are data on both sides.
    """
    if then == now:
        return Comparison(identical=True, equal=True)
    if max(len(then), len(now)) > NORMALIZED_BYTES:
        return _DIFFER
    first, second = (data.decode("utf-8", "surrogateescape").split("\n") for data in (then, now))
    if len(first) != len(second):
        return _DIFFER
    spans = (then_span, now_span) if then_span is not None and now_span is not None else (None, None)
    git = _GIT.search(script) is not None
    both = (Circumstances(spans[0], git), Circumstances(spans[1], git))
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    names = _needed(pairs, both)
    if names is not None:
        return _named(names)
    left, right = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    rest = (sorted((left - right).elements()), sorted((right - left).elements()))
    unordered = any(cause in _WITHOUT_ORDER for cause, _ in causes(script))
    order = UNORDERED if unordered else REORDERED
    if not any(rest):
        return _named((order,))
    ours, theirs = (
        [(_without(line, _ALL, circumstances), line) for line in lines]
        for lines, circumstances in zip(rest, both, strict=True)
    )
    names = _needed([(a, b) for (_, a), (_, b) in zip(sorted(ours), sorted(theirs), strict=True)], both)
    if names is not None:
        return _named((*names, order))
    part = unordered and _PART.search(script) is not None
    return Comparison(identical=False, equal=False, noise=(PART,)) if part else _DIFFER


def _named(names: tuple[str, ...]) -> Comparison:
    return Comparison(identical=False, equal=REORDERED not in names and not SUSPECTED.keys() & set(names), noise=names)


def _needed(pairs: Sequence[tuple[str, str]], both: _Both) -> tuple[str, ...] | None:
    """Return the kinds of difference without which all pairs of lines are equal; None if there is no such set.

    The kinds are determined with a sample and tried with the rest; the pairs that still differ are the next sample.
    """
    needed: set[str] = set()
    todo: Sequence[tuple[str, str]] = pairs
    while todo:
        more = _fewest(todo[:_SAMPLE], both)
        if more is None:
            return None
        needed |= more
        names = tuple(name for name in _ALL if name in needed)
        left = [pair for pair in todo[_SAMPLE:] if not _equal(pair, names, both)]
        if len(left) == len(todo):
            return None
        todo = left
    return tuple(name for name in _ALL if name in needed)


def _fewest(pairs: Sequence[tuple[str, str]], both: _Both) -> set[str] | None:
    """Return a smallest set of kinds for these pairs; one that only may be noise is used if noise does not do."""
    names = _ALL
    if not all(_equal(pair, names, both) for pair in pairs):
        return None
    for name in (*SUSPECTED, *PAIRED, *NORMALIZERS):
        fewer = tuple(other for other in names if other != name)
        if all(_equal(pair, fewer, both) for pair in pairs):
            names = fewer
    return set(names)


def _equal(pair: tuple[str, str], names: tuple[str, ...], both: _Both) -> bool:
    then, now = pair
    for name in names:
        if name in PAIRED:
            then, now = PAIRED[name](then, now)
    if _without(then, names, both[0]) == _without(now, names, both[1]):
        return True
    kept = same_dates_kept(then, now)
    return kept != (then, now) and _without(kept[0], names, both[0]) == _without(kept[1], names, both[1])


def _without(line: str, names: tuple[str, ...], circumstances: Circumstances) -> str:
    for name in names:
        if name in PAIRED:
            continue
        line = (NORMALIZERS.get(name) or SUSPECTED[name])(line, circumstances)
    return line


def first_differing_byte(then: Iterable[bytes], now: Iterable[bytes]) -> int | None:
    """Return the offset of the first byte that differs, reading piece by piece; None if the outputs are the same."""
    at = 0
    mine, theirs = _chunks(then), _chunks(now)
    while True:
        a, b = next(mine, b""), next(theirs, b"")
        if a != b:
            return at + next(
                (index for index, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
            )
        if not a:
            return None
        at += len(a)


def _chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in pieces of one size."""
    waiting = bytearray()
    for piece in pieces:
        waiting += piece
        whole = len(waiting) - len(waiting) % _CHUNK
        for start in range(0, whole, _CHUNK):
            yield bytes(waiting[start : start + _CHUNK])
        del waiting[:whole]
    if waiting:
        yield bytes(waiting)


def first_difference(then: bytes, now: bytes, width: int = 60) -> str:
    """Describe the first difference of two outputs in one line."""
    at = first_differing_byte((then,), (now,))
    if at is None:
        return "nothing"
    line = then.count(b"\n", 0, at) + 1
    start = max(then.rfind(b"\n", 0, at) + 1, at - width // 2)
    old, new = (data[start : start + width].split(b"\n")[0] for data in (then, now))
    shown = [repr(part.decode("utf-8", "backslashreplace")) for part in (old, new)]
    return f"line {line}: {shown[0]} then, {shown[1]} now"
