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
    from agent.cli.output import emit_json, readable
    from agent.cli.tables import print_table
    from agent.config import runs_dir
    from agent.doctor import examine
    from trajectories.views.tables import facts_table

    if trial is not None:
        _trial(trial, runs_dir(runs), as_json=json)
        return
    facts = examine(runs_dir(runs))
    if json:
        emit_json(facts)
        return
    rows = [(kind, _state(**state)) for kind, state in facts.pop("environments").items()]
    if facts["leftovers"]:
        facts["leftovers"] = f"{facts['leftovers']} of ended processes; agent clean removes them"
    rows += [(name, readable(value)) for name, value in facts.items()]
    print_table(facts_table(rows))


def _state(*, works: bool, answers: bool, trouble: str | None) -> str:
    if works:
        return "works"
    return f"answers, but no container has started: {trouble}" if answers else f"no: {trouble}"


def _trial(trial: str, runs: Path, *, as_json: bool) -> None:
    from agent.cli.output import emit_json
    from agent.cli.tables import print_table
    from trajectories.comparison.repeatability import report
    from trajectories.reading.runs import find_trial

    repeatability = report(find_trial(trial, runs))
    if as_json:
        emit_json(repeatability.json())
        return
    from trajectories.views.repeatability import findings_table

    if repeatability.findings:
        print_table(findings_table(repeatability))
    typer.echo(repeatability.line, err=not repeatability.findings)
