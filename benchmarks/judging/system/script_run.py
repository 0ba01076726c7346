"""A test script to run in a container, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks.judging.faults import Fault
from benchmarks.task.tree import Tree
from environments.protocol import Execution
from trajectories.writing import excerpts

RESULT_BYTES = 8 << 20
"""Largest size of a result file. A larger one is a fault of the submission."""
OUTPUT_BYTES = 16 << 20
"""Largest output of a test script. One that prints more is ended."""


@dataclass(frozen=True)
class ScriptRun:
    """A test script, with the files that it needs and those that it writes. All paths are absolute."""

    script: str
    """Commands for bash, for example `bash /tests/run-tests.sh`. Their standard input is closed."""
    deadline_s: float
    files: Mapping[str, Tree] = field(default_factory=dict)
    """Trees by the directory that each becomes. Whatever is there is removed first, and links are not followed."""
    user: str | None = None
    """User that the script runs as; None is root. The files belong to root in any case."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables in addition to those of the container."""
    cwd: str | None = None
    """Directory that the script starts in; None is that of the workspace."""
    results: tuple[str, ...] = ()
    """Files that the script writes. They are removed before it starts."""
    extras: tuple[str, ...] = ()
    """Further files that it may write, which explain the results. They are removed as well; a large one is ignored."""
    private: tuple[str, ...] = ()
    """Directories that are emptied before the script starts, and that then only its user, or root, can write to."""
    shielded: bool = False
    """Keep the tests, their results and their output out of reach of processes in the container, also those of root."""
    ready: Callable[[], object] = tuple
    """Called when the files are in place, just before the script starts; it may wait."""
    output_bytes: int = OUTPUT_BYTES
    agent_shell: bool = False
    """Run the script in the agent's own persistent shell, as its user, where it works now, with its variables."""


@dataclass(frozen=True)
class ScriptResult:
    """The outcome of a test script."""

    execution: Execution
    results: Mapping[str, bytes]
    """Contents of the result files that exist, as plain files. Decoding them is up to the caller."""
    extras: Mapping[str, bytes] = field(default_factory=dict)
    """Contents of the further files, as far as they exist and are not too large."""
    exposed: tuple[str, ...] = ()
    """Ways in which the submission could have tampered with the result, one line each."""

    def ended_by(self, deadline_s: float) -> Fault | None:
        """Return the fault if the script did not come to its own end; its exit status is up to the caller."""
        ended = self.execution.ended
        if ended == "deadline":
            return Fault("time", f"the tests had not finished after {deadline_s:g} s")
        if ended == "output_cap":
            return Fault("output", f"the tests were ended after {self.execution.counted} bytes of output")
        if ended == "oom" and self.execution.exit_code != 0:
            return Fault("memory", f"the memory limit ended the tests{self._last_line()}")
        if ended not in ("exited", "oom"):
            return Fault("processes", f"the tests were ended: {ended}")
        return None

    def _last_line(self) -> str:
        lines = bytes(self.execution.output).decode("utf-8", "replace").strip().splitlines()
        return f": {excerpts.beginning(lines[-1].strip(), 300)}" if lines else ""
