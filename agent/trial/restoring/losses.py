"""Live state that a copy of the workspace does not bring back. The model reads these lines."""

from __future__ import annotations

from pathlib import Path

from agent.trial.restoring.standing import Standing, standing_of
from environments.protocol import Started
from trajectories.errors import RecordError
from trajectories.reading.reader import read_events
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
    for service in standing.start.environment_spec.get("services") or ():
        lost.append(f"what the service {service['name']} held: it was started anew")
    for directory in standing.start.environment_spec.get("volumes") or ():
        lost.append(f"the files in {directory}: it is a volume, which no commit holds")
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


def losses_of_earlier_turns(directory: Path, standing: Standing) -> tuple[str, ...]:
    """List the processes of earlier turns that are gone with the environment that a turn was given, one line each."""
    lost: list[str] = []
    while standing.continues is not None:
        directory = directory.parent / standing.continues
        try:
            standing = standing_of(read_events(directory))
        except RecordError:
            return (*lost, "processes of earlier turns")
        chain = standing.start.chain
        of_turn = f"of {'turn' if chain is None else chain.unit} {standing.start.turn}"
        lost += [f"background processes {of_turn}: {n} of {action}" for action, n in standing.left_running.items()]
    return tuple(lost)
