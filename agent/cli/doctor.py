"""`agent doctor`: what this machine can do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def doctor(
    runs: Annotated[
        Path | None, typer.Option(help="Where trials would be kept: its disk is looked at [runs].", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what this machine can do: environments, size, clock, keys, versions."""
    from agent.cli.output import emit_json, stdout
    from agent.config import runs_dir
    from agent.doctor import examine

    facts = examine(runs_dir(runs))
    if json:
        emit_json(facts)
        return
    console = stdout()
    for kind, state in facts.pop("environments").items():
        console.print(f"{kind:16} {'works' if state['works'] else 'no: ' + state['trouble']}", soft_wrap=True)
    if facts["leftovers"]:
        facts["leftovers"] = f"{facts['leftovers']} of dead processes; agent clean removes them"
    for name, value in facts.items():
        console.print(f"{name:16} {_said(value)}", soft_wrap=True)


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_said(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
