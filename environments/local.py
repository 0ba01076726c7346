"""Actions on this machine itself, only when asked for by name: nothing is isolated.

Processes get their own list (a pid namespace) where that can be had; else the supervisor adopts orphans.
"""

from __future__ import annotations

import functools
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from environments.archives import exporting
from environments.leftovers.owner import Owner, this_process
from environments.leftovers.removal import remove_tree
from environments.link import ProcessLink
from environments.promises import Promise, supervised
from environments.protocol import EnvironmentSpec, EnvironmentUnavailable, Started
from environments.supervised import START_S, Supervised, command_environment
from environments.wire.channel import Channel, Ready
from environments.wire.spawn import end, first_process, spawn
from environments.wire.terminal import Pty, Spawn
from trajectories.interrupts import held

_SUBREAPER = "import ctypes,os,sys;ctypes.CDLL(None).prctl(36,1,0,0,0);os.execvp(sys.argv[1],sys.argv[1:])"


@functools.cache
def pid_namespace() -> tuple[str, ...]:
    """The command that gives a process list of one's own; empty if this machine has none to give."""
    own = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    as_user = (*own, "--user", "--map-current-user")
    for prefix in (own,) if os.geteuid() == 0 else (as_user,):
        if not shutil.which(prefix[0]):
            continue
        tried = subprocess.run([*prefix, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if tried.returncode == 0:
            return prefix
    return ()


class LocalEnvironment(Supervised):
    """A child process. `spec.workdir` is not used: the workspace is `spec.workspace` or a new directory."""

    def __init__(self, spec: EnvironmentSpec, *, own_pids: bool = True) -> None:
        """`own_pids`: use a pid namespace where possible."""
        super().__init__(spec)
        self._link: ProcessLink | None = None
        self._first: Owner | None = None
        self._place: Path | None = None
        self._run: Path | None = None
        self._pty: Pty | None = None
        self._prefix = pid_namespace() if own_pids else ()

    def check(self) -> None:
        if not shutil.which("bash"):
            raise EnvironmentUnavailable("the local environment needs bash, and this machine has none on PATH")
        if self.spec.workspace is not None and not self.spec.workspace.is_dir():
            raise EnvironmentUnavailable(f"the workspace {self.spec.workspace} is not a directory; make it first")

    def _open(self, channel: Channel) -> Ready:
        self.check()
        with held():  # a signal between the two would leave the directory behind
            self._place = Path(tempfile.mkdtemp(prefix=this_process().prefix))
        for name in ("home", "workspace"):
            (self._place / name).mkdir()
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with held():
            self._run = Path(tempfile.mkdtemp(prefix=this_process().prefix, dir=memory))
        workspace = self.spec.workspace or self._place / "workspace"
        self.workdir = str(workspace.resolve())
        self._pty = Pty() if self.spec.shell == "persistent" else None
        text = channel.text(self._settings() | {"run": str(self._run), "tty": self._pty.name if self._pty else ""})
        prefix = self._prefix or (sys.executable, "-I", "-c", _SUBREAPER)
        env = command_environment(self.spec, str(self._place / "home"), os.environ.get("PATH", os.defpath))
        with suppress(KeyError):
            name = pwd.getpwuid(os.geteuid()).pw_name
            env = {"USER": name, "LOGNAME": name} | env
        self._link = spawn(prefix, len(text), env)
        channel.send_text(self._link, text)
        ready = channel.ready(START_S)
        self._first = first_process(self._link) if self._prefix else None
        return ready

    def _started(self, ready: Ready) -> Started:
        promises, less = self._resources(ready)
        lost = ["unconfined: actions run on this machine with the rights of the user who started them", *less]
        for limit in ("disk_bytes", "shm_bytes"):
            if getattr(self.spec, limit) is not None:
                lost.append(f"{limit}: not limited")
        if not self._prefix:
            lost.append("no pid namespace: processes are ended by descent, in a shared process list")
        promises += supervised(ready.lost, own_pids=bool(self._prefix))
        if os.geteuid() == 0:
            promises.append(Promise.ADMINISTRATOR)
        elif self._prefix:  # root could unmount its /proc, and see the host's
            promises.append(Promise.OWN_PROCESSES)
        return Started(
            kind="local",
            workdir=self.workdir,
            promises=tuple(promises),
            user=ready.user,
            lost=tuple(lost),
            versions={"bash": ready.bash},
        )

    def _run_directory(self) -> str:
        return str(self._run)

    def _terminal(self, command: Sequence[str]) -> Spawn:
        assert self._pty is not None
        return self._pty.spawn()

    def _trouble(self) -> str | None:
        if self._link and (status := self._link.process.poll()) is not None:
            return f"the supervisor ended with status {status}"
        return None

    def _rescue(self) -> exporting.Archive:
        if self._link:
            end(self._link, self._first)
        return exporting.of_directory(Path(self.workdir))

    def _watched(self) -> Sequence[Path]:
        own = self._place or Path(tempfile.gettempdir())  # its home
        return (own, self.spec.workspace) if self.spec.workspace else (own,)

    def _remove(self) -> None:
        if self._link:
            end(self._link, self._first)
        if self._pty:
            self._pty.close()
        for place in (self._run, self._place):
            if place:
                remove_tree(place)
