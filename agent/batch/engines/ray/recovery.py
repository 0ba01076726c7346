"""Brings home what the workers of an earlier coordinator left on the nodes.

A coordinator that was killed leaves workers that finish their calls in flight, close their records and end. The last
lines of these records are on the nodes only. They are taken before the batch is read, so that no finished call is paid
for again. A unit that was continued elsewhere since then is left alone.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from agent.batch.engines.ray.actor import Parcel
from agent.batch.engines.ray.cluster import Actor, CallFailed, Cluster, key_of
from agent.batch.engines.ray.intake import Intake, RefusedPiece
from agent.batch.engines.ray.pieces import Listing, Piece, first_trial_of, is_record
from agent.batch.engines.ray.shipping import beginning_digest
from agent.errors import MachineError
from trajectories.batches.events import BatchClosed, BatchOpened
from trajectories.batches.grid import read_grid
from trajectories.batches.journal import read_batch_events
from trajectories.errors import TrialInUse
from trajectories.interrupts import interruptible
from trajectories.record.layout import BatchFolder

_RECEIVE_S = 1.0
_LOOK_S = 0.05


def needs_recovery(batch: Path) -> bool:
    """Return True if the last coordinator of the batch ran it on a cluster, and did not end in order."""
    if not BatchFolder(batch).is_batch():
        return False
    last = [event for event in read_batch_events(batch) if isinstance(event, BatchOpened | BatchClosed)][-1:]
    return any(isinstance(event, BatchOpened) and event.engine == "ray" for event in last)


def recover(cluster: Cluster, batch: Path) -> None:
    """Take what is left on the live nodes, waiting for the end of the workers there.

    Raises: KeyboardInterrupt; MachineError if the batch folder cannot be written.
    """
    stems = tuple(f"{configuration.stem}." for configuration in read_grid(batch))
    asked = []
    for node in cluster.nodes():
        actor = cluster.actor(node, {"num_cpus": 0})
        asked.append((actor, actor.receive("leftovers", key_of(batch))))
    for actor, reference in asked:
        leftovers: dict[str, list[str]] = _wait(cluster, reference) or {}
        for name, trials in leftovers.items():  # one after the other: two may have worked on one unit
            first_trials = sorted({first_trial_of(trial) for trial in trials if trial.startswith(stems)})
            _take(cluster, actor, batch, name, first_trials)
        cluster.end(actor)


def _take(cluster: Cluster, actor: Actor, batch: Path, name: str, first_trials: list[str]) -> None:
    """Take what one worker left, and remove its folder, unless another process works on one of its trials here."""
    intake = Intake(batch)
    try:
        for first_trial in first_trials:
            intake.own(name, first_trial)
        present = intake.sizes({first_trial: first_trial for first_trial in first_trials})
        digests = {path: beginning_digest(batch / path, size) for path, size in present.items() if is_record(path)}
        units = {first_trial: first_trial for first_trial in first_trials}
        if _wait(cluster, actor.receive("adopt", key_of(batch), name, units, present, digests)):
            while (parcel := _wait(cluster, actor.receive("receive", _RECEIVE_S))) is not None:
                _write(intake, name, parcel)
                if parcel.ended is not None:
                    break
            else:
                return
        _wait(cluster, actor.receive("leave"))
    except (RefusedPiece, TrialInUse):
        return
    except OSError as error:
        raise MachineError(f"{error.filename}: cannot be written ({error.strerror})") from None
    finally:
        intake.disown(name)


def _write(intake: Intake, name: str, parcel: Parcel) -> None:
    for item in parcel.items:
        if isinstance(item, Piece | Listing):
            intake.take(name, item)


def _wait(cluster: Cluster, reference: Any) -> Any:
    """Return what a call returns; None if its node is gone.

    Raises: KeyboardInterrupt.
    """
    while not cluster.ready([reference], 0):
        with interruptible():
            time.sleep(_LOOK_S)
    try:
        return cluster.result(reference)
    except CallFailed:
        return None
