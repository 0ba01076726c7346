"""`agent doctor`: the abilities of this machine, or the commands of a trial that may not reproduce."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli import completion
from agent.cli.options import JsonOption


def doctor(
    trial: Annotated[
        str | None,
        typer.Argument(
            metavar="TRIAL",
            help="Examine this trial instead: its directory, or the beginning of its id.",
            show_default=False,
            autocompletion=completion.trials,
        ),
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Directory of trials, whose disk is checked for free space [runs].", show_default=False
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Check what this machine can do.

    With a trial, list its commands that may not reproduce instead.
    """
    from agent.cli.output import emit_json, readable, stdout
    from agent.config import runs_dir
    from agent.doctor import examine

    if trial is not None:
        _trial(trial, runs_dir(runs), as_json=json)
        return
    facts = examine(runs_dir(runs))
    if json:
        emit_json(facts)
        return
    console = stdout()
    for kind, state in facts.pop("environments").items():
        console.print(f"{kind:16} {_state(**state)}", soft_wrap=True)
    if facts["leftovers"]:
        facts["leftovers"] = f"{facts['leftovers']} of ended processes; agent clean removes them"
    for name, value in facts.items():
        console.print(f"{name:16} {readable(value)}", soft_wrap=True)


def _state(*, works: bool, answers: bool, trouble: str | None) -> str:
    if works:
        return "works"
    return f"answers, but no container has started: {trouble}" if answers else f"no: {trouble}"


def _trial(trial: str, runs: Path, *, as_json: bool) -> None:
    from agent.cli.output import emit_json, stdout
    from trajectories.comparison.repeatability import report
    from trajectories.reading.runs import find_trial

    repeatability = report(find_trial(trial, runs))
    if as_json:
        emit_json(repeatability.json())
        return
    from trajectories.views.repeatability import findings_table

    if repeatability.findings:
        stdout().print(findings_table(repeatability))
    typer.echo(repeatability.line, err=not repeatability.findings)
