"""A started environment under test, with short names for what checks do often."""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from environments.protocol import Environment, Execution, Started

_INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""Pid namespace of a whole machine, on every Linux (PROC_PID_INIT_INO in include/linux/proc_ns.h)."""


class Make(Protocol):
    """Makes an environment that is not started yet; `changes` are fields of `EnvironmentSpec`."""

    def __call__(self, **changes: object) -> Environment: ...


Sever = Callable[[Environment], None]
"""Disables from outside what runs the actions of an environment; its files stay."""


class Place:
    """The environment that a check is called with."""

    def __init__(self, environment: Environment, started: Started, make: Make, sever: Sever | None = None) -> None:
        self.environment = environment
        self.started = started
        self.make = make
        self._sever = sever
        self._others: list[Environment] = []
        self._scratch: Path | None = None

    def run(
        self,
        script: str,
        deadline_s: float = 20,
        *,
        output_bytes: int | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        as_root: bool = False,
        separate: bool = False,
    ) -> Execution:
        """Run an action, and return its outcome with all outputs as bytes."""
        action = self.environment.execute(
            script,
            deadline_s=deadline_s,
            output_bytes=output_bytes,
            cwd=cwd,
            env=env,
            as_root=as_root,
            separate=separate,
        )
        return replace(
            action, output=bytes(action.output), stderr=None if action.stderr is None else bytes(action.stderr)
        )

    def text(self, script: str, deadline_s: float = 20, *, as_root: bool = False, cwd: str | None = None) -> str:
        """Return the output of an action that has to succeed."""
        action = self.run(script, deadline_s, as_root=as_root, cwd=cwd)
        if (action.ended, action.exit_code) != ("exited", 0):
            raise AssertionError(f"{script[:200]!r} did not succeed: {str(action)[:600]}")
        return action.output.decode("utf-8", "surrogateescape")

    def another(self, **changes: object) -> Place:
        """Start a second environment, which is stopped after the check."""
        made = self.make(**changes)
        self._others.append(made)
        return Place(made, made.start(), self.make, self._sever)

    def sever(self) -> None:
        """Kill the environment from outside."""
        assert self._sever is not None
        self._sever(self.environment)

    @property
    def scratch(self) -> Path:
        """A directory of the harness that everyone may read; it is removed after the check."""
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="conformance-"))
            self._scratch.chmod(0o755)
        return self._scratch

    def clean_up(self) -> None:
        """Stop and remove what the check made."""
        for other in self._others:
            other.stop()
        self._others.clear()
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def own_process_list(self) -> bool:
        """Return whether actions have a pid namespace that is neither ours nor that of a whole machine.

        Commands that could reach further (`kill -9 -1`, `kill 1`) are never run without it.
        """
        seen = self.text("readlink /proc/self/ns/pid").strip()
        return seen.startswith("pid:[") and seen not in (os.readlink("/proc/self/ns/pid"), _INITIAL_PID_NAMESPACE)


def marker() -> str:
    """Return an argument for `sleep`, some seconds, that no other process of this machine has."""
    return f"6.{os.getpid():07d}{time.monotonic_ns() % 10**12:012d}"


def host_processes(mark: str) -> list[int]:
    """Return the processes with `mark` in their command line, as far as the harness can see them."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                pids.append(int(path.parent.name))
        except OSError:
            pass
    return pids


def wait_for(condition: Callable[[], object], timeout_s: float = 5) -> bool:
    """Return whether the condition becomes true in time."""
    until = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def in_child(work: Callable[[Callable[[str], None]], None], timeout_s: float = 60) -> tuple[int, str]:
    """Run `work` in a forked process, with a function that sends text to us. Return its pid and the first text.

    The child then waits to be killed (`kill_child`), without any cleanup of its own.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    theirs, ours = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(theirs)
            work(lambda text: void(os.write(ours, text.encode())))
        except BaseException as error:
            os.write(ours, f"failed: {error!r}"[:4000].encode())
        finally:
            signal.pause()
            os._exit(1)
    os.close(ours)
    try:
        ready, _, _ = select.select([theirs], [], [], timeout_s)
        return child, os.read(theirs, 1 << 16).decode() if ready else "failed: no answer"
    finally:
        os.close(theirs)


def void(_: object) -> None:
    """Do nothing."""


def kill_child(child: int) -> None:
    """Kill a process with SIGKILL and wait for its end."""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
