"""The daemon's events about our containers: one thread a daemon in a process, late, shared by all environments.

It only hears and tells. What an event means for an action or an environment is the environment's. Looking at a
container now and then stays as it is: a stream of events may be late, and says nothing of what came before it.
"""

from __future__ import annotations

import contextlib
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
"""Docker's word and Podman's."""
_LOST = (*_DIE, *_DESTROY, "pause")
AGAIN_S = (0.05, 0.2, 1.0)
"""Waits between tries to reach a daemon that is gone."""
LATENCY_S = 0.5
"""An event that is not here so long after what it tells of does not count any more."""


@dataclass
class Watched:
    """What was heard of one container. `ooms` are the daemon's times, in seconds since the epoch."""

    ooms: list[float] = field(default_factory=list)
    paused: bool = False
    own_pauses: int = 0
    """Pauses that we asked for, and the daemon has not told of yet. They are no loss, however late it tells."""
    killed: str = ""
    """The signal that somebody sent to it through the daemon."""
    status: str | None = None
    """Its first process's exit status, once that ended."""
    removed: bool = False
    broken: bool = False
    """The stream of events broke since it was watched: the daemon ended or was restarted."""
    _lost: Callable[[], None] | None = None
    _heard: threading.Condition = field(default_factory=threading.Condition)

    def wait(self, until: Callable[[Watched], object], seconds: float = LATENCY_S) -> bool:
        """Whether something was heard, or is within so long."""
        with self._heard:
            return bool(self._heard.wait_for(lambda: until(self), seconds))

    def expect_pause(self) -> None:
        """The next pause is ours. If none comes, another one that does is only found by looking at the container."""
        with self._heard:
            self.own_pauses += 1

    def hear(self, action: str, event: dict[str, Any]) -> None:
        """Note an event, and tell whoever waits for the container if it will not answer any more."""
        attributes = (event.get("Actor") or {}).get("Attributes") or {}
        with self._heard:
            if action == "oom":
                self.ooms.append(event.get("timeNano", 0) / 1e9)
            elif action == "pause" and self.own_pauses:
                self.own_pauses -= 1
                return
            elif action == "pause":
                self.paused = True
            elif action == "kill":
                self.killed = str(attributes.get("signal", "9"))
            elif action in _DIE:
                self.status = str(attributes.get("exitCode", attributes.get("containerExitCode", "?")))
            elif action in _DESTROY:
                self.removed = True
            elif action == "broken":
                self.broken = True
            self._heard.notify_all()
        if self._lost and action in _LOST:
            self._lost()


class _Watch(threading.Thread):
    """Reads one daemon's events. A daemon thread, so that it ends with the process and never holds up its exit."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        super().__init__(name="retrace-watch", daemon=True)
        self.containers: dict[str, Watched] = {}
        self.needed = threading.Event()
        """Set where a container is new: while the daemon is gone and none is watched, nothing is tried."""
        self._connect = connect
        self._since = time.time()

    def run(self) -> None:
        tries = 0
        while True:
            with contextlib.suppress(Exception):  # whatever a broken stream may raise; polling goes on
                for event in self._events():
                    tries = 0
                    self._tell(event)
            for watched in list(self.containers.values()):
                watched.hear("broken", {})
            self.needed.wait(AGAIN_S[min(tries, len(AGAIN_S) - 1)] if self.containers else None)
            self.needed.clear()
            tries += 1

    def _events(self) -> Iterator[dict[str, Any]]:
        api = self._connect()
        try:
            labels = [f"{name}={value}" for name, value in owner.this_process().labels().items()]
            filters = {"type": ["container"], "label": labels}  # by event's name, Podman finds nothing
            yield from api.events(since=f"{self._since:.9f}", filters=filters, decode=True)
        finally:
            api.close()

    def _tell(self, event: dict[str, Any]) -> None:
        self._since = max(self._since, event.get("timeNano", 0) / 1e9 + 1e-9)
        watched = self.containers.get(str(event.get("id") or (event.get("Actor") or {}).get("ID")))
        if watched:
            watched.hear(str(event.get("Action") or event.get("status")), event)


_lock = threading.Lock()
_watches: dict[tuple[int, str], _Watch] = {}


def watch(api: Any, container: str, lost: Callable[[], None]) -> Watched:
    """Hear of a container from now on; `lost` is called, in another thread, when it will not answer any more."""
    key = os.getpid(), daemon.address(api)
    watched = Watched(_lost=lost)
    with _lock:
        found = _watches.get(key)
        if found is None:
            found = _watches[key] = _Watch(daemon.another(api))
            found.start()
        found.containers[container] = watched
        found.needed.set()
    return watched


def forget(api: Any, container: str) -> None:
    """Hear no more of it."""
    with _lock:
        found = _watches.get((os.getpid(), daemon.address(api)))
        if found:
            found.containers.pop(container, None)
