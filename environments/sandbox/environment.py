"""Actions in a bubblewrap sandbox: namespaces of their own and a read-only selection of the system; no root needed."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from environments.archives import exporting
from environments.archives.protected import members
from environments.child import ChildEnvironment
from environments.leftovers.owner import Owner
from environments.promises import SHARED_USER, Promise, supervised
from environments.protocol import PROTECTED, EnvironmentLost, EnvironmentSpec, EnvironmentUnavailable, Started
from environments.sandbox import seccomp
from environments.sandbox.bubblewrap import (
    NOBODY,
    PATH,
    UID,
    as_user,
    bwrap_prefix as bwrap_prefix,
    keeps_namespaces,
    obstacle,
    options,
    outer_user,
    system,
    version,
)
from environments.sandbox.processes import continue_all, stop_all
from environments.supervised import command_environment
from environments.wire.channel import Channel, Ready
from environments.wire.terminal import Pty
from trajectories.processes import start_time

_OUT_OF_REACH = "/run/retrace"
"""A directory that only the supervisor can enter, and nobody can change: its file system is read-only."""
RUN = f"{_OUT_OF_REACH}/own"
"""The supervisor's files. Actions have the same user, so modes of its own would not keep them out."""


class SandboxEnvironment(ChildEnvironment):
    """Actions in a process tree with its own namespaces, over a host directory as the workspace."""

    process_name = "the sandbox"

    def __init__(self, spec: EnvironmentSpec) -> None:
        super().__init__(spec)
        self._directory: Path | None = None
        """The environment's own host directory: /tmp, home, /feedback, and the workspace unless the spec names one."""
        self._stopped_pids: frozenset[int] = frozenset()

    def check(self) -> None:
        workspace = self.spec.workspace
        if workspace is not None and not workspace.is_dir():
            raise EnvironmentUnavailable(f"the workspace {workspace} is not a directory; make it first")
        user = outer_user(workspace)
        if user == 0:
            raise EnvironmentUnavailable(
                f"the workspace {workspace} belongs to root, and a sandbox never runs as root; "
                f"give it to another user (chown -R {NOBODY} {workspace})"
            )
        reason = obstacle(user)
        if reason:
            raise EnvironmentUnavailable(reason)

    def _open(self, channel: Channel) -> Ready:
        self.check()
        spec = self.spec
        user = outer_user(spec.workspace)
        self._directory = directory = self._make_directory("etc", "home", "tmp", "workspace")
        (directory / "tmp").chmod(0o1777)
        self._write_accounts(directory / "etc")
        if user is not None:
            for path in (directory, *directory.rglob("*")):
                os.chown(path, user, user)
        (directory / "feedback").mkdir(mode=0o755)
        settings = self._settings() | {
            "run": RUN,
            "drop": "caps",
            "memory_kb": str((spec.memory_bytes or 0) >> 10),
            "pids": str(spec.pids or 0),
        }
        if spec.shell == "persistent":
            self._pty = Pty(user)
            settings["tty"] = "/dev/console"
        text = channel.text(settings)
        env = command_environment(spec, f"/home/{self._name}", PATH) | {"USER": self._name, "LOGNAME": self._name}
        call_filter = seccomp.opened()
        try:
            command = [*as_user(user), *self._command(directory, call_filter)]
            return self._launch(channel, command, text, env, (call_filter,))
        finally:
            os.close(call_filter)

    def pause(self) -> None:
        self._open_channel()
        self._stopped_pids = stop_all(self._running())
        self._paused = True

    def unpause(self) -> None:
        continue_all(self._running(), self._stopped_pids)
        self._paused = False

    def _running(self) -> Owner:
        if self._first is None or self._directory is None:
            raise EnvironmentLost("the sandbox was not started, or ended at once")
        return self._first

    def _held(self) -> exporting.Archive:
        return exporting.of_directory(self._workspace)

    def _put_as_root(self, archive: BinaryIO, directory: str) -> None:
        """Write files where actions see them through a read-only mount, whoever owns them."""
        self._running()
        assert self._directory is not None
        try:
            for entry in members(archive, directory):
                path = self._directory / entry.path
                if entry.content is None:
                    path.mkdir(exist_ok=True)
                else:
                    path.unlink(missing_ok=True)
                    path.write_bytes(entry.content)
                path.chmod(entry.mode)
        except OSError as error:
            raise exporting.full(error) or EnvironmentLost(f"{directory} cannot be written: {error}") from error

    def _end(self) -> None:
        if self._paused and self._first is not None and start_time(self._first.pid) == self._first.start:
            with suppress(ProcessLookupError):
                os.kill(self._first.pid, signal.SIGKILL)  # it cannot see the end of its input
        super()._end()

    @property
    def _workspace(self) -> Path:
        return self.spec.workspace or (self._directory or Path()) / "workspace"

    @property
    def _name(self) -> str:
        name = (self.spec.user or "").partition(":")[0]
        return name if name.isalnum() and not name.isdigit() and name != "root" else "agent"

    def _write_accounts(self, etc: Path) -> None:
        name = self._name
        (etc / "passwd").write_text(
            f"root:x:0:0::/root:/bin/bash\n{name}:x:{UID}:{UID}::/home/{name}:/bin/bash\n"
            f"nobody:x:{NOBODY}:{NOBODY}::/nonexistent:/usr/sbin/nologin\n"
        )
        (etc / "group").write_text(f"root:x:0:\n{name}:x:{UID}:\nnogroup:x:{NOBODY}:\n")
        (etc / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")

    def _command(self, directory: Path, call_filter: int) -> list[str]:
        spec = self.spec
        command = system(spec, self._pty.name if self._pty else None)
        # Only the supervisor keeps this: it reads what actions made unreadable, and actions cannot look into it.
        command += ["--cap-add", "CAP_DAC_OVERRIDE", "--as-pid-1", "--seccomp", str(call_filter)]
        for name in ("passwd", "group") if spec.network else ("passwd", "group", "hosts"):
            command += ["--ro-bind", str(directory / "etc" / name), f"/etc/{name}"]
        command += ["--bind", str(directory / "tmp"), "/tmp", "--bind", str(directory / "home"), f"/home/{self._name}"]
        command += ["--symlink", "/tmp", "/var/tmp", "--ro-bind", str(directory / "feedback"), str(PROTECTED)]
        command += ["--dir", "/run", *(["--perms", "0000"] if self._hides() else []), "--dir", _OUT_OF_REACH]
        if "--size" in options():
            command += ["--size", str(2 * spec.output_bytes + (64 << 20))]
        command += ["--tmpfs", RUN, "--bind", str(self._workspace.resolve()), self.workdir]
        return [*command, "--remount-ro", "/", "--chdir", "/", "--"]

    def _hides(self) -> bool:
        """Return whether actions cannot reach the supervisor's files; a persistent shell has to, by their names."""
        return "--perms" in options() and self.spec.shell == "fresh"

    def _run_directory(self) -> str:
        return RUN

    def _started(self, ready: Ready) -> Started:
        spec = self.spec
        promises = supervised(ready.lost, own_pids=True)
        promises += [Promise.OWN_FILES, Promise.OWN_PROCESSES, Promise.ADMINISTRATOR]
        promises += [Promise.NO_NEW_PRIVILEGES, Promise.NO_TRACING]
        more, lost = self._resources(ready)
        promises += more
        if self._hides():
            promises.append(Promise.UNFORGEABLE)
            lost.append(SHARED_USER)
        elif spec.shell == "fresh":
            lost.append("supervisor: actions can change its files (bubblewrap 0.5 prevents that), and so forge results")
        if "--size" in options():
            promises.append(Promise.SHM_LIMIT)
        elif spec.shm_bytes is not None:
            lost.append("shm_bytes: this bubblewrap cannot limit /dev/shm")
        if spec.disk_bytes is not None:
            lost.append("disk_bytes: not limited")
        if not spec.network:
            promises.append(Promise.NETWORK_OFF)
        else:
            lost.append("network: this machine's own, with what listens on its loopback and on abstract sockets")
        if not keeps_namespaces():
            lost.append("user namespaces: an action can make one and be root in it (bubblewrap 0.8 prevents that)")
        if spec.memory_bytes is not None:
            promises.append(Promise.MEMORY_LIMIT_PER_PROCESS)
            lost.append("memory: the limit holds for each process by itself, not for all together")
        if spec.cpus is not None:
            lost.append("cpus: not limited")
        if spec.pids is not None:
            promises.append(Promise.PIDS_LIMIT)
        return Started(
            kind="sandbox",
            workdir=self.workdir,
            promises=tuple(promises),
            user=ready.user,
            lost=tuple(lost),
            versions={"bash": ready.bash, "bubblewrap": version() or ""},
        )
