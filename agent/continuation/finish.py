"""Finishes a trial whose loop had ended: the export and the evaluation that it lacks."""

from __future__ import annotations

from agent.trial.judging.submitting import submitted_archive
from agent.trial.judging.verdict import evaluate
from agent.trial.order import Order
from agent.trial.outcome import Outcome
from agent.trial.restoring.checkpoints import committed_system
from agent.trial.restoring.final_workspace import exported_again, require_export
from agent.trial.restoring.standing import Standing
from trajectories.interrupts import interruptible
from trajectories.writing.recorder import Recorder


def finish(order: Order, recorder: Recorder, standing: Standing) -> Outcome:
    """Export the workspace of the last snapshot, if no export is there, and evaluate it, as `agent evaluate` does.

    Of a system the commit is evaluated.

    Raises: UserError, RecordError if there is no final workspace or system: another one is not the agent's work.
    """
    assert standing.exit is not None
    outcome = Outcome(recorder.directory, standing.exit.exit)
    try:
        with interruptible():
            if order.task.result == "system":
                submitted = committed_system(recorder.directory.name, standing)
            else:
                exported = require_export(recorder.directory, standing)
                submitted = submitted_archive(
                    recorder.directory, exported or exported_again(recorder.directory, recorder)
                )
    except KeyboardInterrupt:
        outcome.interrupted = True
        return outcome
    if order.evaluate:
        begun = standing.evaluations
        evaluate(order.benchmark, order.task, order.spec.kind, recorder, submitted, outcome, begun, order.gate)
    return outcome
