"""Commands that were repeated with the same outcome, in a row (a loop) or with others between them (thrashing).

Commands are the same if their scripts differ only in white space. Outcomes are the same if the way the command ended,
its exit code or signal, and the hashes of its output are equal. An occurrence at most `WINDOW` actions after the
previous one belongs to the same repetition. Repetitions are facts and not judgments, since polling is legitimate.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, field

from pydantic import BaseModel

WINDOW = 20
"""Largest distance, in actions, between two occurrences of one repetition."""
FEWEST = 3
"""Least number of occurrences of a repetition."""
_SHOWN = 200
"""Number of characters of a command that a report shows."""


class Repetition(BaseModel):
    """One command that was repeated with one outcome."""

    command: str
    """Beginning of the command, on one line."""
    times: int
    in_a_row: int
    """Length of the longest run without other actions in between."""
    first: str
    """Address of the first occurrence, `step.i`."""
    last: str
    """Address of the last occurrence."""
    exit_code: int | None


@dataclass
class _Cluster:
    command: str
    exit_code: int | None
    first: str
    last: str
    last_index: int
    times: int = 1
    run: int = 1
    longest_run: int = 1


@dataclass
class Loops:
    """Finds repetitions among the finished actions in order; constant work for each action."""

    _open: dict[Hashable, _Cluster] = field(default_factory=dict)
    _repeated: list[_Cluster] = field(default_factory=list)
    _index: int = 0

    def feed(self, action: str, script: str, outcome: Hashable, exit_code: int | None) -> None:
        """Process one action by its address, script and outcome."""
        command = " ".join(script.split())
        key = (hashlib.sha256(command.encode("utf-8", "replace")).digest(), outcome)
        self._index += 1
        cluster = self._open.get(key)
        if cluster is None or self._index - cluster.last_index > WINDOW:
            self._open[key] = _Cluster(command[:_SHOWN], exit_code, action, action, self._index)
            return
        cluster.run = cluster.run + 1 if self._index == cluster.last_index + 1 else 1
        cluster.longest_run = max(cluster.longest_run, cluster.run)
        cluster.times += 1
        cluster.last, cluster.last_index = action, self._index
        if cluster.times == FEWEST:
            self._repeated.append(cluster)

    def repetitions(self) -> list[Repetition]:
        """Return repetitions of at least `FEWEST` occurrences, the most frequent first."""
        repetitions = [
            Repetition(
                command=cluster.command,
                times=cluster.times,
                in_a_row=cluster.longest_run,
                first=cluster.first,
                last=cluster.last,
                exit_code=cluster.exit_code,
            )
            for cluster in self._repeated
        ]
        return sorted(repetitions, key=lambda repetition: -repetition.times)
