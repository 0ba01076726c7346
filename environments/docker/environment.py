"""Actions in a container, whose first process is the supervisor; the harness reaches it by attaching.

When the harness dies, the container's standard input ends, the supervisor leaves and the daemon removes the container.
Podman works through its Docker-compatible socket (DOCKER_HOST).
"""

from __future__ import annotations

import logging
import posixpath
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from environments import limits
from environments.archives import exporting
from environments.docker import container_state, control_group, daemon, images, pausing, removal, rescue, watch
from environments.docker.committing import commit
from environments.docker.services.group import Group
from environments.leftovers import owner
from environments.link import AttachLink, Closing
from environments.pausing import Pausing
from environments.promises import SHARED_USER, Promise, supervised
from environments.protocol import (
    EnvironmentLost,
    EnvironmentSpec,
    EnvironmentUnavailable,
    Execution,
    ImageUnusable,
    Started,
)
from environments.reporting import LogReporter, Reporter
from environments.supervised import START_S
from environments.wire.channel import Channel, Ready
from environments.wire.program import BOOT
from trajectories.record.events import Ended

if TYPE_CHECKING:
    from docker import APIClient

    from environments.wire.terminal import Spawn

RUN = "/run/retrace"
HOSTNAME = "retrace"
APPEAR_S = 1.0
"""Seconds for which a container may still appear if its creation was interrupted."""
_SUPERVISOR_CAPS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")
"""Capabilities that the supervisor needs if a task drops ALL."""
OOM_S = 0.5
"""Seconds that an `oom` event may come after the action that it belongs to."""

_log = logging.getLogger(__name__)


class DockerEnvironment(Pausing):
    """A container that lives from `start` to `stop`."""

    def __init__(self, spec: EnvironmentSpec, reporter: Reporter | None = None) -> None:
        """`reporter` shows the lines of a pull or a build."""
        super().__init__(spec)
        self._reporter = reporter or LogReporter()
        self._api: APIClient | None = None
        self._name = _new_name()
        """Chosen before the daemon is asked, so that nothing stays behind if its answer never comes."""
        self._asked = False
        self._group = Group(spec, self._reporter) if spec.services or spec.member.mounts else None
        self._container: str | None = None
        self._image: images.Image | None = None
        self._limits = limits.ContainerLimits()
        self._link: AttachLink | None = None
        self._exec: Closing | None = None
        """The object that keeps the socket of a persistent shell open."""
        self._heard = watch.Watched()
        self._memory_limited = False
        """True once it is proven that the container has its memory limit."""
        self._own_group = False
        """True once it is proven that its control group is its own."""
        self._last_end_s = 0.0
        """Time at which the last action ended, by the container's clock."""

    def check(self) -> None:
        if self.spec.image is None and self.spec.build is None:
            raise EnvironmentUnavailable("a docker environment needs an image; give --image or a task that has one")
        if self._api is None:
            self._api = daemon.connect()

    def _open(self, channel: Channel) -> Ready:
        self.check()
        assert self._api is not None
        api = self._api
        image = self._image = images.make_available(api, self.spec, self._reporter)
        if self.spec.workdir is None and posixpath.normpath(image.workdir or "/") != "/":
            self.workdir = posixpath.normpath(posixpath.join("/", image.workdir))
        user = self.spec.user or image.user or "0"
        home = self.spec.env.get("HOME") or image.env.get("HOME", "")
        self._limits = limits.of_container(self.spec, daemon.facts(api))
        settings = {"run": RUN, "drop": "user", "user": user, "home": home}
        settings["limited"] = "1" if "mem_limit" in self._limits.options else ""
        text = channel.text(self._settings() | settings)
        self._output_bytes = self._limits.output_bytes
        if self._group:
            self._group.start_before_main(api)
        while True:
            try:
                self._launch(api, image, channel, text)
                break
            except EnvironmentUnavailable as error:
                if not limits.without_refused(self._limits, str(error), str(daemon.facts(api).get("Driver"))):
                    raise
                if self._container is not None:
                    self._remove_container(api)
                self._name = _new_name()
        try:
            ready = channel.ready(START_S)
        except EnvironmentUnavailable as error:  # the supervisor runs, and lacks something in the image
            raise ImageUnusable(str(error)) from None
        if self._group:
            self._group.start_after_main(api)
        return ready

    def _launch(self, api: APIClient, image: images.Image, channel: Channel, text: bytes) -> None:
        self._container = None
        self._container = self._create(api, image, ["-p", "-c", BOOT, "retrace", str(len(text))])
        with daemon.reported(f"attaching to a container of {image.reference}"):
            streams = api.attach_socket(self._container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        self._link = AttachLink(getattr(streams, "_sock", streams), streams)
        self._heard = watch.watch(api, self._container, self._link.wake)
        channel.send_text(self._link, text)
        with images.reported_of_image(f"starting a container of {image.reference} (it needs bash)"):
            api.start(self._container)

    def _create(self, api: APIClient, image: images.Image, command: list[str]) -> str:
        from docker.types import LogConfig

        spec = self.spec
        network = {"network_mode": "default" if spec.network else "none"}
        host = api.create_host_config(
            auto_remove=not spec.keep,
            **(self._group.main_options() if self._group else network),
            cap_drop=list(spec.cap_drop),
            cap_add=list(_SUPERVISOR_CAPS) if "ALL" in map(str.upper, spec.cap_drop) else None,
            security_opt=["no-new-privileges:true"],
            init=False,
            # Nothing that an action prints may reach the daemon's log, and so the host's disk.
            log_config=LogConfig(type="none", config={}),
            tmpfs={RUN: f"mode=0700,size={self._limits.room_bytes}"},
            **self._limits.options,
        )
        self._asked = True
        with daemon.reported(f"creating a container of {image.reference}"):
            made = api.create_container(
                image.id,
                command,
                name=self._name,
                entrypoint=["bash"],
                user="0",
                working_dir="/",
                hostname=spec.member.hostname or HOSTNAME,
                environment={k: v for k, v in spec.env_defaults.items() if k not in image.env} | dict(spec.env),
                stdin_open=True,
                stop_signal="SIGKILL",
                healthcheck={"test": ["NONE"]},
                labels=self._labels(),
                platform=spec.platform,
                host_config=host,
                networking_config=self._group.main_endpoint(api) if self._group else None,
            )
        if self._group:
            self._group.join_others(api, "main", str(made["Id"]), spec.member)
        return str(made["Id"])

    def _labels(self) -> dict[str, str]:
        if self._group:
            return self._group.labels
        return {**self.spec.labels, **owner.this_process().labels(), **({owner.KEEP: "1"} if self.spec.keep else {})}

    def _started(self, ready: Ready) -> Started:
        assert self._image is not None
        assert self._api is not None
        promises = supervised(ready.lost, own_pids=True)
        promises += [Promise.OWN_FILES, Promise.OWN_PROCESSES, Promise.ADMINISTRATOR]
        more, lost = self._resources(ready)
        promises += more
        self._prove(promises, lost)
        if (ready.counts_oom and self._own_group) or self._memory_limited:
            promises.append(Promise.OOM_REPORTED)
        if "storage_opt" in self._limits.options:
            promises.append(Promise.DISK_LIMIT)
        if not self.spec.network and self._group is None:
            promises.append(Promise.NETWORK_OFF)
        elif not self.spec.network:
            lost.append("network-off: the container has a private network, on which only its services are")
        if pausing.can_pause(daemon.facts(self._api)):
            promises.append(Promise.PAUSE)
        if ready.dropped:
            promises += [Promise.EXECUTE_ONLY, Promise.UNFORGEABLE, Promise.NO_NEW_PRIVILEGES, Promise.NO_TRACING]
            promises.append(Promise.PROTECTED_FILES)
            lost.append(SHARED_USER)
        return Started(
            kind="docker",
            workdir=self.workdir,
            promises=tuple(promises),
            container=self._container,
            image=self._image.reference,
            image_digest=self._image.digest,
            user=ready.user,
            lost=(*self._limits.lost, *lost),
            lowered=tuple(self._limits.lowered),
            versions={"bash": ready.bash, "daemon": str(daemon.facts(self._api).get("ServerVersion", ""))},
        )

    def _prove(self, promises: list[Promise], lost: list[str]) -> None:
        """Add the promises about limits that the container's control group shows, and a line for each that it lacks."""
        assert self._api is not None
        assert self._container is not None
        options = self._limits.options
        channel, root = self._open_channel(), self._settings()["cgroup"]
        group = control_group.examine(channel, root, self._api, self._container)
        proven, asked = group.proven(options), set(self._limits.promises)
        checked = control_group.CHECKED & asked
        promises += [promise for promise in self._limits.promises if promise not in checked - proven]
        lost += group.unproven(checked - proven)
        self._memory_limited = Promise.MEMORY_LIMIT in proven
        self._own_group = group.is_own(options)
        if not self._own_group:
            if Promise.PEAK_MEMORY in promises:
                promises.remove(Promise.PEAK_MEMORY)
            lost.append("oom-reported, peak-memory: the container has no control group of its own that shows them")

    def checkpoint(self, name: str) -> str:
        if self._api is None or self._image is None or self._container is None:
            raise EnvironmentLost("the environment was not started")
        return commit(self._api, self._container, self._image, name, None if self._is_paused else self._heard)

    def _judged(self, execution: Execution, channel: Channel) -> Execution:
        """Use the daemon's `oom` event if the supervisor cannot see the kernel's count of processes killed for memory.

        The event's time must be after the action's begin, and too late for the action before: a late event is never
        charged to a later action. The event is only waited for if something was killed.
        """
        assert self._ready is not None
        if self._group and self._api and (lines := self._group.losses(self._api)):
            execution = replace(execution, services_lost=lines)
        if not self._own_group:  # these are facts about a group that others share
            ended: Ended = "exited" if execution.ended == "oom" else execution.ended
            execution = replace(execution, ended=ended, peak_memory_bytes=None)
        began_s, ended_s = channel.span_s
        if (self._ready.counts_oom and self._own_group) or not began_s:
            return execution
        since_s, self._last_end_s = max(began_s, self._last_end_s + OOM_S), ended_s
        killed = execution.signal == 9 or execution.exit_code == 137
        own_kill = self._heard.wait(
            lambda heard: any(time_s >= since_s for time_s in heard.ooms), OOM_S if killed else 0
        )
        return replace(execution, ended="oom") if own_kill and execution.ended == "exited" else execution

    def _terminal(self, command: Sequence[str]) -> Spawn:
        from pexpect.socket_pexpect import SocketSpawn

        assert self._api is not None
        with daemon.reported("opening a terminal in the container"):
            made = self._api.exec_create(self._container, list(command), tty=True, stdin=True, user="0")
            stream: Any = self._api.exec_start(made["Id"], tty=True, socket=True)
        raw: Any = getattr(stream, "_sock", stream)
        raw.settimeout(None)
        self._close_exec()
        self._exec = stream
        return cast("Spawn", SocketSpawn(raw))

    def _close_exec(self) -> None:
        if self._exec is not None:
            self._exec.close()

    def trouble(self) -> EnvironmentLost | None:
        if self._container is None or self._api is None:
            return None
        return container_state.trouble(self._api, self._container, self._heard, limited=self._memory_limited)

    def _rescue(self) -> exporting.Archive:
        """Read the workspace through the daemon, whether the container runs, is paused or has stopped."""
        return rescue.of_container(*self._running(), self.workdir)

    def _hold(self) -> None:
        pausing.hold(*self._running(), self._heard, self.trouble)
        if self._group:
            try:
                self._group.hold(self._running()[0])
            except BaseException:
                pausing.let_go(*self._running(), self._heard, self.trouble)
                raise

    def _let_go(self) -> None:
        if self._group:
            self._group.let_go(self._running()[0])
        pausing.let_go(*self._running(), self._heard, self.trouble)

    def _archive_paused(self) -> exporting.Archive:
        return rescue.of_still_container(*self._running(), self.workdir)

    def _put_paused(self, archive: BinaryIO, directory: str, *, as_root: bool) -> None:
        implied: list[bytes] = []
        members = self._owned(archive, implied.append, as_root=as_root)
        with pausing.unpacking(*self._running(), directory, self.trouble):
            if as_root:
                pausing.put_as_root(*self._running(), members, self._protected(directory), implied)
            else:
                pausing.put(*self._running(), members, self._inside(directory), implied, self._owner(as_root=False))

    def _running(self) -> tuple[APIClient, str]:
        """Return the daemon's client and the container's id.

        Raises: EnvironmentLost if there is no container.
        """
        if self._container is None or self._api is None:
            raise EnvironmentLost("there is no container")
        return self._api, self._container

    def _watched(self) -> Sequence[Path]:
        """Return the daemon's own directory, if it is on this machine."""
        root = daemon.facts(self._api).get("DockerRootDir") if self._api else None
        return (Path(root),) if root and daemon.is_local(self._api) else ()

    def _remove(self) -> None:
        if self._api is not None:
            self._remove_container(self._api)
            if self._group:
                self._group.remove(self._api)
            self._close_exec()
            self._api.close()

    def _remove_container(self, api: APIClient) -> None:
        if not self._asked:
            return
        if self._container is not None:
            watch.forget(api, self._container)
        removal.remove(api, self._name, keep=self.spec.keep, appear_s=APPEAR_S if self._container is None else 0)


def _new_name() -> str:
    return f"retrace-{secrets.token_hex(6)}"
