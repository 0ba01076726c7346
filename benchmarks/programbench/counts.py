"""Numbers of the instances' tests, kept in a file between runs.

To count them, 38 MB of JSON are read, which takes longer than everything else that `agent tasks list` does. A number is
used again as long as the file that it was counted from has the same size and time of change. A cache that cannot be
read or written costs only time.
"""

from __future__ import annotations

from typing import TypeGuard

from benchmarks.programbench.instances import TESTS_FILE, Instance, active_tests
from trajectories.cache import read_cache, write_cache

_FILE = "programbench-tests.json"


class TestCounts:
    """The number of tests that count, by instance; `save` keeps those that were asked for."""

    def __init__(self) -> None:
        self._kept = {name: entry for name, entry in read_cache(_FILE).items() if _is_entry(entry)}
        self._asked: dict[str, list[int]] = {}

    def of(self, instance: Instance) -> int:
        """Return the number of an instance's tests that count.

        Raises: TaskError.
        """
        path = instance.directory / TESTS_FILE
        try:
            facts = path.stat()
            state = [facts.st_mtime_ns, facts.st_size]
        except OSError:
            return active_tests(instance.branches())  # which explains the problem
        entry = self._kept.get(str(path))
        if entry is None or entry[:2] != state:
            entry = [*state, active_tests(instance.branches())]
        self._asked[str(path)] = entry
        return entry[2]

    def save(self) -> None:
        """Write the numbers to the cache, if there are new ones."""
        if not self._asked.items() <= self._kept.items():
            write_cache(_FILE, self._asked)


def _is_entry(entry: object) -> TypeGuard[list[int]]:
    return isinstance(entry, list) and len(entry) == 3 and all(type(number) is int for number in entry)
