"""Hands over what a trial leaves for its evaluation: the exported workspace, or the whole system.

A system is held while its workspace is exported and its container committed, so both have the same state, and neither
ends a process. The tests come only after that: the commit holds none of them. Then its processes go on, and the
container itself is judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agent.trial.judging.export import export
from agent.trial.order import Order
from agent.trial.outcome import Outcome
from agent.trial.snapshots import commit
from agent.trial.turns.keeping import Keeping
from agent.trial.workplace import Lease
from benchmarks.task.submission import Archive, Image, Live, Submission as Left
from environments.protocol import EnvironmentFault, EnvironmentUnavailable, Pausable
from trajectories.errors import RecordFull
from trajectories.record.events import Submission, Warned, WorkspaceExported
from trajectories.writing.recorder import Recorder

LOW_DISK_BYTES = 10 << 30
"""Space at the daemon below which a record warns."""
NO_WORKSPACE = "there is no workspace to evaluate"
NO_SYSTEM = "there is no system to evaluate"
_NOTHING_LEFT = ("environment_lost", "image_unusable", "disk_full")
"""Causes of an exit after which a container cannot be committed."""


@dataclass(frozen=True)
class Submitted:
    """A submission of a trial, and its form in the record."""

    left: Left | None = None
    """None if there is nothing to evaluate."""
    recorded: Submission | None = None
    reason: str = NO_WORKSPACE
    """Reason if there is nothing to evaluate."""
    processes_ended: bool = False
    """True if processes that the agent left running have ended, and are not judged."""


def submitted_archive(directory: Path, exported: WorkspaceExported | None) -> Submitted:
    """Return the exported workspace of a trial."""
    if exported is None:
        return Submitted()
    return Submitted(Archive(directory / exported.path), Submission(kind="archive", sha256=exported.sha256))


def submitted_image(image: str, *, processes_ended: bool) -> Submitted:
    """Return the image that a trial's container was committed as."""
    return Submitted(Image(image), Submission(kind="image", image=image), processes_ended=processes_ended)


def submit(order: Order, recorder: Recorder, lease: Lease, outcome: Outcome, keeping: Keeping | None) -> Submitted:
    """Return what a trial leaves that has ended; its environment still exists. Never raises.

    The environment of a workspace's task stays paused if it is kept for the next turn. A system runs again only if it
    is judged as it is: the next turn begins in the commit.
    """
    if order.task.result == "system":
        return _system(order, recorder, lease, outcome)
    if keeping is not None and outcome.came_to_its_end:
        keeping.keep(lease, recorder)
    return submitted_archive(recorder.directory, export(recorder, lease.environment, outcome))


def _system(order: Order, recorder: Recorder, lease: Lease, outcome: Outcome) -> Submitted:
    """Hold the system, export its workspace, commit it, and let it go on if it is judged live.

    The system is compared with its image meanwhile.
    """
    from benchmarks.judging.system.exposure import changed_system  # only such tasks need it

    environment, started = lease.environment, lease.started
    trouble = _hold(lease)
    live = order.task.submissions[0] == "live" and order.evaluate and outcome.came_to_its_end
    changed = changed_system(started) if live and started is not None and trouble is None else None
    export(recorder, environment, outcome)
    if started is None or outcome.exit.cause in _NOTHING_LEFT:
        return Submitted(reason=NO_SYSTEM)
    try:
        if trouble is not None:
            raise trouble
        recorder.note("committing the container")
        image = commit(environment, recorder, outcome.steps, at_end=True)
        _warn_of_disk(recorder)
    except (EnvironmentFault, RecordFull) as error:
        return _not_committed(recorder, str(error))
    if not live or not outcome.came_to_its_end:
        return submitted_image(image, processes_ended=False)
    assert isinstance(environment, Pausable)
    try:
        environment.unpause()
    except EnvironmentFault as error:
        text = f"the container ended while it was held, so its commit is judged, without any process: {error}"
        recorder.append(Warned(kind="environment_lost", text=text))
        return submitted_image(image, processes_ended=True)
    return Submitted(Live(environment, started, image, changed), Submission(kind="live", image=image))


def _warn_of_disk(recorder: Recorder) -> None:
    """Warn if the commits of further trials may fill the daemon's disk: without a commit there is no verdict."""
    free = _space_for_images()
    if free is not None and free < LOW_DISK_BYTES:
        text = (
            f"the Docker daemon's disk has {free / 2**30:.1f} GiB left, and each trial of this kind leaves a commit "
            "there: agent clean --images --dry-run lists old ones with their sizes"
        )
        recorder.append(Warned(kind="low_disk", text=text))


def _space_for_images() -> int | None:
    """Return the bytes that are left at the daemon; None if that cannot be seen."""
    from environments.docker import daemon

    try:
        api = daemon.connect()
    except EnvironmentUnavailable:
        return None
    try:
        return daemon.free_bytes(api)
    except EnvironmentFault:
        return None
    finally:
        api.close()


def _hold(lease: Lease) -> EnvironmentFault | None:
    """Pause the environment; return the fault if that is not possible."""
    if lease.started is None:
        return None
    if not isinstance(lease.environment, Pausable):
        return EnvironmentUnavailable(f"{lease.environment.spec.kind} environments cannot be paused")
    try:
        lease.environment.pause()
    except EnvironmentFault as error:
        return error
    return None


def _not_committed(recorder: Recorder, reason: str) -> Submitted:
    text = f"the container was not committed: {reason}"
    recorder.append(Warned(kind="not_committed", text=text))
    return Submitted(reason=text)
