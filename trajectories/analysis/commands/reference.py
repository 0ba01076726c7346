"""Where the reference program is, as far as the record tells: running it is a probe, running one's own build is not.

A task that has a program to rebuild leaves it in the workspace. With a snapshot of step 0 it is each executable file
there that is no script (or that cannot be read); without one it is `executable` in the work directory. A path stops
being the reference when it is written; what the reference is copied or linked to is the reference too; and a script
of the agent's own whose here-text names the reference is a way of running it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from trajectories.analysis.code.languages import ignored

if TYPE_CHECKING:
    from trajectories.record.events import Change, Snapshot

DEFAULT_NAME = "executable"
"""What ProgramBench and the demos call the program to be rebuilt."""
BUILD_SCRIPT = "compile.sh"
"""Writes `DEFAULT_NAME` (the contract of the same benchmarks)."""

_PROGRAM_MAGIC = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe")


def initial_programs(
    event: Snapshot, workdir: str, content_of: Callable[[Change], bytes | None]
) -> dict[str, str | None]:
    """Of the state that a trial began with: executable files that are no script, from the root, with their sha256."""
    found: dict[str, str | None] = {}
    for change in event.changes:
        if change.type != "file" or not (change.mode or 0) & 0o111 or ignored(change.path):
            continue
        content = content_of(change)
        if content is None or content.startswith(_PROGRAM_MAGIC):
            found[f"{workdir}/{change.path}"] = change.sha256
    return found


class Reference:
    """The paths that stand for the reference program at this point of a trial."""

    def __init__(self, workdir: str = "/workspace") -> None:
        self.workdir = workdir
        self.built = posixpath.join(workdir, DEFAULT_NAME)
        self._programs = {self.built}
        self._scripts: set[str] = set()
        self._dropped: set[str] = set()
        self._hashes: frozenset[str] = frozenset()

    def start(self, programs: Mapping[str, str | None]) -> None:
        """Step 0 was seen whole: these paths, from the root, with their sha256, and no others."""
        self._programs = set(programs)
        self._hashes = frozenset(sha256 for sha256 in programs.values() if sha256)

    @property
    def programs(self) -> frozenset[str]:
        """The paths, from the root, that are the reference or a copy of it."""
        return frozenset(self._programs)

    def copy(self) -> Reference:
        """The same, to look at what would follow."""
        other = Reference(self.workdir)
        other._programs, other._scripts = set(self._programs), set(self._scripts)
        other._dropped, other._hashes = set(self._dropped), self._hashes
        return other

    def is_program(self, path: str) -> bool:
        """Whether this path, from the root, is the reference program or a copy of it."""
        return path in self._programs

    def is_script(self, path: str) -> bool:
        """Whether this is a script of the agent's that runs the reference."""
        return path in self._scripts

    def named_in(self, text: str) -> bool:
        """Whether a text names the reference by its path, or by its name behind `./` or another directory."""
        return any(path in text or f"/{posixpath.basename(path)}" in text for path in self._programs)

    def copied(self, source: str, target: str) -> None:
        """A file was copied, moved or linked; whether the target is a directory is not known."""
        if source in self._programs:
            self._programs |= {target, posixpath.join(target, posixpath.basename(source))}

    def written(self, path: str, text: str | None = None) -> None:
        """A file was written, with this text if it is known."""
        if path in self._programs:
            self._programs.discard(path)
            self._dropped.add(path)
        self._scripts.discard(path)
        if text and self.named_in(text):
            self._scripts.add(path)

    def settle(self, changes: Iterable[Change]) -> None:
        """A snapshot says what the step really changed: what was thought written and was not is restored, and what
        has the reference's content is the reference."""
        changed: set[str] = set()
        same: set[str] = set()
        for change in changes:
            path = f"{self.workdir}/{change.path}"
            changed.add(path)
            if change.change != "deleted" and change.sha256 in self._hashes:
                same.add(path)
        unchanged = {path for path in self._dropped - changed if path.startswith(f"{self.workdir}/")}
        self._programs = ((self._programs | unchanged) - changed) | same
        self._dropped.clear()
