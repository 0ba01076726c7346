"""Runs the grid of a spec, shows it while it runs, and prints its end."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from agent.batch.engines.protocol import Engine
from agent.batch.run import run_grid
from agent.batch.settings import Settings
from agent.batch.spec.spec import Spec
from agent.batch.state.view import BatchState


def run_spec(
    spec: Path,
    runs: Path,
    *,
    engine: str,
    address: str | None,
    workers: int | None,
    per_process: int | None,
    evaluate: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run a batch, and exit with its status: 0 if every unit is finished, 1 if one failed or waits, 130 if interrupted.

    Raises: UserError; BatchInUse; RecordError, RecordFull; MachineError.
    """
    from agent.batch.grid.resolve import check_postponable, resolve_spec
    from agent.cli.output import emit_json
    from agent.cli.progress.batches import view_of_batch

    grid = resolve_spec(spec, runs, checks_machine=engine == "local")
    if not evaluate:
        check_postponable(grid)
    settings = settings_of(grid.spec, workers=workers, evaluate=evaluate)
    with view_of_batch(quiet=quiet) as view:
        state = run_grid(grid, _engine(engine, address), settings, view, per_process=per_process)
    if as_json:
        emit_json({"batch": str(grid.folder.path), **state.json()})
    elif not quiet:
        for line in next_commands(spec, grid.folder.path, state):
            typer.echo(line, err=True)
    raise typer.Exit(exit_status(state))


def _engine(name: str, address: str | None) -> Engine:
    if name == "ray":
        from agent.batch.engines.ray.engine import RayEngine

        return RayEngine(address)
    from agent.batch.engines.local import LocalEngine

    return LocalEngine()


def settings_of(spec: Spec, *, workers: int | None, evaluate: bool) -> Settings:
    """Return how a batch is run: as its spec says, unless an option says otherwise."""
    return Settings(
        workers=workers or spec.workers,
        evaluations=spec.evaluations,
        reruns=spec.reruns,
        budget_usd=spec.budget.usd,
        budget_tokens=spec.budget.tokens,
        evaluate=evaluate,
    )


def next_commands(spec: Path, batch: Path, state: BatchState) -> list[str]:
    """Return what the user may want to do next."""
    lines = []
    file, folder = shlex.quote(str(spec)), shlex.quote(str(batch))
    if state.waiting:
        lines.append(f"next: agent batch {file} continues what is not finished")
    if state.failures:
        lines.append(f"next: raise `reruns` in {file}, and agent batch tries again what has failed")
    if state.unevaluated:
        lines.append(f"next: agent evaluate {folder} makes the verdicts that are missing")
    if state.judged:
        lines.append(f"next: agent score {folder} compares the arms")
    return lines


def exit_status(state: BatchState) -> int:
    """Return the exit status of a run."""
    if state.phase == "interrupted":
        return 130
    return 1 if state.failures or state.waiting else 0
