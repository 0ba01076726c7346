"""Actions on this machine itself, only if the user asks for it by name: nothing is isolated.

Processes get a list of their own (a pid namespace) if the machine allows that. Otherwise the supervisor adopts orphans.
"""

from __future__ import annotations

import functools
import os
import pwd
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from environments.child import ChildEnvironment
from environments.promises import Promise, supervised
from environments.protocol import EnvironmentSpec, EnvironmentUnavailable, Started
from environments.supervised import command_environment
from environments.wire.channel import Channel, Ready
from environments.wire.terminal import Pty

_SUBREAPER = "import ctypes,os,sys;ctypes.CDLL(None).prctl(36,1,0,0,0);os.execvp(sys.argv[1],sys.argv[1:])"


@functools.cache
def pid_namespace() -> tuple[str, ...]:
    """Return the command that gives a process a list of its own; empty if this machine does not allow that."""
    own = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    as_user = (*own, "--user", "--map-current-user")
    prefix = own if os.geteuid() == 0 else as_user
    if not shutil.which(prefix[0]):
        return ()
    trial = subprocess.run([*prefix, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return prefix if trial.returncode == 0 else ()


class LocalEnvironment(ChildEnvironment):
    """Actions in a child process. `spec.workdir` is ignored: the workspace is `spec.workspace` or a new directory."""

    process_name = "the supervisor"

    def __init__(self, spec: EnvironmentSpec, *, own_pids: bool = True) -> None:
        """`own_pids`: use a pid namespace if possible."""
        super().__init__(spec)
        self._run: Path | None = None
        self._prefix = pid_namespace() if own_pids else ()

    def check(self) -> None:
        if not shutil.which("bash"):
            raise EnvironmentUnavailable("the local environment needs bash, and this machine has none on PATH")
        if self.spec.workspace is not None and not self.spec.workspace.is_dir():
            raise EnvironmentUnavailable(f"the workspace {self.spec.workspace} is not a directory; make it first")

    def _open(self, channel: Channel) -> Ready:
        self.check()
        directory = self._make_directory("home", "workspace")
        self._run = self._make_directory(within="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        workspace = self.spec.workspace or directory / "workspace"
        self.workdir = str(workspace.resolve())
        self._pty = Pty() if self.spec.shell == "persistent" else None
        text = channel.text(self._settings() | {"run": str(self._run), "tty": self._pty.name if self._pty else ""})
        prefix = self._prefix or (sys.executable, "-I", "-c", _SUBREAPER)
        env = command_environment(self.spec, str(directory / "home"), os.environ.get("PATH", os.defpath))
        with suppress(KeyError):
            name = pwd.getpwuid(os.geteuid()).pw_name
            env = {"USER": name, "LOGNAME": name} | env
        ready = self._launch(channel, prefix, text, env)
        if not self._prefix:
            self._first = None
        return ready

    @property
    def _workspace(self) -> Path:
        return Path(self.workdir)

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

    def put(self, archive: BinaryIO, directory: str, *, as_root: bool = False) -> None:
        if as_root:
            raise EnvironmentUnavailable(
                f"the local environment cannot protect files from actions, so nothing is put into {directory} as root; "
                "use --env docker or --env sandbox"
            )
        super().put(archive, directory)

    def _run_directory(self) -> str:
        return str(self._run)
