"""The only file that calls Ray: connects to a cluster, lists its nodes, and makes actors.

Ray is imported when it is first needed; a base installation does not have it. Secrets stay where they are: no runtime
environment is given to Ray, so an actor has the environment of its node and nothing of the driver's.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from agent.batch.engines.ray.actor import NodeActor
from agent.errors import MachineError
from trajectories.extras import Extra

_RAY = Extra("ray", MachineError)
_CONNECT_S = 5.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GROUPS = {"send": 1, "receive": 1, "control": 1}
"""One thread for what goes to a worker and one for what comes from it: each keeps its order, and a kill overtakes."""


@dataclass(frozen=True)
class Node:
    """A live node of the cluster."""

    id: str
    host: str
    resources: Mapping[str, float]


class Actor:
    """A `NodeActor` on a node. Its calls return references."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def send(self, method: str, *arguments: object) -> Any:
        """Call a method behind those that were sent before."""
        return getattr(self._handle, method).options(concurrency_group="send").remote(*arguments)

    def receive(self, method: str, *arguments: object) -> Any:
        """Call a method beside those that were sent."""
        return getattr(self._handle, method).options(concurrency_group="receive").remote(*arguments)

    def overtake(self, method: str, *arguments: object) -> Any:
        """Call a method before everything that was sent."""
        return getattr(self._handle, method).options(concurrency_group="control").remote(*arguments)

    @property
    def handle(self) -> Any:
        """Ray's own handle."""
        return self._handle


class Cluster:
    """A Ray cluster that this process is the driver of."""

    def __init__(self, address: str | None) -> None:
        """Connect to the cluster at an address, or to the one that Ray finds on this machine.

        Raises: MachineError.
        """
        self._ray: ModuleType = _RAY.load("ray", "--engine ray")
        self.address = address or os.environ.get("RAY_ADDRESS") or "auto"
        if "://" in self.address:
            raise MachineError(
                f"--address {self.address}: a Ray client cannot own a batch; run the command on a node of the cluster, "
                "with --address HOST:PORT"
            )
        handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        try:
            self._connect()
        finally:
            for number, handler in handlers.items():  # Ray installs its own handler of SIGTERM
                signal.signal(number, handler)
        _silence()

    def nodes(self) -> list[Node]:
        """Return the live nodes, with what they have in all."""
        return [
            Node(str(node["NodeID"]), str(node["NodeManagerHostname"]), dict(node["Resources"]))
            for node in self._ray.nodes()
            if node["Alive"]
        ]

    def actor(self, node: Node, options: Mapping[str, object]) -> Actor:
        """Start an actor on a node, which waits there for its resources. Ray never restarts it or calls it again."""
        affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node.id, soft=False)
        remote = self._ray.remote(concurrency_groups=_GROUPS, max_restarts=0, max_task_retries=0)(NodeActor)
        return Actor(remote.options(scheduling_strategy=affinity, **options).remote())

    def ready(self, references: Sequence[Any], timeout_s: float) -> list[Any]:
        """Return those references whose calls have ended, waiting at most so long for the first."""
        some, _ = self._ray.wait(list(references), num_returns=1, timeout=timeout_s)
        if not some:
            return []
        done, _ = self._ray.wait(list(references), num_returns=len(references), timeout=0)
        return list(done)

    def result(self, reference: Any) -> Any:
        """Return what a call that has ended returned.

        Raises: CallFailed.
        """
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, Exception) else error
            raise CallFailed(_first_line(cause), is_actor_lost=False) from None
        except self._ray.exceptions.RayError as error:
            raise CallFailed(_words(error), is_actor_lost=True) from None
        except Exception as error:  # the node sent something that cannot be read here, for example by another version
            raise CallFailed(f"its answer cannot be read ({_first_line(error)})", is_actor_lost=False) from None

    def end(self, actor: Actor) -> None:
        """End an actor at once."""
        with suppress(Exception):
            self._ray.kill(actor.handle, no_restart=True)

    def close(self) -> None:
        """Leave the cluster."""
        self._ray.shutdown()

    def _connect(self) -> None:
        if self.address == "auto":
            _require_local_cluster()
        else:
            _require_listener(self.address)
        try:
            self._ray.init(
                address=self.address,
                namespace="retrace",
                log_to_driver=False,
                configure_logging=True,
                logging_level="ERROR",
            )
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise MachineError(f"no batch on the Ray cluster at {self.address}: {_first_line(error)}") from None


class CallFailed(Exception):
    """A call of an actor failed. `str()` is the reason in one line."""

    def __init__(self, reason: str, *, is_actor_lost: bool) -> None:
        super().__init__(reason)
        self.is_actor_lost = is_actor_lost
        """True if the actor is gone, and nothing more will come from it."""


def _require_listener(address: str) -> None:
    """Raise MachineError if nothing listens at an address: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except ValueError:
        raise MachineError(f"--address {address}: not HOST:PORT, for example 10.0.0.1:6379") from None
    except OSError as error:
        raise MachineError(
            f"there is no Ray cluster at {address} ({error.strerror or error}); start one with `ray start --head`, or "
            "correct --address"
        ) from None


def _require_local_cluster() -> None:
    from ray._private.services import canonicalize_bootstrap_address

    try:
        address = canonicalize_bootstrap_address("auto")
    except Exception:  # Ray raises several types
        address = None
    if not address:
        raise MachineError(
            "there is no Ray cluster on this machine; start one with `ray start --head`, or give --address HOST:PORT"
        )
    _require_listener(address)


def _silence() -> None:
    """Keep Ray from printing the logs of a node that died: the loss is reported by us, in one line.

    Ray has no setting for that (`log_to_driver` is about what actors print).
    """
    from ray._private import worker

    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *_, **__: None


def _words(error: Exception) -> str:
    """Return why an actor is gone, in one line."""
    text = str(error)
    for sign, words in (
        ("node died", "its node died"),
        ("node was terminated", "its node died"),
        ("node is dead", "its node died"),
        ("worker process has died", "its actor was killed"),
        ("unavailable", "its actor does not answer"),
        ("No module named", "its node has no Retrace of this version; install it there"),
    ):
        if sign in text:
            return words
    return f"{type(error).__name__}: {_first_line(error)}"


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]


def key_of(batch: Path) -> str:
    """Return the name of a batch's folder on nodes: another batch with the same name has another one."""
    import hashlib

    place = f"{socket.gethostname()}:{batch.resolve()}"
    return f"{batch.name[:40]}-{hashlib.sha256(place.encode()).hexdigest()[:12]}"
