"""The daemon's events about our containers, read by one thread for each daemon that all environments share.

This module only collects events; the environment decides what they mean. Containers are still examined now and then,
because events may come late, and a stream of events tells nothing about what came before it.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from environments.docker import daemon
from environments.leftovers import owner

_DIE = ("die", "died")
_DESTROY = ("destroy", "remove")
"""Names of the event in Docker and in Podman."""
_LOST = (*_DIE, *_DESTROY, "pause")
AGAIN_S = (0.05, 0.2, 1.0)
"""Seconds between attempts to reach a daemon that is gone."""
LATE_PAUSE_S = 2.0
"""Seconds after a pause of ours within which a daemon may still report it."""
LATENCY_S = 0.5
"""Seconds after which an event that has not arrived yet is not waited for anymore."""


@dataclass
class Watched:
    """The events about one container so far."""

    ooms: list[float] = field(default_factory=list)
    """Times at which a process was killed for memory, in seconds since the epoch by the daemon's clock."""
    paused: bool = False
    own_pause_until_s: float = 0.0
    """Monotonic time until which reports of a pause are about one of ours, and not a loss."""
    killed: str = ""
    """Signal that somebody sent to the container through the daemon."""
    status: str | None = None
    """Exit status of its first process, once that has ended."""
    ended_s: float = 0.0
    """Time at which it ended, by the same clock as `ooms`."""
    removed: bool = False
    broken: bool = False
    """True if the stream of events broke while it was watched: the daemon ended or was restarted."""
    _lost: Callable[[], None] | None = None
    _heard: threading.Condition = field(default_factory=threading.Condition)

    def wait(self, until: Callable[[Watched], object], seconds: float = LATENCY_S) -> bool:
        """Return whether `until` holds, now or within so many seconds."""
        with self._heard:
            return bool(self._heard.wait_for(lambda: until(self), seconds))

    def expect_pause(self) -> None:
        """Expect a pause of our own, until `end_pause`. A foreign one is then noticed by examining the container."""
        self.own_pause_until_s = math.inf

    def end_pause(self) -> None:
        """Note that our own pause is over.

        A daemon may report it a second time, and the container as paused for a moment, if it was a short one.
        """
        self.own_pause_until_s = time.monotonic() + LATE_PAUSE_S

    @property
    def has_own_pause(self) -> bool:
        """True if the container may be reported as paused because of us."""
        return time.monotonic() < self.own_pause_until_s

    def hear(self, action: str, event: dict[str, Any]) -> None:
        """Note an event; if the container will not answer anymore, wake up whoever waits for it."""
        attributes = (event.get("Actor") or {}).get("Attributes") or {}
        with self._heard:
            if action == "oom":
                self.ooms.append(_time_s(event))
            elif action == "pause" and self.has_own_pause:
                return
            elif action == "pause":
                self.paused = True
            elif action == "kill":
                self.killed = str(attributes.get("signal", "9"))
            elif action in _DIE:
                self.status = str(attributes.get("exitCode", attributes.get("containerExitCode", "?")))
                self.ended_s = _time_s(event)
            elif action in _DESTROY:
                self.removed = True
            elif action == "broken":
                self.broken = True
            self._heard.notify_all()
        if self._lost and action in _LOST:
            self._lost()


class _Watch(threading.Thread):
    """A thread that reads the events of one daemon. It is a daemon thread, so it never delays the process's exit."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        super().__init__(name="retrace-watch", daemon=True)
        self.containers: dict[str, Watched] = {}
        self.needed = threading.Event()
        """Set when a container is new. While the daemon is gone and no container is watched, nothing is tried."""
        self._connect = connect
        self._since_ns = time.time_ns()

    def run(self) -> None:
        tries = 0
        while True:
            with contextlib.suppress(Exception):  # whatever a broken stream may raise; polling goes on
                for event in self._events():
                    tries = 0
                    self._dispatch(event)
            for watched in list(self.containers.values()):
                watched.hear("broken", {})
            self.needed.wait(AGAIN_S[min(tries, len(AGAIN_S) - 1)] if self.containers else None)
            self.needed.clear()
            tries += 1

    def _events(self) -> Iterator[dict[str, Any]]:
        api = self._connect()
        try:
            labels = [f"{name}={value}" for name, value in owner.this_process().labels().items()]
            filters = {"type": ["container"], "label": labels}  # Podman finds nothing if filtered by event
            yield from api.events(
                since=f"{self._since_ns // 10**9}.{self._since_ns % 10**9:09}", filters=filters, decode=True
            )
        finally:
            api.close()

    def _dispatch(self, event: dict[str, Any]) -> None:
        self._since_ns = max(self._since_ns, int(event.get("timeNano", 0)) + 1)  # no event is read twice
        watched = self.containers.get(str(event.get("id") or (event.get("Actor") or {}).get("ID")))
        if watched:
            watched.hear(str(event.get("Action") or event.get("status")), event)


def _time_s(event: dict[str, Any]) -> float:
    return float(event.get("timeNano", 0) / 1e9)


_lock = threading.Lock()
_watches: dict[tuple[int, str], _Watch] = {}


def watch(api: Any, container: str, lost: Callable[[], None]) -> Watched:
    """Collect a container's events from now on. `lost` is called in another thread when it will not answer anymore."""
    key = os.getpid(), daemon.address(api)
    watched = Watched(_lost=lost)
    with _lock:
        thread = _watches.get(key)
        if thread is None:
            thread = _watches[key] = _Watch(daemon.another(api))
            thread.start()
        thread.containers[container] = watched
        thread.needed.set()
    return watched


def forget(api: Any, container: str) -> None:
    """Stop collecting a container's events."""
    with _lock:
        thread = _watches.get((os.getpid(), daemon.address(api)))
        if thread:
            thread.containers.pop(container, None)
