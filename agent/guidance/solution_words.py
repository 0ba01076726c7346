"""Words of the reference solution in a text: nine in a row, of three letters or more each, count as copied.

Shorter words, numbers and everything between words are skipped on both sides, and letters are compared without case.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from trajectories.plain_files import open_plain

IN_A_ROW = 9

_WORD = re.compile(r"[^\W\d_]{3,}")
_LARGEST_FILE = 1 << 20
"""Largest file of a solution that is read, in bytes; a larger one is data."""
_MOST_BYTES = 8 << 20
"""Bytes of a solution after which the rest is ignored."""


def copied(lines: list[str], solution: Path) -> int | None:
    """Return the index of the first line where nine words in a row from the solution begin; None if there are none."""
    words = [(word, number) for number, line in enumerate(lines) for word in _words(line)]
    rows: dict[tuple[str, ...], int] = {}
    for at in range(len(words) - IN_A_ROW + 1):
        rows.setdefault(tuple(word for word, _ in words[at : at + IN_A_ROW]), words[at][1])
    if not rows:
        return None
    first: int | None = None
    for content in _contents(solution):
        window: deque[str] = deque(maxlen=IN_A_ROW)
        for word in _words(content):
            window.append(word)
            line = rows.get(tuple(window))
            if line is not None and (first is None or line < first):
                first = line
    return first


def _words(text: str) -> Iterator[str]:
    return (match[0] for match in _WORD.finditer(unicodedata.normalize("NFKC", text).casefold()))


def _contents(source: Path) -> Iterator[str]:
    """Yield the texts of a file, or of a directory's in the order of their paths, without links and binary files."""
    total = 0
    only_file: list[tuple[str, list[str], list[str]]] = [(str(source.parent), [], [source.name])]
    for folder, folders, names in os.walk(source) if source.is_dir() else only_file:
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            try:
                status = path.lstat()
                if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_FILE:
                    continue
                with open_plain(path) as file:
                    content = file.read(_LARGEST_FILE)
            except OSError:
                continue
            if b"\0" in content[:8192]:
                continue
            total += len(content)
            if total > _MOST_BYTES:
                return
            yield content.decode("utf-8", "replace")
