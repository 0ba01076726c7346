"""`agent gc`: contents that no trial needs any more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def gc(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    runs: Annotated[Path | None, typer.Option(help="Where trials are kept [runs].", show_default=False)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Remove recorded contents that no trial links any more, and what dead writers left."""
    from agent.cli.output import emit_json
    from agent.config import runs_dir
    from trajectories.blobs.garbage import collect_garbage

    done = collect_garbage(runs_dir(runs, must_exist=True), dry_run=dry_run)
    if json:
        emit_json(done)
    else:
        would = "would be removed" if dry_run else "removed"
        typer.echo(f"{done.blobs} contents and {done.temporaries} unfinished files {would}, {done.bytes} bytes")
