"""`agent gc`: delete stored contents that no trial refers to, and pack the records of finished trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import JsonOption, RunsOption

if TYPE_CHECKING:
    from trajectories.writing.packing import PackedTrials


def gc(
    pack: Annotated[
        bool, typer.Option("--pack", help="Also compress events.jsonl of finished trials; every command reads both.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Report what would be deleted or packed, and change nothing.")
    ] = False,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> int:
    """Delete unused contents; pack finished trials.

    Contents that no trial refers to and unfinished files of dead processes are deleted. With --pack, the events of a
    finished trial become events.jsonl.zst (zstdcat prints them); a trial that is continued or evaluated again is
    unpacked by itself.
    """
    from agent.cli.output import emit_json, stderr
    from agent.config import runs_dir
    from trajectories.blobs.garbage import collect_garbage
    from trajectories.writing.packing import pack_finished

    place = runs_dir(runs, must_exist=True)
    garbage = collect_garbage(place, dry_run=dry_run)
    packed = pack_finished(place, dry_run=dry_run) if pack else None
    if json:
        emit_json({**garbage.model_dump(), "packed": packed and packed.model_dump()})
    else:
        removed = "would be removed" if dry_run else "removed"
        typer.echo(
            f"{garbage.blobs} contents and {garbage.temporaries} unfinished files {removed}, {garbage.bytes} bytes"
        )
        if packed is not None:
            typer.echo(_line(packed))
    for problem in packed.failed.values() if packed else ():
        stderr().print(f"agent: not packed: {problem}", soft_wrap=True)
    return 1 if packed and packed.failed else 0


def _line(packed: PackedTrials) -> str:
    """Return the sentence about what was packed, and what was left."""
    if packed.bytes_after is None:
        line = f"{packed.trials} finished trials would be packed, {packed.bytes_before} bytes"
    else:
        line = f"{packed.trials} finished trials packed, {packed.bytes_before} bytes became {packed.bytes_after}"
    left = {"unfinished": packed.unfinished, "in use": packed.running}
    return line + "".join(f"; {count} left: {state}" for state, count in left.items() if count)
