"""`agent show`, `agent trials`, `agent schema`: looking at records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_RUNS = Annotated[Path | None, typer.Option(help="Where trials are kept [runs].", show_default=False)]


def show(
    trial: Annotated[str, typer.Argument(metavar="TRIAL", help="A trial's directory, or the beginning of its id.")],
    step: Annotated[int | None, typer.Option(min=0, help="Only this step, in full.", show_default=False)] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on while the trial runs.")] = False,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Write trial.json and its like anew.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Look for what cannot be, and name the first.")] = False,
    runs: _RUNS = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print a trial readably, whole or one step."""
    from agent.cli.output import emit_json, stdout
    from agent.config import runs_dir
    from agent.errors import UserError
    from trajectories.reading.reader import read_events
    from trajectories.reading.runs import find_trial
    from trajectories.reading.steps import read_step
    from trajectories.reading.summary import summarize

    directory = find_trial(trial, runs_dir(runs))
    if check:
        if follow or rebuild or step is not None:
            raise UserError("--check looks at the whole record: use it without --follow, --rebuild and --step")
        _check(directory, as_json=json)
        return
    if rebuild:
        from trajectories.writing.derived import write_conveniences

        write_conveniences(directory)
    if follow:
        if json or step is not None:
            raise UserError("--follow shows a trial as it goes: use it without --json and --step")
        _follow(directory)
        return
    events = list(read_events(directory)) if step is None else read_step(directory, step)
    from trajectories.reading.family import family

    if json:
        if step is None:
            _, member = family(directory)
            forks = [{"trial": str(one.directory), "step": one.step} for one in member.children]
            emit_json({**summarize(directory, events).model_dump(mode="json"), "forks": forks})
        else:
            emit_json({"step": step, "events": [event.model_dump(mode="json", by_alias=True) for event in events]})
        return
    from trajectories.views.trial import TrialView, summary_table

    console = stdout()
    view = TrialView(console, full=step is not None)
    for event in events:
        view.show(event)
    if step is None:
        console.print(summary_table(summarize(directory, events)))
        root, member = family(directory)
        if root.children:
            from trajectories.views.family import family_tree

            console.print(family_tree(root, member))


def _check(directory: Path, *, as_json: bool) -> None:
    from agent.cli.output import emit_json
    from trajectories.checks.check import check
    from trajectories.record.text import counted, printable

    found = check(directory)
    if as_json:
        emit_json(found)
    else:
        for finding in found.findings:
            if finding.warning:
                typer.echo(printable(f"warning: {finding.place}: {finding.text}"), err=True)
        state = "finished" if found.finished else "unfinished: it has no exit"
        if found.first is None:
            typer.echo(f"consistent: {counted(found.events, 'event')}, {state}")
        else:
            typer.echo(printable(f"inconsistent: {found.first.place}: {found.first.text} ({found.first.rule})"))
    if not found.consistent:
        raise typer.Exit(1)


def _follow(directory: Path) -> None:
    from agent.cli.output import stdout
    from trajectories.views.follow import follow
    from trajectories.views.trial import TrialView

    view = TrialView(stdout())
    for event in follow(directory):
        view.show(event)


def trials(
    runs: _RUNS = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List trials, newest first."""
    from agent.cli.output import emit_json, stdout
    from agent.config import runs_dir
    from trajectories.reading.runs import listed, trial_directories

    runs = runs_dir(runs, must_exist=runs is not None)
    rows = [listed(directory) for directory in trial_directories(runs)]
    if json:
        emit_json(
            {
                "trials": [
                    row.summary.model_dump(mode="json")
                    if row.summary
                    else {"trial": str(row.directory), "problem": row.problem}
                    for row in rows
                ]
            }
        )
        return
    from trajectories.record.text import printable
    from trajectories.views.listing import listing_table

    if rows:
        console = stdout()
        console.print(listing_table(rows, console.width))
        for row in rows:
            if row.problem:
                typer.echo(printable(f"unreadable: {row.directory}: {row.problem}"), err=True)
    else:
        typer.echo(f"no trials under {runs}", err=True)


def schema() -> None:
    """Print the JSON Schema of the record's events."""
    from agent.cli.output import emit_json
    from trajectories.record.events import EVENT, SCHEMA_VERSION

    content = EVENT.json_schema(by_alias=True, mode="serialization")
    emit_json({"$schema": "https://json-schema.org/draft/2020-12/schema", "version": SCHEMA_VERSION, **content})
