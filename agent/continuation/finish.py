"""Finishes a trial whose loop had ended: the export and the evaluation that it lacks."""

from __future__ import annotations

from agent.trial.export import export
from agent.trial.order import Order
from agent.trial.outcome import Outcome
from agent.trial.restoring.restore import restore
from agent.trial.restoring.standing import Standing
from agent.trial.verdict import evaluate
from agent.trial.workplace import lease_for, start_environment
from environments.protocol import EnvironmentFault
from trajectories.interrupts import interruptible
from trajectories.record.events import Warned, WorkspaceExported
from trajectories.workspace.states import state_at
from trajectories.writing.recorder import Recorder


def finish(order: Order, recorder: Recorder, standing: Standing) -> Outcome:
    """Export the workspace of the last snapshot, if no export is there, and evaluate it."""
    assert standing.exit is not None
    outcome = Outcome(recorder.directory, standing.exit.exit)
    exported = standing.exported
    if exported is None or not (recorder.directory / exported.path).is_file():
        exported = _export_again(order, recorder, standing, outcome)
    if order.evaluate and not outcome.interrupted:
        evaluate(order.benchmark, order.task, order.spec.kind, recorder, exported, outcome)
    return outcome


def _export_again(order: Order, recorder: Recorder, standing: Standing, outcome: Outcome) -> WorkspaceExported | None:
    lease = lease_for(order, recorder.directory.name, recorder)
    try:
        with interruptible():
            place = start_environment(order, recorder, lease)
            if standing.snapshot is not None:
                restore(place.environment, state_at(recorder.directory, standing.snapshot))
        return export(recorder, place.environment, outcome)
    except KeyboardInterrupt:
        outcome.interrupted = True
    except EnvironmentFault as error:
        recorder.append(Warned(kind="no_workspace", text=f"the workspace was not exported: {error}"))
    finally:
        lease.release()
    return None
