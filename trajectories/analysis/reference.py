"""Where the reference program is, as far as the record tells: running it is a probe, running one's own build is not.

A task that has a program to rebuild leaves it in the workspace. With a snapshot of step 0 it is each executable file
there that is no script (or that cannot be read); without one it is `executable` in the work directory. A path stops
being the reference when it is written; what the reference is copied or linked to is the reference too; and a script
of the agent's own whose here-text names the reference is a way of running it.
"""

from __future__ import annotations

import posixpath

DEFAULT_NAME = "executable"
"""What ProgramBench and the demos call the program to be rebuilt."""
BUILD_SCRIPT = "compile.sh"
"""Writes `DEFAULT_NAME` (the contract of the same benchmarks)."""


class Reference:
    """The paths that stand for the reference program at this point of a trial."""

    def __init__(self, workdir: str = "/workspace") -> None:
        self.workdir = workdir
        self.built = posixpath.join(workdir, DEFAULT_NAME)
        self._programs = {self.built}
        self._scripts: set[str] = set()
        self._dropped: set[str] = set()

    def start(self, programs: set[str]) -> None:
        """Step 0 was seen whole: these paths, from the root, and no others."""
        self._programs = set(programs)

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

    def settle(self, changed: set[str]) -> None:
        """A snapshot says what the step really changed: what was thought written and was not is restored."""
        unchanged = {path for path in self._dropped - changed if path.startswith(f"{self.workdir}/")}
        self._programs = (self._programs | unchanged) - changed
        self._dropped.clear()
