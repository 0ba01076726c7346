"""`agent clean`: remove the leftovers of harness processes that have ended and, on request, old images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli.options import JsonOption, RemovalDryRunOption

_OLD_S = 7 * 24 * 3600.0
"""Age from which `--images` removes an image, in seconds."""

if TYPE_CHECKING:
    from environments.leftovers.cleaning import Cleaned, Leftover


def clean(
    dry_run: RemovalDryRunOption = False,
    kept: Annotated[bool, typer.Option("--kept", help="Also remove containers that --keep left behind.")] = False,
    images: Annotated[
        bool, typer.Option("--images", help="Also remove old commits of trials, and old images built for tasks.")
    ] = False,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Age from which --images removes an image, such as 12h [7d]."),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Remove what ended processes of Retrace left behind.

    This removes containers, their networks and volumes, temporary directories and lock files. Other images stay unless
    --images is given: a trial whose commit is gone can neither be continued in it nor evaluated again, and a built
    image is built again. List them with --images --dry-run.
    """
    from agent.cli.output import emit_json, stderr
    from agent.errors import UserError
    from environments.leftovers import cleaning

    if older_than is not None and not images:
        raise UserError(f"--older-than {older_than} goes with --images; add that, or leave it out")

    cleaned = cleaning.clean(dry_run=dry_run, kept=kept, images_older_s=_age_s(older_than) if images else None)
    if cleaned.docker:
        stderr().print(f"containers were not examined: {cleaned.docker}", soft_wrap=True)
    if json:
        emit_json(_facts(cleaned, dry_run))
    else:
        _print(cleaned, dry_run)
    for leftover, trouble in cleaned.failed:
        stderr().print(f"agent: {leftover.kind} {leftover.name} could not be removed: {trouble}", soft_wrap=True)
    return 1 if cleaned.failed else 0


def _age_s(typed: str | None) -> float:
    """Return the age from which an image is old, in seconds.

    Raises: UserError.
    """
    from agent.errors import UserError
    from benchmarks.task.quantities import duration_s

    if typed is None:
        return _OLD_S
    try:
        return duration_s(typed)
    except ValueError as error:
        raise UserError(f"--older-than: {error}") from None


def _facts(cleaned: Cleaned, dry_run: bool) -> dict[str, Any]:
    return {
        "removed": [_fact(leftover) for leftover in cleaned.removed],
        "kept": [_fact(leftover) for leftover in cleaned.kept],
        "unknown": [_fact(leftover) for leftover in cleaned.unknown],
        "failed": [{**_fact(leftover), "trouble": trouble} for leftover, trouble in cleaned.failed],
        "docker": cleaned.docker,
        "dry_run": dry_run,
    }


def _fact(leftover: Leftover) -> dict[str, Any]:
    from dataclasses import asdict

    facts = asdict(leftover)
    del facts["fate"]
    return {**facts, "age_s": round(leftover.age_s)}


def _print(cleaned: Cleaned, dry_run: bool) -> None:
    from agent.cli.output import stdout
    from agent.cli.tables import print_table
    from trajectories.views.tables import ALWAYS, TextColumn, TextTable

    rows = [(leftover, "would be removed" if dry_run else "removed") for leftover in cleaned.removed]
    rows += [(leftover, "kept (--kept removes it)") for leftover in cleaned.kept]
    rows += [(leftover, "left alone") for leftover in cleaned.unknown]
    rows += [(leftover, "FAILED") for leftover, _ in cleaned.failed]
    if not rows:
        stdout().print("nothing was left behind")
        return
    columns = (
        TextColumn("kind", rank=2),
        TextColumn("name", rank=ALWAYS),
        TextColumn("size", right=True, rank=4),
        TextColumn("owner", rank=5),
        TextColumn("age", right=True, rank=3),
        TextColumn("outcome"),
    )
    cells = [
        (
            leftover.kind,
            leftover.name,
            _size(leftover.bytes),
            f"process {leftover.owner.pid}" if leftover.owner else "nobody",
            _age(leftover.age_s),
            outcome,
        )
        for leftover, outcome in rows
    ]
    print_table(TextTable(columns, cells))
    images = [leftover for leftover, _ in rows if leftover.kind == "image"]
    if len(images) > 1:
        stdout().print(f"{len(images)} images: {_size(sum(leftover.bytes or 0 for leftover in images))}")
    for leftover in cleaned.unknown:
        stdout().print(f"{leftover.name}: {leftover.why}", soft_wrap=True)


def _size(count: int | None) -> str:
    if count is None:
        return ""
    if count >= 1 << 30:
        return f"{count / 2**30:.1f} GiB"
    return f"{count / 2**20:.1f} MiB" if count >= 1 << 20 else f"{count / 2**10:.0f} KiB"


def _age(seconds: float) -> str:
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
