"""Numbers of the instances' tests, kept in a file between runs.

To count them, 38 MB of JSON are read, which takes longer than everything else that `agent tasks list` does. A number is
used again as long as the file that it was counted from has the same size and time of change. A cache that cannot be
read or written costs only time.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from benchmarks.programbench.instances import TESTS_FILE, Instance, active_tests

_FILE = "programbench-tests.json"


def cache_dir() -> Path:
    """Return `$RETRACE_CACHE_DIR`, or `$XDG_CACHE_HOME/retrace`, or `~/.cache/retrace`."""
    own = os.environ.get("RETRACE_CACHE_DIR")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "retrace"


class TestCounts:
    """The number of tests that count, by instance; `save` keeps those that were asked for."""

    def __init__(self) -> None:
        self._kept = _read(cache_dir() / _FILE)
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
        if self._asked.items() <= self._kept.items():
            return
        directory = cache_dir()
        with suppress(OSError):
            directory.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=directory, prefix=f".{_FILE}-")
            try:
                with os.fdopen(handle, "w") as file:
                    json.dump(self._asked, file)
                os.replace(temporary, directory / _FILE)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise


def _read(path: Path) -> dict[str, list[int]]:
    """Return the entries of a cache that are whole."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {name: entry for name, entry in content.items() if _is_entry(entry)}


def _is_entry(entry: object) -> bool:
    return isinstance(entry, list) and len(entry) == 3 and all(type(number) is int for number in entry)
