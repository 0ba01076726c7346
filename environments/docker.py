"""Actions in a container: the supervisor is its first process, reached by attach.

When the harness dies, the container's standard input ends, the supervisor leaves and the daemon removes the rest.
Podman works through its Docker-compatible socket (DOCKER_HOST).
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from environments import daemon, images, owner
from environments.channel import Channel, Ready
from environments.link import AttachLink
from environments.program import BOOT
from environments.promises import Promise
from environments.protocol import EnvironmentSpec, EnvironmentUnavailable, Started
from environments.supervised import START_S, Supervised, supervised_promises
from trajectories.events import Lowered

if TYPE_CHECKING:
    from docker import APIClient

RUN = "/run/retrace"
HOSTNAME = "retrace"
REMOVE_S = 10.0
APPEAR_S = 1.0
"""A container whose making was interrupted may still turn up for so long."""
_SUPERVISOR_CAPS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")
"""What the supervisor needs where a task drops ALL."""
_LIMITS = {
    "nano_cpus": ("CpuCfsQuota", Promise.CPU_LIMIT),
    "mem_limit": ("MemoryLimit", Promise.MEMORY_LIMIT),
    "pids_limit": ("PidsLimit", Promise.PIDS_LIMIT),
}
"""A limit's name in the API, the daemon's word for being able to, and what it lets us promise."""

_PROGRAM_BYTES = 4 << 20
"""For the scripts of actions, beside their output."""

Number = TypeVar("Number", int, float)

_log = logging.getLogger(__name__)


class DockerEnvironment(Supervised):
    """A container that lives from `start` to `stop`."""

    def __init__(self, spec: EnvironmentSpec, progress: Callable[[str], None] | None = None) -> None:
        """`progress` gets the lines of a pull or a build."""
        super().__init__(spec)
        self._progress = progress or _log.info
        self._api: APIClient | None = None
        self._name = f"retrace-{secrets.token_hex(6)}"
        """Known before the daemon is asked, so that a request whose answer never came leaves nothing."""
        self._asked = False
        self._container: str | None = None
        self._image: images.Image | None = None
        self._limits: dict[str, Any] = {}
        self._lowered: list[Lowered] = []
        self._lost: list[str] = []
        self._room = 0

    def check(self) -> None:
        if self.spec.image is None and self.spec.build is None:
            raise EnvironmentUnavailable("a docker environment needs an image; give --image or a task that has one")
        if self._api is None:
            self._api = daemon.connect()

    def _open(self, channel: Channel) -> Ready:
        self.check()
        assert self._api is not None
        api = self._api
        image = self._image = images.make_available(api, self.spec, self._progress)
        user = self.spec.user or image.user or "0"
        home = self.spec.env.get("HOME") or image.env.get("HOME", "")
        text = channel.text(self._settings() | {"run": RUN, "drop": "user", "user": user, "home": home})
        self._set_limits(daemon.facts(api))
        self._container = self._create(api, image, ["-p", "-c", BOOT, "retrace", str(len(text))])
        with daemon.told(f"attaching to a container of {image.reference}"):
            streams = api.attach_socket(self._container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        channel.send_text(AttachLink(getattr(streams, "_sock", streams), streams), text)
        with daemon.told(f"starting a container of {image.reference} (it needs bash)"):
            api.start(self._container)
        return channel.ready(START_S)

    def _create(self, api: APIClient, image: images.Image, command: list[str]) -> str:
        from docker.types import LogConfig

        spec = self.spec
        host = api.create_host_config(
            auto_remove=not spec.keep,
            network_mode="default" if spec.network else "none",
            cap_drop=list(spec.cap_drop),
            cap_add=list(_SUPERVISOR_CAPS) if "ALL" in map(str.upper, spec.cap_drop) else None,
            security_opt=["no-new-privileges:true"],
            init=False,
            # Nothing that an action prints may reach the daemon's log, and with it the host's disk.
            log_config=LogConfig(type="none", config={}),
            tmpfs={RUN: f"mode=0711,size={self._room}"},
            **self._limits,
        )
        self._asked = True
        with daemon.told(f"creating a container of {image.reference}"):
            made = api.create_container(
                image.id,
                command,
                name=self._name,
                entrypoint=["bash"],
                user="0",
                working_dir="/",
                hostname=HOSTNAME,
                environment=dict(spec.env),
                stdin_open=True,
                stop_signal="SIGKILL",
                healthcheck={"test": ["NONE"]},
                labels={**spec.labels, **owner.this_process().labels()},
                platform=spec.platform,
                host_config=host,
            )
        return str(made["Id"])

    def _set_limits(self, host: dict[str, Any]) -> None:
        """The limits that this daemon can give; what it cannot is noted."""
        spec, limits = self.spec, self._limits
        if spec.cpus is not None:
            limits["nano_cpus"] = round(self._at_most("cpus", spec.cpus, host["NCPU"]) * 1e9)
        if spec.memory_bytes is not None:
            limits["mem_limit"] = self._at_most("memory_bytes", spec.memory_bytes, host["MemTotal"])
        if spec.pids is not None:
            limits["pids_limit"] = spec.pids
        for limit, (feature, _) in _LIMITS.items():
            if limit in limits and host.get(feature) is False:
                self._lost.append(f"the daemon's kernel has no {feature}: {limit} is not enforced")
                del limits[limit]
        self._room = 2 * spec.output_bytes + _PROGRAM_BYTES
        if "mem_limit" in limits:  # the output is kept in memory until it is fetched, and counts
            self._room = max(min(self._room, limits["mem_limit"] // 4), 2 * _PROGRAM_BYTES)
            self._output_bytes = self._at_most("output_bytes", spec.output_bytes, self._room - _PROGRAM_BYTES)
        if "mem_limit" in limits and host.get("SwapLimit") is not False:
            limits["memswap_limit"] = limits["mem_limit"]

    def _at_most(self, limit: str, asked: Number, there: Number) -> Number:
        if asked > there:
            self._lowered.append(Lowered(limit=limit, asked=str(asked), given=str(there)))
        return min(asked, there)

    def _started(self, ready: Ready) -> Started:
        assert self._image is not None
        assert self._api is not None
        promises = supervised_promises(self.spec, ready, own_pids=True)
        promises += [Promise.OWN_FILES, Promise.OWN_PROCESSES, Promise.ADMINISTRATOR]
        promises += [promise for limit, (_, promise) in _LIMITS.items() if limit in self._limits]
        if not self.spec.network:
            promises.append(Promise.NETWORK_OFF)
        if Promise.MEMORY_LIMIT in promises:
            promises.append(Promise.OOM_REPORTED)
        if ready.dropped:
            promises += [Promise.EXECUTE_ONLY, Promise.UNFORGEABLE, Promise.NO_NEW_PRIVILEGES, Promise.NO_TRACING]
        return Started(
            kind="docker",
            workdir=self.workdir,
            promises=tuple(promises),
            container=self._container,
            image=self._image.reference,
            image_digest=self._image.digest,
            user=ready.user,
            lost=(*self._lost, *ready.lost),
            lowered=tuple(self._lowered),
            versions={"bash": ready.bash, "daemon": str(daemon.facts(self._api).get("ServerVersion", ""))},
        )

    def _trouble(self) -> str | None:
        if self._container is None or self._api is None:
            return None
        what = f"container {self._container[:12]}"
        try:
            with daemon.patience(self._api, daemon.QUICK_S):
                state = self._api.inspect_container(self._container)["State"]
        except daemon.not_found():
            return f"{what} was removed"
        except OSError as error:
            return f"{what}: the daemon does not answer ({daemon.reason(error)})"
        if state.get("Paused"):
            return f"{what} was paused"
        if state["Running"] or state.get("Status") == "created":
            return None
        cause = " for memory" if state.get("OOMKilled") else ""
        return f"{what} ended{cause} with status {state.get('ExitCode')} {state.get('Error', '')}".strip()

    def _watched(self) -> Path | None:
        """The daemon's own directory, where it is on this machine."""
        root = daemon.facts(self._api).get("DockerRootDir") if self._api else None
        return Path(root) if root and daemon.is_local(self._api) else None

    def _remove(self) -> None:
        if self._api is not None:
            self._remove_container(self._api)
            self._api.close()

    def _remove_container(self, api: APIClient) -> None:
        if not self._asked:
            return
        until = time.monotonic() + REMOVE_S
        appears = time.monotonic() + (APPEAR_S if self._container is None else 0)
        while time.monotonic() < until:
            try:
                with daemon.patience(api, daemon.QUICK_S):
                    if self.spec.keep:
                        api.kill(self._name)
                    else:
                        api.remove_container(self._name, force=True, v=True)
                return
            except daemon.not_found():
                if time.monotonic() > appears:
                    return
                time.sleep(0.05)
            except OSError as error:
                if "is not running" in str(error):
                    return
                time.sleep(0.01)  # it removes itself at this very moment, or the daemon is slow
        _log.warning("container %s could not be removed in %g s; agent clean will find it", self._name, REMOVE_S)
