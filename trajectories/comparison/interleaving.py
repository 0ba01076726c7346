"""Merging of two streams in the order that a record shows.

`docker exec` carries standard output and standard error apart, so a recorder behind it keeps their lines in an order
that no command made. A record that is some order of both streams, each with its own lines in their order, is equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

INTERLEAVED = "interleaved streams"
"""Kind of noise: the order in which the lines of two streams were recorded."""
_MOST_STEPS = 1_000_000


def merged_as(
    recorded: Sequence[str], output: Sequence[str], errors: Sequence[str], same: Callable[[str, str], bool]
) -> list[str] | None:
    """Return the lines of both streams in the order of the record; None if the record is no such order."""
    if len(recorded) != len(output) + len(errors):
        return None
    ways: list[dict[int, int]] = [{0: 0}]
    """After each recorded line, the possible numbers of lines from the first stream, each with that before it."""
    steps = 0
    for number, line in enumerate(recorded):
        reached: dict[int, int] = {}
        for taken in ways[-1]:
            if taken < len(output) and taken + 1 not in reached and same(line, output[taken]):
                reached[taken + 1] = taken
            other = number - taken
            if other < len(errors) and taken not in reached and same(line, errors[other]):
                reached[taken] = taken
        steps += len(reached)
        if not reached or steps > _MOST_STEPS:
            return None
        ways.append(reached)
    lines: list[str] = []
    taken = len(output)
    for number in range(len(recorded), 0, -1):
        before = ways[number][taken]
        lines.append(output[before] if before != taken else errors[number - 1 - taken])
        taken = before
    return lines[::-1]
