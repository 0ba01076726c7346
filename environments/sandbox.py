"""Actions in a bubblewrap sandbox: own namespaces, a short list of the system read-only, no root needed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from environments.bubblewrap import (
    NOBODY,
    PATH,
    UID,
    as_user,
    bwrap_prefix as bwrap_prefix,
    obstacle,
    options,
    outer_user,
    system,
    version,
)
from environments.channel import Channel, Ready
from environments.link import ProcessLink
from environments.owner import this_process
from environments.promises import Promise
from environments.protocol import EnvironmentSpec, EnvironmentUnavailable, Started
from environments.removal import remove_tree
from environments.spawn import end, spawn
from environments.supervised import START_S, Supervised, command_environment, supervised_promises

RUN = "/run/retrace"


class SandboxEnvironment(Supervised):
    """A process tree in its own namespaces, over a host directory as the workspace."""

    def __init__(self, spec: EnvironmentSpec) -> None:
        super().__init__(spec)
        self._link: ProcessLink | None = None
        self._place: Path | None = None

    def check(self) -> None:
        workspace = self.spec.workspace
        if workspace is not None and not workspace.is_dir():
            raise EnvironmentUnavailable(f"the workspace {workspace} is not a directory; make it first")
        user = outer_user(workspace)
        if user == 0:
            raise EnvironmentUnavailable(
                f"the workspace {workspace} is root's, and a sandbox never runs as root; "
                f"give it to another user (chown -R {NOBODY} {workspace})"
            )
        why = obstacle(user)
        if why:
            raise EnvironmentUnavailable(why)

    def _open(self, channel: Channel) -> Ready:
        self.check()
        spec = self.spec
        user = outer_user(spec.workspace)
        self._place = Path(tempfile.mkdtemp(prefix=this_process().prefix))
        for name in ("etc", "home", "tmp", "workspace"):
            (self._place / name).mkdir()
        (self._place / "tmp").chmod(0o1777)
        self._write_accounts(self._place / "etc")
        if user is not None:
            for path in (self._place, *self._place.rglob("*")):
                os.chown(path, user, user)
        settings = self._settings() | {
            "run": RUN,
            "drop": "caps",
            "memory_kb": str((spec.memory_bytes or 0) >> 10),
            "pids": str(spec.pids or 0),
        }
        text = channel.text(settings)
        env = command_environment(spec, f"/home/{self._name}", PATH) | {"USER": self._name, "LOGNAME": self._name}
        self._link = spawn([*as_user(user), *self._command(self._place)], len(text), env)
        channel.send_text(self._link, text)
        return channel.ready(START_S)

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

    def _command(self, place: Path) -> list[str]:
        spec = self.spec
        workspace = spec.workspace.resolve() if spec.workspace else place / "workspace"
        command = system(spec)
        # The supervisor alone keeps this: it reads what actions made unreadable, and they cannot look into it.
        command += ["--cap-add", "CAP_DAC_OVERRIDE", "--as-pid-1"]
        for name in ("passwd", "group") if spec.network else ("passwd", "group", "hosts"):
            command += ["--ro-bind", str(place / "etc" / name), f"/etc/{name}"]
        command += ["--bind", str(place / "tmp"), "/tmp", "--bind", str(place / "home"), f"/home/{self._name}"]
        command += ["--symlink", "/tmp", "/var/tmp"]
        if "--size" in options():
            command += ["--size", str(2 * spec.output_bytes + (64 << 20))]
        command += ["--tmpfs", RUN, "--bind", str(workspace), self.workdir]
        return [*command, "--remount-ro", "/", "--chdir", "/", "--"]

    def _started(self, ready: Ready) -> Started:
        spec = self.spec
        promises = supervised_promises(spec, ready, own_pids=True)
        promises += [Promise.OWN_FILES, Promise.OWN_PROCESSES, Promise.ADMINISTRATOR]
        promises += [Promise.NO_NEW_PRIVILEGES, Promise.NO_TRACING]
        lost = list(ready.lost)
        if not spec.network:
            promises.append(Promise.NETWORK_OFF)
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

    def _trouble(self) -> str | None:
        if self._link and (status := self._link.process.poll()) is not None:
            return f"the sandbox ended with status {status}"
        return None

    def _watched(self) -> Path | None:
        return self.spec.workspace or self._place or Path(tempfile.gettempdir())

    def _remove(self) -> None:
        if self._link:
            end(self._link)
        if self._place:
            remove_tree(self._place)
