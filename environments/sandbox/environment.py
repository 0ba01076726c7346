"""Actions in a bubblewrap sandbox: namespaces of their own and a read-only selection of the system; no root needed."""

from __future__ import annotations

import logging
import os
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from environments.archives import exporting, unpacking
from environments.child import ChildEnvironment
from environments.pausing import Pausing
from environments.promises import SHARED_USER, Promise, supervised
from environments.protocol import (
    PROTECTED,
    EnvironmentFault,
    EnvironmentSpec,
    EnvironmentUnavailable,
    Export,
    Started,
)
from environments.sandbox import processes, seccomp
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
from environments.supervised import command_environment
from environments.wire.channel import Channel, Ready
from environments.wire.terminal import Pty

_OUT_OF_REACH = "/run/retrace"
"""A directory that only the supervisor can enter, and nobody can change: its file system is read-only."""
RUN = f"{_OUT_OF_REACH}/own"
"""The supervisor's files. Actions have the same user, so modes of its own would not keep them out."""

_log = logging.getLogger(__name__)


class SandboxEnvironment(Pausing, ChildEnvironment):
    """Actions in a process tree with its own namespaces, over a host directory as the workspace."""

    process_name = "the sandbox"

    def __init__(self, spec: EnvironmentSpec) -> None:
        super().__init__(spec)
        self._held: list[processes.Process] = []
        """The processes that a pause has stopped."""
        self._directory: Path | None = None
        """The environment's own host directory: /tmp, home, and the workspace unless the spec names one."""

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
        (directory / "feedback").mkdir()  # it stays our own
        (directory / "feedback").chmod(0o755)  # whatever our umask is
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

    def put(self, archive: BinaryIO, directory: str, *, as_root: bool = False) -> None:
        if not as_root:
            super().put(archive, directory)
            return
        self._supervisor()
        self.guard()
        assert self._directory is not None
        target = self._directory / PurePosixPath(self._protected(directory)).relative_to("/")
        unpacking.into(target, self._owned(archive, _ignored, as_root=True))

    def export(self, to: Path) -> Export:
        exported = super().export(to)
        if self._is_paused and self._first is not None and processes.moving(self._first.pid):
            _log.warning("processes of the sandbox did not stay stopped while it was paused, so they were ended")
            return exporting.write(self._supervisor().get(self.workdir, whole=True), to)
        return exported

    def _hold(self) -> None:
        if self._first is None:
            raise EnvironmentUnavailable("the sandbox cannot be paused: /proc does not show its processes")
        if lost := self.trouble():  # its process id may belong to another process by now
            raise lost
        try:
            processes.hold(self._first.pid, self._held)
        except EnvironmentFault as fault:
            processes.let_go(self._held)
            raise self.trouble() or fault from None
        if lost := self.trouble():
            processes.let_go(self._held)
            raise lost

    def _let_go(self) -> None:
        processes.let_go(self._held)
        if lost := self.trouble():
            raise lost

    def _archive_paused(self) -> exporting.Archive:
        """Read the files through the supervisor, which is not held, and may read what actions have locked."""
        return self._supervisor().get(self.workdir, whole=True, ending=False)

    def _put_paused(self, archive: BinaryIO, directory: str, *, as_root: bool) -> None:
        self._put_through(self._supervisor(), archive, directory, as_root=as_root)

    def _hides(self) -> bool:
        """Return whether actions cannot reach the supervisor's files; a persistent shell has to, by their names."""
        return "--perms" in options() and self.spec.shell == "fresh"

    def _run_directory(self) -> str:
        return RUN

    def _started(self, ready: Ready) -> Started:
        spec = self.spec
        promises = supervised(ready.lost, own_pids=True)
        promises += [Promise.OWN_FILES, Promise.OWN_PROCESSES, Promise.ADMINISTRATOR]
        promises += [Promise.NO_NEW_PRIVILEGES, Promise.NO_TRACING, Promise.PROTECTED_FILES]
        if self._first is not None:
            promises.append(Promise.PAUSE)
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


def _ignored(_: bytes) -> None:
    """Leave it to tar to make this directory, as our own user."""
