"""The environment and the workspace that a replay begins with: those of the record, or others that the user names."""

from __future__ import annotations

import tarfile
import tempfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

from agent.continuation.recorded_order import order_of
from agent.errors import UserError
from agent.replay.place import directory_for, notes_on_place, recorded_shell, streams_apart
from agent.trial.options import OptionChanges, Options
from agent.trial.order import Order
from agent.trial.resolve import resolve
from agent.trial.restoring.feedback import put_feedback
from agent.trial.restoring.restore import restore
from environments.archives.open import open_archive
from environments.leftovers.owner import this_process
from environments.protocol import Environment, Kind, Started
from trajectories.reading.lines import complete_lines, kind_of
from trajectories.reading.reader import events_file, read_events
from trajectories.record.events import CallFinished, Feedback, TrialStarted
from trajectories.workspace.states import NoSnapshots, state_at


@dataclass(frozen=True)
class ReplayStart:
    """The beginning of a replay, resolved and checked; nothing is started yet."""

    order: Order
    trial: Path
    archive: Path | None = None
    """Archive to unpack into the workspace."""
    scratch: Path | None = None
    """Empty directory that was made for the replay, and is removed with it."""
    notes: tuple[str, ...] = ()
    """Remarks for readers of the report."""
    shell: tuple[str, ...] | None = None
    """Shell that gets each command as its argument, as in the record of an import."""
    separate: bool = False
    """True if the recorder had both streams apart, whatever order its file has them in."""
    own_state: bool = False
    """True if the user named the initial state, so that the record's is not restored."""
    feedback: tuple[Feedback, ...] = ()
    """Feedback of earlier turns that the environment began with."""

    def environment(self) -> Environment:
        """Return the environment, not yet started."""
        return self.order.make_environment(f"replay-{self.trial.name}")

    def start(self, environment: Environment) -> tuple[Started, list[str]]:
        """Start the environment and restore the initial workspace; return also one line for each path that is lost.

        Raises: EnvironmentFault, TaskError, RecordError.
        """
        started = environment.start()
        skipped = self.order.benchmark.prepare(self.order.task, environment)
        lost = [f"{path.path}: {path.why}" for path in skipped]
        if self.archive is not None:
            with open_archive(self.archive) as file:
                environment.put(file, ".")
        if not self.own_state:
            try:
                lost += restore(environment, state_at(self.trial, 0))
            except NoSnapshots:
                pass
        lost += put_feedback(environment, self.trial, self.feedback)
        return started, lost

    def release(self, environment: Environment) -> None:
        """Stop the environment and remove what was made for it."""
        environment.stop()
        if self.scratch is not None:
            self.scratch.rmdir()


def replay_start(
    trial: Path,
    first: TrialStarted,
    *,
    env: Kind | None = None,
    image: str | None = None,
    workspace: Path | None = None,
) -> ReplayStart:
    """Resolve the beginning of a replay: the record's, or an image or a workspace that the user names.

    Raises: UserError.
    """
    replies, feedback = 0, []
    for event in read_events(trial):  # this reads all of it, once
        replies += isinstance(event, CallFinished)
        feedback += [event] if isinstance(event, Feedback) else []
    if not replies:
        raise UserError(f"{trial.name}: there is nothing to replay, because its model never answered")
    changes: OptionChanges = {
        "model": f"replay:{trial.resolve()}",
        "model_settings": {},
        "api_base": None,
        "prices": None,  # a replay costs nothing
        "guidance": None,  # and nobody is asked
        "max_interventions": None,
        "guidance_rule": None,
        "guidance_settings": {},
        "guidance_api_base": None,
    }
    if env is not None:
        changes["env"] = env
    if image is None and workspace is None:
        return replace(_as_recorded(trial, first, changes), feedback=tuple(feedback))
    if image is not None and env in ("local", "sandbox"):
        raise UserError(f"--image does not apply to {env}; leave it out, or choose --env docker")
    archive = scratch = None
    if workspace is not None and not workspace.is_dir():
        if not workspace.is_file():
            raise UserError(f"--workspace {workspace}: no such directory or archive")
        _check_archive(workspace)
        archive, workspace = workspace, None
    if image is None and workspace is None:
        workspace = scratch = Path(tempfile.mkdtemp(prefix=this_process().prefix))
    place: OptionChanges = {"instruction": "replay", "image": image, "workspace": workspace, "evaluate": False}
    try:
        order = resolve(Options.of({}, **(changes | place)))
    except BaseException:
        if scratch is not None:
            scratch.rmdir()
        raise
    recorded = first.environment_spec
    spec = replace(
        order.spec,
        user=recorded.get("user"),
        env=recorded.get("env") or {},
        env_defaults=recorded.get("env_defaults") or {},
        shell="persistent" if recorded.get("shell") == "persistent" else "fresh",
        output_bytes=first.limits.output_bytes,
        workdir=directory_for(recorded.get("workdir"), order.spec.kind, order.spec.workdir),
    )
    return ReplayStart(
        replace(order, spec=spec),
        trial,
        archive,
        scratch,
        notes=tuple(notes_on_place(first)),
        shell=recorded_shell(first),
        separate=streams_apart(first),
        own_state=True,
        feedback=tuple(feedback),
    )


def _as_recorded(trial: Path, first: TrialStarted, changes: OptionChanges) -> ReplayStart:
    if first.imported is not None:
        raise UserError(f"{trial.name} was imported: name the place for its commands with --image or --workspace")
    order = order_of(trial, first, kept=_has_snapshots(trial), same_task=False, **changes)
    changed = order.task.digest != first.task.digest
    return ReplayStart(order, trial, notes=(f"the task {first.task.id} has changed since",) if changed else ())


def _has_snapshots(trial: Path) -> bool:
    return any(kind_of(line) == "snapshot" for _, line in complete_lines(events_file(trial)))


def _check_archive(path: Path) -> None:
    """Read an archive to its end before anything is started.

    Raises: UserError if it cannot be read, or a path in it escapes the workspace.
    """
    import zstandard

    try:
        with open_archive(path) as file, tarfile.open(fileobj=file, mode="r|") as archive:
            for member in archive:
                if member.name.startswith("/") or ".." in member.name.split("/"):
                    raise UserError(f"--workspace {path}: {member.name[:200]!r} in it escapes the workspace")
    except (tarfile.TarError, zstandard.ZstdError, EOFError, zlib.error, OSError, ValueError) as error:
        raise UserError(
            f"--workspace {path}: neither a directory nor a whole tar, tar.gz or tar.zst ({error})"
        ) from None
