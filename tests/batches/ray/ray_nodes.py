"""A Ray cluster of two nodes on this machine, started as users start one: `ray start --block`, one process a node."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_START_S = 90.0


class RayNodes:
    """Nodes of one cluster. A node's processes are those of one session, except actors' own process groups."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # sockets below it need a short path
        self.folder.chmod(0o755)  # sandboxes run as another user
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._environment = {**os.environ, **environment, "TMPDIR": str(self.folder)}
        self._environment.pop("RAY_ADDRESS", None)
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}
        self.address = f"127.0.0.1:{self.port}"

    def start(self, name: str, resources: str, *, cpus: int = 4, wait: bool = True, **variables: str) -> None:
        """Start a node, with variables of its own; the first one is the head."""
        where = [f"--address={self.address}"]
        if not self._nodes:
            where = ["--head", f"--port={self.port}", "--include-dashboard=false", f"--temp-dir={self.folder}/r"]
        log = (self.folder / f"{name}.log").open("wb")
        command = [
            *(str(Path(sys.executable).with_name("ray")), "start", "--block", *where),
            *(f"--num-cpus={cpus}", f"--resources={resources}", "--object-store-memory=80000000"),
            *("--disable-usage-stats", "--include-log-monitor=false"),
        ]
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**self._environment, **variables},
            cwd=self.folder,
        )
        self._nodes[name] = process
        if wait:
            self._wait_for(name)

    def kill(self, name: str) -> None:
        """End a node as a power failure does, except for the trials' processes, which have sessions of their own."""
        process = self._nodes.pop(name)
        for pid in _of_session(process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()

    def workers(self) -> list[int]:
        """Return the ids of the worker processes whose files are below the cluster's folder."""
        pids = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes()
                except OSError:
                    continue
                if b"agent.batch.worker" in words and bytes(self.folder) in words:
                    pids.append(int(entry.name))
        return pids

    def close(self) -> None:
        """End all nodes."""
        for name in list(self._nodes)[::-1]:
            self.kill(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_for(self, name: str) -> None:
        log = self.folder / f"{name}.log"
        until_s = time.monotonic() + _START_S
        while b"Ray runtime started" not in log.read_bytes():
            if self._nodes[name].poll() is not None or time.monotonic() > until_s:
                raise AssertionError(f"node {name} has not started:\n{log.read_text()[-2000:]}")
            time.sleep(0.05)


@contextmanager
def ray_nodes(environment: Mapping[str, str], **resources: str) -> Iterator[RayNodes]:
    """Start a cluster with a node for each keyword, which gives its custom resources as JSON."""
    nodes = RayNodes(environment)
    try:
        for name, text in resources.items():
            nodes.start(name, text)
        yield nodes
    finally:
        nodes.close()


def _of_session(leader: int) -> list[int]:
    pids = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if os.getsid(int(entry)) == leader:
                    pids.append(int(entry))
            except ProcessLookupError:
                pass
    return pids
