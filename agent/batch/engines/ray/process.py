"""A worker process on a node, in a session of its own and without a parent.

Ray kills the direct children of an actor when the actor ends, a session of their own or not. A worker must outlive its
actor until its records are closed, so it is started by a shell that ends at once. It ends by itself when the pipe to
the actor closes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from queue import SimpleQueue

from trajectories.processes import boot_id, start_time

_DETACH = 'exec 3<&0; "$@" <&3 3<&- & echo $! >"$0"'
"""The file for the process id is $0. An explicit redirection, because a shell's background job reads /dev/null."""
_LOG_BYTES = 1 << 16


class DetachedProcess:
    """A worker process that this object started, or adopted from an actor that is gone."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds the process id and what the process prints on standard error."""
        self._folder = folder
        self.pid = 0
        self._start: int | None = None
        self.lines: SimpleQueue[bytes | None] = SimpleQueue()
        """Lines of its standard output; None at the end."""
        self._stdin = -1
        self._lock = threading.Lock()

    @property
    def log(self) -> Path:
        """File with everything that it printed on standard error."""
        return self._folder / "worker.log"

    def start(self, command: list[str], environment: Mapping[str, str]) -> None:
        """Start a command.

        Raises: OSError.
        """
        here, there = os.pipe()
        with self.log.open("ab") as errors:
            shell = subprocess.Popen(
                ["/bin/sh", "-c", _DETACH, str(self._pid_file), *command],
                stdin=here,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                env=dict(environment),
                cwd=self._folder,
            )
        os.close(here)
        self._stdin = there
        shell.wait()
        self.adopt()
        assert shell.stdout is not None
        threading.Thread(target=self._read, args=(shell.stdout.fileno(), shell), daemon=True).start()

    def adopt(self) -> None:
        """Take the process that another object started in this folder.

        Raises: OSError, ValueError.
        """
        number, _, rest = self._pid_file.read_text().partition(" ")
        self.pid = int(number)
        if rest:
            boot, _, start = rest.strip().partition(" ")
            self._start = int(start) if boot == boot_id() else -1
        else:
            self._start = start_time(self.pid)
            self._pid_file.write_text(f"{self.pid} {boot_id()} {self._start or -1}")

    @property
    def is_alive(self) -> bool:
        """True while it runs."""
        return self._start is not None and start_time(self.pid) == self._start

    def send(self, line: str) -> None:
        """Write a line to its standard input; one to a process that is gone is dropped."""
        view = memoryview(line.encode() + b"\n")
        with self._lock:
            try:
                while view and self._stdin >= 0:
                    view = view[os.write(self._stdin, view) :]
            except OSError:
                pass

    def hang_up(self) -> None:
        """Close its standard input, so that it closes its records and ends."""
        with self._lock:
            if self._stdin >= 0:
                os.close(self._stdin)
                self._stdin = -1

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it, if it still runs."""
        if self.is_alive:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass

    def last_words(self) -> str:
        """Return the end of what it printed on standard error."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - _LOG_BYTES))
                return file.read().decode(errors="replace")
        except OSError:
            return ""

    @property
    def _pid_file(self) -> Path:
        return self._folder / "worker.pid"

    def _read(self, fd: int, shell: subprocess.Popen[bytes]) -> None:
        rest = b""
        try:
            while data := os.read(fd, 1 << 16):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self.lines.put(line)
        except OSError:
            pass
        if shell.stdout is not None:
            shell.stdout.close()
        self.lines.put(None)


def worker_command(batch: Path) -> list[str]:
    """Return the command of an ordinary worker."""
    return [sys.executable, "-m", "agent.batch.worker", "--batch", str(batch), "--remote"]


def node_environment() -> dict[str, str]:
    """Return the environment of this node for a worker: that of Ray on this node, without Ray's own variables."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
