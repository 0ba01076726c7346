"""Implements `Engine` on a Ray cluster."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from queue import Empty

from agent.batch.engines.protocol import News, Told
from agent.batch.engines.ray.cluster import Cluster
from agent.batch.engines.ray.placing import Need
from agent.batch.engines.ray.process import worker_command
from agent.batch.engines.ray.recovery import needs_recovery, recover
from agent.batch.engines.ray.relay import Relay
from agent.batch.engines.ray.sending import Sending, parcels
from agent.batch.engines.ray.worker import Worker
from agent.batch.messages import Quit, ToWorker, UnitEnded, Work
from agent.errors import MachineError
from trajectories.batches.grid import read_grid
from trajectories.errors import TrialInUse
from trajectories.interrupts import interruptible
from trajectories.record.layout import BatchFolder


class RayEngine:
    """Workers on the nodes of a Ray cluster."""

    name = "ray"

    def __init__(self, address: str | None = None, command: Sequence[str] | None = None) -> None:
        """`command` starts another worker than the ordinary one; `{batch}` in it is the folder on the node."""
        self._address = address
        self._command = command
        self._batch = BatchFolder(Path())
        self._cluster: Cluster | None = None
        self._relay: Relay | None = None

    def recover(self, batch: Path) -> None:
        """See `Engine`."""
        if needs_recovery(batch):
            self._cluster = self._cluster or Cluster(self._address)
            recover(self._cluster, batch)

    def start(self, batch: Path, workers: int, per_process: int | None) -> None:
        """See `Engine`."""
        self._batch = BatchFolder(batch)
        grid = read_grid(batch)
        command = self._command or worker_command(Path("{batch}"))
        environments = sorted({configuration.first.environment for configuration in grid})
        self._cluster = self._cluster or Cluster(self._address)
        self._relay = Relay(self._cluster, batch, Need.of(grid), environments, command, workers, per_process)
        self._relay.begin()

    def news(self, timeout_s: float) -> list[News]:
        """See `Engine`."""
        assert self._relay is not None
        news: list[News] = []
        try:
            with interruptible():
                first = self._relay.news.get(timeout=max(0.001, timeout_s))
        except Empty:
            return news
        while True:
            if isinstance(first, MachineError):
                raise first
            news.append(first)
            try:
                first = self._relay.news.get_nowait()
            except Empty:
                return news

    def send(self, worker: str, message: ToWorker) -> None:
        """See `Engine`."""
        assert self._relay is not None
        known = self._relay.worker(worker)
        if known is None:
            return
        if isinstance(message, Work):
            self._hand_over(known, message)
        else:
            known.sent.append(known.actor.send("send", message.model_dump_json()))

    def kill(self, worker: str) -> None:
        """See `Engine`."""
        assert self._relay is not None
        self._relay.kill(worker)

    def close(self, grace_s: float) -> None:
        """See `Engine`."""
        until_s = time.monotonic() + grace_s
        if self._relay is not None:
            for worker in self._relay.workers():
                if worker.state == "running":
                    worker.actor.send("send", Quit().model_dump_json())
                    worker.actor.send("hang_up")
            self._relay.close(until_s)
        if self._cluster is not None:
            self._cluster.close()

    def _hand_over(self, worker: Worker, work: Work) -> None:
        """Send a unit with everything that its node needs for it."""
        assert self._relay is not None
        first_trial = work.configuration.trial(work.attempt)
        try:
            if not self._relay.take_unit(worker, work.unit, first_trial):
                return
        except TrialInUse as error:
            ended = UnitEnded(unit=work.unit, trial=work.trial, problem=str(error), problem_kind="busy")
            self._relay.news.put(Told(worker.name, ended))
            return
        sending = Sending(self._batch, worker.present)
        configuration = sending.for_node(work.configuration)
        try:
            for parcel in parcels(sending.pieces(work.configuration, first_trial)):
                worker.sent.append(worker.actor.send("put", parcel))
        except OSError as error:
            raise MachineError(f"{error.filename}: cannot be read ({error.strerror})") from None
        if configuration.id not in worker.present:
            worker.present.add(configuration.id)
            worker.sent.append(worker.actor.send("add_to_grid", configuration.model_dump_json()))
        line = work.model_copy(update={"configuration": configuration}).model_dump_json()
        worker.sent.append(worker.actor.send("begin", work.unit, first_trial, line))
