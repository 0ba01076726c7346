"""`agent gc`: delete stored contents that no trial refers to."""

from __future__ import annotations

import typer

from agent.cli.options import JsonOption, RemovalDryRunOption, RunsOption


def gc(dry_run: RemovalDryRunOption = False, runs: RunsOption = None, json: JsonOption = False) -> None:
    """Delete stored contents that no trial refers to.

    Unfinished files of dead processes are deleted, too.
    """
    from agent.cli.output import emit_json
    from agent.config import runs_dir
    from trajectories.blobs.garbage import collect_garbage

    garbage = collect_garbage(runs_dir(runs, must_exist=True), dry_run=dry_run)
    if json:
        emit_json(garbage)
    else:
        removed = "would be removed" if dry_run else "removed"
        typer.echo(
            f"{garbage.blobs} contents and {garbage.temporaries} unfinished files {removed}, {garbage.bytes} bytes"
        )
