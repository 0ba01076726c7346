"""Continues a trial in a new environment after its own ended for memory: from the last snapshot, once in a step.

The record then holds, after the action: `paused`, `env_started`, `resumed`. The rest is as in a resumed trial: commands
that finished after the last snapshot are run again, the time does not count, and the model is told.
"""

from __future__ import annotations

from agent.trial.limits import LimitCheck
from agent.trial.restoring.checkpoints import checkpoint_image
from agent.trial.restoring.feedback import put_feedback
from agent.trial.restoring.losses import lost_live_state
from agent.trial.restoring.restore import rerun, restore
from agent.trial.restoring.standing import standing_of
from agent.trial.snapshots import Snapshots
from agent.trial.workplace import Workplace, start_environment
from environments.protocol import EnvironmentLost, OutOfMemory
from trajectories.interrupts import interruptible
from trajectories.reading.reader import read_events
from trajectories.record.events import Paused, Resumed
from trajectories.workspace.states import state_at

EFFECTS = "all that was done by what took the whole memory: the container ended with it"
"""Line about what is lost besides; the model reads it."""


class Recovery:
    """Replaces the environment of one running trial."""

    def __init__(self, place: Workplace, limits: LimitCheck, snapshots: Snapshots) -> None:
        self._place = place
        self._limits = limits
        self._snapshots = snapshots
        self._step: int | None = None
        """Step in which the environment was replaced last."""

    def is_possible(self, loss: EnvironmentLost, step: int) -> bool:
        """Report if the trial can continue after this loss: it was for memory, and the first one in its step."""
        replaceable = self._place.lease.make_another is not None
        return isinstance(loss, OutOfMemory) and replaceable and step != self._step

    def recover(self, step: int) -> tuple[str, ...]:
        """Continue in a new environment, in the state of the last snapshot and of what finished after it.

        Returns one line for each thing that is lost.

        Raises: EnvironmentFault, TaskError, RecordError, RecordFull; KeyboardInterrupt if the user interrupts.
        """
        self._step = step
        order, recorder, lease = self._place.order, self._place.recorder, self._place.lease
        self._limits.feed(recorder.append(Paused(why="down")))
        recorder.sync()
        directory = recorder.directory
        with interruptible():
            standing = standing_of(read_events(directory))
            checkpoint = checkpoint_image(directory, standing, order.spec.kind)
            lease.replace(checkpoint.image)
            lease.prepared = checkpoint.has_set_up
            start_environment(order, recorder, lease)
            left_out = restore(lease.environment, state_at(directory, standing.snapshot))
            put_feedback(lease.environment, directory, standing.feedback)
            self._snapshots.continue_in(lease.environment)
            rerun(standing, self._place)
        lost = (EFFECTS, *lost_live_state(standing), *checkpoint.lost, *left_out)
        actions = tuple(started.action for started, _ in standing.rerun)
        resumed = recorder.append(Resumed(lost=lost, restored_step=standing.snapshot, rerun=actions))
        self._limits.feed(resumed)
        return lost
