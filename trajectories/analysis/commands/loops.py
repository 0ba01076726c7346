"""Commands that were repeated with the same outcome: in a row (a loop) or with others between (thrashing).

The same command is the same script with runs of blanks taken as one; the same outcome is how it ended, its exit code
or signal, and the hashes of all it printed. An occurrence at most `WINDOW` actions after the one before belongs to the
same repetition. Polling is legitimate, so this is a fact and no judgement.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, field

from pydantic import BaseModel

WINDOW = 20
"""Actions."""
FEWEST = 3
"""Occurrences that make a repetition."""
_SHOWN = 200
"""Characters of a command that a report shows."""


class Repetition(BaseModel):
    """One command that was repeated with one outcome."""

    command: str
    """Its beginning, on one line."""
    times: int
    in_a_row: int
    """The longest run with nothing in between."""
    first: str
    """The first occurrence's address, `step.i`."""
    last: str
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
    """Feed it every finished action in order; constant work each."""

    _open: dict[Hashable, _Cluster] = field(default_factory=dict)
    _found: list[_Cluster] = field(default_factory=list)
    _index: int = 0

    def feed(self, action: str, script: str, outcome: Hashable, exit_code: int | None) -> None:
        """Take in an action by its address, its script and what came of it."""
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
            self._found.append(cluster)

    def repetitions(self) -> list[Repetition]:
        """Those of at least `FEWEST` occurrences, most first."""
        found = [
            Repetition(
                command=cluster.command,
                times=cluster.times,
                in_a_row=cluster.longest_run,
                first=cluster.first,
                last=cluster.last,
                exit_code=cluster.exit_code,
            )
            for cluster in self._found
        ]
        return sorted(found, key=lambda repetition: -repetition.times)
