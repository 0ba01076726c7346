"""Live state that a copy of the workspace does not bring back. The model reads these lines."""

from __future__ import annotations

from agent.trial.restoring.standing import Standing
from environments.protocol import Started
from trajectories.record.events import CallFinished
from trajectories.writing.masking import MASK


def lost_live_state(standing: Standing) -> list[str]:
    """List the processes, the shell's state and the secrets that are gone."""
    lost = [
        f"background processes of {action}: {count}"
        for action, count in standing.left_running.items()
        if standing.steps
    ]
    if standing.steps and standing.start.environment_spec.get("shell") == "persistent":
        lost.append("the shell's directory, variables and functions")
    reply = next((event for event in reversed(standing.taken_in) if isinstance(event, CallFinished)), None)
    if reply is not None and reply.step != standing.snapshot and MASK in reply.reply.model_dump_json():
        lost.append(f"the secrets in the commands of step {reply.step} (the record holds them masked)")
    return lost


def moved(standing: Standing, started: Started) -> list[str]:
    """Return a line if the workspace is at another path than the one that the model was given."""
    announced = standing.announced_workdir
    if announced is None or announced == started.workdir:
        return []
    return [f"the path {announced or 'of the workspace'} (the workspace is {started.workdir} now)"]
