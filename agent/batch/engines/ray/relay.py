"""Looks after the workers on a cluster, in a thread of its own: starts them, takes what they send, and loses them.

A worker goes through these states: `examined` (its node answers questions), `starting`, `running`, and `adopted` (its
actor is gone, and another one on the same node ships what is left). A worker is lost for the coordinator when nothing
more can come from it. A worker that the coordinator kills is lost at once, and nothing from it is taken any more.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from pydantic import ValidationError

from agent.batch.code import mismatch
from agent.batch.engines.protocol import Joined, Lost, News, Told
from agent.batch.engines.ray.actor import NodeFacts, Parcel
from agent.batch.engines.ray.cluster import CallFailed, Cluster, Node, key_of
from agent.batch.engines.ray.intake import Intake, RefusedPiece
from agent.batch.engines.ray.pieces import Listing, Piece
from agent.batch.engines.ray.placing import Need, Place, place
from agent.batch.engines.ray.worker import Worker
from agent.batch.messages import FROM_WORKER, CallLeaves, FromWorker, Hello, MayLeave, UnitEnded
from agent.errors import MachineError
from trajectories.errors import TrialInUse
from trajectories.record.layout import BatchFolder

_RECEIVE_S = 2.0
_NODES_S = 2.0
"""Seconds between two looks at the nodes of the cluster."""
_LOOK_S = 0.1
_TRIES = 3
"""Number of workers of a node in a row that may end before they join."""
_REASON_CHARACTERS = 300


class Relay:
    """The workers of one batch."""

    def __init__(
        self,
        cluster: Cluster,
        batch: Path,
        need: Need,
        environments: Sequence[str],
        command: Sequence[str],
        wanted: int,
        per_process: int | None,
    ) -> None:
        self.news: SimpleQueue[News | MachineError] = SimpleQueue()
        self.intake = Intake(batch)
        self._cluster = cluster
        self._batch = BatchFolder(batch)
        self._key = key_of(batch)
        self._need = need
        self._environments = tuple(environments)
        self._command = tuple(command)
        self._wanted = wanted
        self._per_process = per_process
        self._workers: dict[str, Worker] = {}
        self._failures: dict[str, int] = {}
        """Workers in a row that ended before they joined, by node."""
        self._refused: dict[str, str] = {}
        """Reason for which a node gets no work, by node."""
        self._started = 0
        self._looked_s = -_NODES_S
        self._is_closing = False
        self._lock = threading.RLock()
        self._thread = threading.Thread(target=self._run, name="ray relay", daemon=True)
        self._is_over = threading.Event()

    def begin(self) -> None:
        """Start workers, and go on in a thread.

        Raises: MachineError if no node can hold a trial.
        """
        self._place(self._cluster.nodes())
        if not self._workers:
            raise MachineError(
                f"no node of the Ray cluster at {self._cluster.address} can hold a trial; start its nodes with more "
                "--num-cpus or --memory, or with --resources '{\"trial\": N}' for N trials"
            )
        self._thread.start()

    def worker(self, name: str) -> Worker | None:
        """Return a worker to which messages can be sent. Never waits for the thread, which may be writing files."""
        worker = self._workers.get(name)
        return worker if worker is not None and worker.state == "running" else None

    def workers(self) -> list[Worker]:
        """Return all workers that are not gone."""
        with self._lock:
            return list(self._workers.values())

    def take_unit(self, worker: Worker, unit: str, first_trial: str) -> bool:
        """Let a worker write the folders of a unit; return False if the worker is gone.

        Raises: TrialInUse.
        """
        with self._lock:
            if worker.state != "running":
                return False
            self.intake.own(worker.name, first_trial)
            worker.units[unit] = first_trial
        return True

    def kill(self, name: str) -> None:
        """End a worker at once, and take nothing more from it."""
        with self._lock:
            if (worker := self._workers.get(name)) is not None:
                self._end(worker)
                self._lose(worker, "killed by the coordinator")

    def close(self, until_s: float) -> None:
        """Wait until the workers have ended, kill those that have not at that time, and end the thread."""
        self._is_closing = True
        with self._lock:
            for worker in list(self._workers.values()):
                if worker.state in ("examined", "starting"):  # it has not been told to quit
                    self._end(worker)
                    self._lose(worker, "the batch is over")
        while self._thread.is_alive() and self._workers and time.monotonic() < until_s:
            time.sleep(0.05)
        self._is_over.set()
        if self._thread.ident is not None:
            self._thread.join()
        with self._lock:
            for worker in list(self._workers.values()):
                self._end(worker)
                self._lose(worker, "it did not end in time")

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                self._look()
        except MachineError as error:
            self.news.put(error)
        except Exception as error:  # a bug, which must end the batch and not only this thread
            self.news.put(MachineError(f"the relay to Ray failed: {type(error).__name__}: {error}"))
            raise

    def _look(self) -> None:
        """Take in what has come, and look at the nodes now and then."""
        with self._lock:
            waiting = {worker.reference: worker for worker in self._workers.values() if worker.reference is not None}
        ready = self._cluster.ready(list(waiting), _LOOK_S) if waiting else []
        if not waiting:
            self._is_over.wait(_LOOK_S)
        for reference in ready:
            worker = waiting[reference]
            with self._lock:
                if worker.state != "gone":
                    self._hear(worker, reference)
        with self._lock:
            self._check_sent()
        if time.monotonic() - self._looked_s >= _NODES_S and not self._is_closing:
            self._looked_s = time.monotonic()
            nodes = self._cluster.nodes()
            with self._lock:
                self._place(nodes)

    def _hear(self, worker: Worker, reference: Any) -> None:
        worker.reference = None
        try:
            result = self._cluster.result(reference)
        except CallFailed as failure:
            self._fail(worker, failure)
            return
        match worker.state:
            case "examined":
                self._start(worker, result)
            case "starting":
                worker.state = "running"
                self._receive(worker)
            case "adopted" if isinstance(result, bool):
                if result:
                    self._receive(worker)
                else:
                    self._lose(worker, worker.machine)
            case _:
                self._take(worker, result)

    def _start(self, worker: Worker, facts: NodeFacts) -> None:
        """Start the process of a worker on a node that answers."""
        hello = Hello(host=facts.host, pid=0, version=facts.version, digest=facts.digest)
        if reason := mismatch(hello) or "; ".join(facts.troubles):
            self._refuse(worker.node, reason)
            self._end(worker)
            self._lose(worker, reason)
            return
        worker.machine = f"{facts.host}/{facts.boot}"
        worker.state = "starting"
        worker.reference = worker.actor.send("start", self._key, worker.name, self._command)

    def _receive(self, worker: Worker) -> None:
        worker.reference = worker.actor.receive("receive", _RECEIVE_S)

    def _take(self, worker: Worker, parcel: Parcel) -> None:
        """Take in a parcel; ask for the next one first, so that the node is at work meanwhile."""
        if parcel.ended is None:
            self._receive(worker)
        try:
            for item in parcel.items:
                if isinstance(item, (Piece, Listing)):
                    self.intake.take(worker.name, item)
                else:
                    self._hear_line(worker, item)
                if worker.state == "gone":
                    return
        except (RefusedPiece, TrialInUse, ValidationError) as error:
            self._end(worker)
            self._lose(worker, str(error).splitlines()[0])
            return
        except OSError as error:
            raise MachineError(f"{error.filename or self._batch.path}: cannot be written ({error.strerror})") from None
        if parcel.ended is not None:
            self._keep_log(worker, parcel.ended)
            lines = parcel.ended.strip().splitlines()
            worker.actor.send("leave")
            self._lose(worker, f"its process ended{': ' + lines[-1] if lines else ''}")

    def _hear_line(self, worker: Worker, line: str) -> None:
        message: FromWorker = FROM_WORKER.validate_json(line)
        if isinstance(message, Hello):
            worker.has_joined = True
            self._failures.pop(worker.node.id, None)
            if reason := mismatch(message):
                self._refuse(worker.node, reason)
                self._end(worker)
                self._lose(worker, reason)
            else:
                self.news.put(Joined(worker.name, worker.slots, worker.machine))
            return
        if isinstance(message, CallLeaves):  # what came before it is written
            worker.sent.append(worker.actor.send("send", MayLeave(call=message.call).model_dump_json()))
            return
        if isinstance(message, UnitEnded) and (first_trial := worker.units.pop(message.unit, None)) is not None:
            self.intake.disown(worker.name, first_trial)
        self.news.put(Told(worker.name, message))

    def _fail(self, worker: Worker, failure: CallFailed) -> None:
        """Deal with a call that failed: adopt the process of an actor that is gone if its node still lives."""
        reason = str(failure)
        if failure.is_actor_lost and worker.state == "running" and worker.units:
            node = next((node for node in self._cluster.nodes() if node.id == worker.node.id), None)
            if node is not None:
                worker.actor = self._cluster.actor(node, {"num_cpus": 0})
                worker.state, worker.machine = "adopted", reason
                present = self.intake.sizes(worker.units)
                worker.reference = worker.actor.receive("adopt", self._key, worker.name, worker.units, present)
                return
        if worker.state == "adopted":
            is_node_alive = any(node.id == worker.node.id for node in self._cluster.nodes())
            reason = worker.machine if is_node_alive else "its node died"
        self._end(worker)
        self._lose(worker, reason)

    def _check_sent(self) -> None:
        """Lose workers to which something could not be sent, for example because the disk of their node is full."""
        for worker in list(self._workers.values()):
            if not worker.sent or worker.state != "running":
                continue
            for reference in self._cluster.ready(worker.sent, 0):
                worker.sent.remove(reference)
                try:
                    self._cluster.result(reference)
                except CallFailed as failure:
                    if not failure.is_actor_lost:  # otherwise the call that receives fails as well
                        self._fail(worker, failure)
                        break

    def _lose(self, worker: Worker, reason: str) -> None:
        """Take nothing more from a worker, and tell the coordinator."""
        if worker.state == "gone":
            return
        worker.state = "gone"
        self._workers.pop(worker.name, None)
        self.intake.disown(worker.name)
        if not worker.has_joined:
            self._failures[worker.node.id] = self._failures.get(worker.node.id, 0) + 1
            if self._failures[worker.node.id] >= _TRIES:
                self._refuse(worker.node, reason)
        self.news.put(Lost(worker.name, f"node {worker.node.host}: {reason}"[:_REASON_CHARACTERS]))
        self._end_without_nodes()

    def _end_without_nodes(self) -> None:
        """End the batch if every node of the cluster was refused."""
        if self._workers or self._is_closing or not self._refused:
            return
        if all(node.id in self._refused for node in self._cluster.nodes() if self._need.trials(node.resources)):
            reasons = "; ".join(sorted(set(self._refused.values())))
            self.news.put(MachineError(f"no node of the Ray cluster can be given work: {reasons}"))

    def _refuse(self, node: Node, reason: str) -> None:
        self._refused[node.id] = f"{node.host}: {reason}" if node.host not in reason else reason

    def _end(self, worker: Worker) -> None:
        """End the process of a worker and its actor, without waiting."""
        if worker.state in ("running", "starting", "adopted"):
            kill = worker.actor.overtake("kill")
            self._cluster.ready([kill], 1.0)
        self._cluster.end(worker.actor)

    def _place(self, nodes: Sequence[Node]) -> None:
        """Start workers on nodes with free places, as long as more trials at once are wanted."""
        taken: dict[str, int] = {}
        for worker in self._workers.values():
            taken[worker.node.id] = taken.get(worker.node.id, 0) + worker.slots
        by_id = {node.id: node for node in nodes if node.id not in self._refused}
        free = {id: max(0, self._need.trials(node.resources) - taken.get(id, 0)) for id, node in by_id.items()}
        cores = {id: int(node.resources.get("CPU", 1)) for id, node in by_id.items()}
        for new in place(self._wanted - sum(taken.values()), free, cores, self._per_process):
            self._add(by_id[new.node], new)

    def _add(self, node: Node, new: Place) -> None:
        self._started += 1
        name = f"{os.getpid()}.{self._started}"
        actor = self._cluster.actor(node, self._need.options(node.resources, new.slots))
        worker = Worker(name, node, new.slots, actor)
        worker.reference = actor.receive("examine", self._environments)
        self._workers[name] = worker

    def _keep_log(self, worker: Worker, words: str) -> None:
        """Keep what a worker printed on standard error with the batch."""
        if not words.strip():
            return
        log = self._batch.worker_log(worker.name)
        try:
            log.parent.mkdir(exist_ok=True)
            log.write_text(words)
        except OSError:
            pass
