"""Implements `Engine` on a Ray cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import Empty

from agent.batch.engines.protocol import News, Told
from agent.batch.engines.ray.cluster import Cluster
from agent.batch.engines.ray.pieces import PIECE_BYTES, Piece, folders_of, is_record, pieces_of, plain_files
from agent.batch.engines.ray.placing import Need
from agent.batch.engines.ray.process import worker_command
from agent.batch.engines.ray.recovery import needs_recovery, recover
from agent.batch.engines.ray.relay import Relay, Worker
from agent.batch.messages import Quit, ToWorker, UnitEnded, Work
from agent.errors import MachineError
from trajectories.batches.configuration import Configuration
from trajectories.batches.grid import read_grid
from trajectories.blobs.store import BlobStore
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
            self._relay.take_unit(worker, work.unit, first_trial)
        except TrialInUse as error:
            ended = UnitEnded(unit=work.unit, trial=work.trial, problem=str(error), problem_kind="busy")
            self._relay.news.put(Told(worker.name, ended))
            return
        if work.configuration.id not in worker.inputs:
            worker.inputs.add(work.configuration.id)
            worker.sent.append(worker.actor.send("add_to_grid", work.configuration.model_dump_json()))
        for parcel in _parcels(self._pieces(worker, work.configuration, first_trial)):
            worker.sent.append(worker.actor.send("put", parcel))
        worker.sent.append(worker.actor.send("begin", work.unit, first_trial, work.model_dump_json()))

    def _pieces(self, worker: Worker, configuration: Configuration, first_trial: str) -> Iterator[Piece]:
        """Yield the contents that a configuration needs, and what earlier work on the unit left behind."""
        inputs = BlobStore(self._batch.inputs)
        for ref in configuration.inputs:
            if ref.sha256 not in worker.inputs:
                worker.inputs.add(ref.sha256)
                path = inputs.path(ref.sha256)
                yield from pieces_of(path, path.relative_to(self._batch.path).as_posix())
        for folder in folders_of(self._batch.path, first_trial):
            for path in plain_files(folder):
                name = path.relative_to(self._batch.path).as_posix()
                yield from pieces_of(path, name, whole_lines=is_record(name))


def _parcels(pieces: Iterator[Piece]) -> Iterator[list[Piece]]:
    """Yield pieces in lists of about the size of one piece."""
    parcel: list[Piece] = []
    size = 0
    for piece in pieces:
        parcel.append(piece)
        size += len(piece.data)
        if size >= PIECE_BYTES:
            yield parcel
            parcel, size = [], 0
    if parcel:
        yield parcel
