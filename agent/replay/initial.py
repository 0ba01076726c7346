"""What a replay begins with: the environment and the workspace of the record, or others that the user names."""

from __future__ import annotations

import tarfile
import tempfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from agent.continuation.recorded_order import order_of
from agent.continuation.restore import restore
from agent.errors import UserError
from agent.trial.options import Options
from agent.trial.order import Order, resolve
from environments.archives.open import open_archive
from environments.leftovers.owner import this_process
from environments.protocol import Environment, Kind
from trajectories.reading.lines import complete_lines, kind_of
from trajectories.reading.reader import events_file, read_events
from trajectories.record.events import CallFinished, TrialStarted
from trajectories.workspace.states import NoSnapshots, state_at


@dataclass(frozen=True)
class Initial:
    """Resolved and checked; nothing is started yet."""

    order: Order
    trial: Path
    archive: Path | None = None
    scratch: Path | None = None
    """An empty directory that was made for it, to be removed."""
    note: str = ""
    """What a reader of the report should know."""
    own_state: bool = False
    """Whether the user named the initial state, so that the record's is not brought back."""

    def environment(self) -> Environment:
        """The environment, not yet started."""
        return self.order.make_environment(f"replay-{self.trial.name}")

    def start(self, environment: Environment) -> list[str]:
        """Start it and put the initial workspace into it; one line for each path that cannot be had.

        Raises: EnvironmentFault, TaskError, RecordError.
        """
        environment.start()
        skipped = self.order.benchmark.prepare(self.order.task, environment)
        lost = [f"{one.path}: {one.why}" for one in skipped]
        if self.archive is not None:
            with open_archive(self.archive) as file:
                environment.put(file, ".")
        if not self.own_state:
            try:
                lost += restore(environment, state_at(self.trial, 0))
            except NoSnapshots:
                pass
        return lost


def initial(
    trial: Path,
    first: TrialStarted,
    *,
    env: Kind | None = None,
    image: str | None = None,
    workspace: Path | None = None,
) -> Initial:
    """What to begin with. Without `image` and `workspace` it is what the record says.

    Raises: UserError.
    """
    if not sum(isinstance(event, CallFinished) for event in read_events(trial)):  # all of it is read, once
        raise UserError(f"{trial.name}: there is nothing to replay: its model never answered")
    changes: dict[str, object] = {"model": f"replay:{trial.resolve()}", "model_settings": {}, "api_base": None}
    changes["prices"] = None  # a replay costs nothing
    if env is not None:
        changes["env"] = env
    if image is None and workspace is None:
        if first.imported is not None:
            raise UserError(f"{trial.name} was imported: say in what its commands are to run: --image or --workspace")
        order = order_of(trial, first, kept=_kept(trial), same_task=False, **changes)
        changed = order.task.digest != first.task.digest
        return Initial(order, trial, note=f"the task {first.task.id} has changed since" if changed else "")
    if image is not None and env in ("local", "sandbox"):
        raise UserError(f"--image means nothing in {env}: leave it out, or choose --env docker")
    archive = scratch = None
    if workspace is not None and not workspace.is_dir():
        if not workspace.is_file():
            raise UserError(f"--workspace {workspace}: no such directory or archive")
        _check_archive(workspace)
        archive, workspace = workspace, None
    if image is None and workspace is None:
        workspace = scratch = Path(tempfile.mkdtemp(prefix=this_process().prefix))
    options = Options.of(changes, instruction="replay", image=image, workspace=workspace, evaluate=False)
    try:
        order = resolve(options)
    except BaseException:
        if scratch is not None:
            scratch.rmdir()
        raise
    recorded = first.environment_spec
    spec = replace(
        order.spec,
        user=recorded.get("user"),
        env=recorded.get("env") or {},
        shell="persistent" if recorded.get("shell") == "persistent" else "fresh",
        output_bytes=first.limits.output_bytes,
        workdir=_workdir(recorded.get("workdir"), order) if image is not None else order.spec.workdir,
    )
    return Initial(replace(order, spec=spec), trial, archive, scratch, own_state=True)


def _workdir(recorded: object, order: Order) -> PurePosixPath:
    """Where the commands ran, if the record says it."""
    told = isinstance(recorded, str) and recorded.startswith("/")
    return PurePosixPath(str(recorded)) if told else order.spec.workdir


def _kept(trial: Path) -> bool:
    """Whether the record holds the workspace that it began with."""
    return any(kind_of(line) == "snapshot" for _, line in complete_lines(events_file(trial)))


def _check_archive(path: Path) -> None:
    """Read an archive to its end before anything is started.

    Raises: UserError if it is none, or leads out of the workspace.
    """
    import zstandard

    try:
        with open_archive(path) as file, tarfile.open(fileobj=file, mode="r|") as archive:
            for member in archive:
                if member.name.startswith("/") or ".." in member.name.split("/"):
                    raise UserError(f"--workspace {path}: {member.name[:200]!r} in it leads out of the workspace")
    except (tarfile.TarError, zstandard.ZstdError, EOFError, zlib.error, OSError, ValueError) as error:
        raise UserError(
            f"--workspace {path}: neither a directory nor a whole tar, tar.gz or tar.zst ({error})"
        ) from None
