"""`agent clean`: remove what dead harness processes left, and only that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from environments.leftovers.cleaning import Cleaned, Leftover


def clean(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    kept: Annotated[bool, typer.Option("--kept", help="Remove containers that --keep left, too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Remove containers, temporary directories and locks of dead harness processes; images that are caches stay."""
    from agent.cli.output import emit_json, stderr
    from environments.leftovers import cleaning

    done = cleaning.clean(dry_run=dry_run, kept=kept)
    if done.docker:
        stderr().print(f"containers were not looked at: {done.docker}", soft_wrap=True)
    if json:
        emit_json(_facts(done, dry_run))
    else:
        _print(done, dry_run)
    for one, trouble in done.failed:
        stderr().print(f"agent: {one.kind} {one.name} could not be removed: {trouble}", soft_wrap=True)
    return 1 if done.failed else 0


def _facts(done: Cleaned, dry_run: bool) -> dict[str, Any]:
    return {
        "removed": [_fact(one) for one in done.removed],
        "kept": [_fact(one) for one in done.kept],
        "unknown": [_fact(one) for one in done.unknown],
        "failed": [{**_fact(one), "trouble": trouble} for one, trouble in done.failed],
        "docker": done.docker,
        "dry_run": dry_run,
    }


def _fact(one: Leftover) -> dict[str, Any]:
    from dataclasses import asdict

    facts = asdict(one)
    del facts["fate"]
    return {**facts, "age_s": round(one.age_s)}


def _print(done: Cleaned, dry_run: bool) -> None:
    from rich.table import Table

    from agent.cli.output import stdout

    rows = [(one, "would be removed" if dry_run else "removed") for one in done.removed]
    rows += [(one, "kept (--kept removes it)") for one in done.kept]
    rows += [(one, "left alone") for one in done.unknown]
    rows += [(one, "FAILED") for one, _ in done.failed]
    if not rows:
        stdout().print("nothing was left behind")
        return
    table = Table("what", "name", "size", "owner", "age", "done", box=None, pad_edge=False)
    for one, became in rows:
        owner = f"process {one.owner.pid}" if one.owner else "nobody"
        table.add_row(one.kind, one.name, _size(one.bytes), owner, _age(one.age_s), became)
    stdout().print(table)
    for one in done.unknown:
        stdout().print(f"{one.name}: {one.why}", soft_wrap=True)


def _size(count: int | None) -> str:
    if count is None:
        return ""
    return f"{count / 2**20:.1f} MiB" if count >= 1 << 20 else f"{count / 2**10:.0f} KiB"


def _age(seconds: float) -> str:
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
