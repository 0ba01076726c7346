"""`agent batch status`: how far a batch is, from its folder alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import JsonOption, RunsOption

if TYPE_CHECKING:
    from agent.batch.state.view import BatchState

_ALL_LINES = 1000


def status(
    batch: Annotated[str, typer.Argument(metavar="BATCH", help="Batch: its folder, or its name below --runs.")],
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Print how far a batch is: its units, pass rate, budget and pace.

    It reads the folder alone, while the batch runs and after it, and changes nothing.
    """
    from agent.batch.state.status import state_of_folder
    from agent.cli.output import emit_json, stdout
    from agent.cli.progress.batches.page import page
    from agent.config import runs_dir

    state = state_of_folder(folder_of(batch, runs_dir(runs)))
    if json:
        emit_json(state.json())
        return
    console = stdout()
    for line in page(state, console.width, _ALL_LINES):
        console.print(line, soft_wrap=True)
    console.print(coordinator_in_words(state), soft_wrap=True)


def folder_of(name: str, runs: Path) -> Path:
    """Return the folder of a batch by its path or its name.

    Raises: UserError if there is none, with what the folder is instead.
    """
    from agent.errors import UserError
    from trajectories.record.layout import BatchFolder, TrialFolder

    places = [Path(name), runs / name] if name else []
    for place in places:
        if BatchFolder(place).is_batch():
            return place
    there = next((place for place in places if place.is_dir()), None)
    if there is None:
        raise UserError(f"no batch {name!r}: neither a folder nor the name of one below {runs} (--runs)")
    if TrialFolder(there).is_trial():
        raise UserError(f"{there} is a trial, not a batch; agent show prints it")
    raise UserError(f"{there} is not a batch of agent batch: it has no batch.jsonl; agent trials lists its trials")


def coordinator_in_words(state: BatchState) -> str:
    """Return who owns the batch, or what became of its last coordinator."""
    holder = state.coordinator
    name = "nobody" if holder is None else f"process {holder.pid} on {holder.host}"
    match state.phase:
        case "running" | "stopping":
            return f"owned by {name}"
        case "lost":
            return f"owned by nobody: {name} died; the same agent batch command continues it"
        case "finished":
            return "owned by nobody: finished"
        case _:
            return f"owned by nobody: {name} has ended; the same agent batch command continues it"
