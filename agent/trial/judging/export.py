"""Exports the workspace of a trial that has ended, before its environment is released."""

from __future__ import annotations

from agent.trial.outcome import INTERRUPTED, Outcome
from environments.protocol import Environment, EnvironmentFault
from trajectories.interrupts import interruptible
from trajectories.record.events import Warned, WorkspaceExported
from trajectories.record.layout import WORKSPACE, TrialFolder
from trajectories.writing.recorder import Recorder


def export(recorder: Recorder, environment: Environment, outcome: Outcome) -> WorkspaceExported | None:
    """Export the workspace and record that; return None, after a warning, if it cannot be had."""
    path = TrialFolder(recorder.directory).workspace
    try:
        with interruptible():
            archive = environment.export(path)
    except KeyboardInterrupt:
        outcome.interrupted = True
        reason = INTERRUPTED
    except (EnvironmentFault, OSError) as error:
        reason = str(error)
    else:
        return recorder.append(
            WorkspaceExported(
                path=WORKSPACE,
                bytes=archive.bytes,
                sha256=archive.sha256,
                entries=archive.entries,
                skipped=archive.skipped,
            )
        )
    path.unlink(missing_ok=True)
    if outcome.exit.cause not in ("environment_lost", "image_unusable"):  # the exit says why
        recorder.append(Warned(kind="no_workspace", text=f"the workspace was not exported: {reason}"))
    return None
