"""The paths of the reference program, as far as the record shows them.

Running the reference is a probe; running the agent's own build is not. A task with a program to rebuild puts it into
the workspace. If there is a snapshot of step 0, every executable file in it that is not a script, or that cannot be
read, is the reference; otherwise `executable` in the work directory is. A path stops being the reference when it is
written. Copies of the reference and links to it are the reference too. Running a script of the agent whose here-text
names the reference counts as running the reference.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from trajectories.analysis.code.languages import ignored

if TYPE_CHECKING:
    from trajectories.record.events import Change, Snapshot

DEFAULT_NAME = "executable"
"""Name of the program to rebuild in ProgramBench and the demos."""
BUILD_SCRIPT = "compile.sh"
"""Script that builds `DEFAULT_NAME`, by the contract of the same benchmarks."""

_PROGRAM_MAGIC = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe")


def initial_programs(
    event: Snapshot, workdir: str, content_of: Callable[[Change], bytes | None]
) -> dict[str, str | None]:
    """Return the executable files of the initial state that are not scripts: absolute path and sha256."""
    programs: dict[str, str | None] = {}
    for change in event.changes:
        if change.type != "file" or not (change.mode or 0) & 0o111 or ignored(change.path):
            continue
        content = content_of(change)
        if content is None or content.startswith(_PROGRAM_MAGIC):
            programs[f"{workdir}/{change.path}"] = change.sha256
    return programs


class Reference:
    """The paths of the reference program at one point of a trial. All paths are absolute."""

    def __init__(self, workdir: str = "/workspace") -> None:
        self.workdir = workdir
        self.built = posixpath.join(workdir, DEFAULT_NAME)
        self._programs = {self.built}
        self._scripts: set[str] = set()
        self._dropped: set[str] = set()
        self._hashes: frozenset[str] = frozenset()

    def start(self, programs: Mapping[str, str | None], known: frozenset[str] = frozenset()) -> None:
        """Take exactly these paths, with their sha256, as the reference, since a snapshot shows the initial state.

        Files with one of the `known` hashes belong to it, too, wherever they appear later.
        """
        self._programs = set(programs)
        self._hashes = known | frozenset(sha256 for sha256 in programs.values() if sha256)

    @property
    def programs(self) -> frozenset[str]:
        """The paths of the reference and its copies."""
        return frozenset(self._programs)

    def copy(self) -> Reference:
        """Return an independent copy, to examine what a script would do."""
        other = Reference(self.workdir)
        other._programs, other._scripts = set(self._programs), set(self._scripts)
        other._dropped, other._hashes = set(self._dropped), self._hashes
        return other

    def is_program(self, path: str) -> bool:
        """Return True for a path of the reference program or a copy of it."""
        return path in self._programs

    def is_script(self, path: str) -> bool:
        """Return True for a script of the agent that runs the reference."""
        return path in self._scripts

    def named_in(self, text: str) -> bool:
        """Return True if a text names the reference by its path, or by its name after `./` or another directory."""
        return any(path in text or f"/{posixpath.basename(path)}" in text for path in self._programs)

    def copied(self, source: str, target: str) -> None:
        """Record that a file was copied, moved or linked. The target may be a directory."""
        if source in self._programs:
            self._programs |= {target, posixpath.join(target, posixpath.basename(source))}

    def written(self, path: str, text: str | None = None) -> None:
        """Record that a file was written, with this text if it is known."""
        if path in self._programs:
            self._programs.discard(path)
            self._dropped.add(path)
        self._scripts.discard(path)
        if text and self.named_in(text):
            self._scripts.add(path)

    def settle(self, changes: Iterable[Change]) -> None:
        """Correct the paths by a snapshot, which shows the real changes of a step.

        A path that was only assumed to be written is restored, and a file with the reference's content is added.
        """
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
