"""`agent show`: print a trial as an overview, one step in full, or live; or check its record."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli.options import JsonOption, RunsOption, TrialArgument


def show(
    trial: TrialArgument,
    step: Annotated[int | None, typer.Option(min=0, metavar="N", help="Print only this step, in full.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing while the trial runs.")] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Write trial.json and the other derived files again.")
    ] = False,
    verdict: Annotated[
        bool, typer.Option("--verdict", help="Print only the verdict that holds, with the messages of all tests.")
    ] = False,
    failed: Annotated[bool, typer.Option("--failed", help="With --verdict: only the tests that failed.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Check the record; report the first inconsistency.")] = False,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Print a trial: overview, one step, or live."""
    from agent.cli.output import emit_json, stdout
    from agent.cli.results import summary_json
    from agent.config import runs_dir
    from agent.errors import UserError
    from trajectories.reading.reader import read_events
    from trajectories.reading.runs import find_trial
    from trajectories.reading.steps import read_step
    from trajectories.reading.summary import summarize
    from trajectories.reading.verdict_report import verdict_of

    directory = find_trial(trial, runs_dir(runs))
    if failed and not verdict:
        raise UserError("--failed selects tests of a verdict: use it with --verdict")
    if verdict:
        if check or follow or rebuild or step is not None:
            raise UserError("--verdict prints one part: use it without --check, --follow, --rebuild and --step")
        _verdict(directory, only_failed=failed, as_json=json)
        return
    if check:
        if follow or rebuild or step is not None:
            raise UserError("--check reads the whole record: use it without --follow, --rebuild and --step")
        _check(directory, as_json=json)
        return
    if rebuild:
        from trajectories.writing.derived import write_conveniences

        write_conveniences(directory)
    if follow:
        if json or step is not None:
            raise UserError("--follow prints a trial while it runs: use it without --json and --step")
        _follow(directory)
        return
    events = list(read_events(directory)) if step is None else read_step(directory, step)
    from trajectories.reading.family import family

    if json:
        if step is None:
            _, member = family(directory)
            forks = [{"trial": str(child.directory), "step": child.step} for child in member.children]
            content = summary_json(summarize(directory, events), verdict_of(events))
            emit_json({**content, "forks": forks})
        else:
            emit_json({"step": step, "events": [event.model_dump(mode="json", by_alias=True) for event in events]})
        return
    from trajectories.views.summary import summary_table
    from trajectories.views.trial import TrialView

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


def _verdict(directory: Path, *, only_failed: bool, as_json: bool) -> None:
    from agent.cli.output import emit_json, stdout
    from agent.errors import UserError
    from trajectories.reading.reader import read_events
    from trajectories.reading.verdict_report import failed_cases, verdict_of
    from trajectories.record.layout import TrialFolder
    from trajectories.views.verdict import print_cases, print_verdict

    verdict = verdict_of(read_events(directory))
    if verdict is None:
        raise UserError(f"{directory}: has no verdict; make one with `agent evaluate {directory}`")
    cases = failed_cases(verdict) if only_failed else verdict.cases
    if as_json:
        emit_json(verdict.model_copy(update={"cases": tuple(cases)}))
        return
    console = stdout()
    print_verdict(console, verdict, logs=TrialFolder(directory).evaluation)
    print_cases(console, cases)


def _check(directory: Path, *, as_json: bool) -> None:
    from agent.cli.output import emit_json
    from trajectories.checks.check import check
    from trajectories.record.text import printable, quantity

    report = check(directory)
    if as_json:
        emit_json(report)
    else:
        for finding in report.findings:
            if finding.warning:
                typer.echo(printable(f"warning: {finding.place}: {finding.text}"), err=True)
        state = "finished" if report.finished else "unfinished: it has no exit"
        if report.first is None:
            typer.echo(f"consistent: {quantity(report.events, 'event')}, {state}")
        else:
            typer.echo(printable(f"inconsistent: {report.first.place}: {report.first.text} ({report.first.rule})"))
    if not report.consistent:
        raise typer.Exit(1)


def _follow(directory: Path) -> None:
    from agent.cli.output import stdout
    from trajectories.views.follow import follow
    from trajectories.views.trial import TrialView

    view = TrialView(stdout())
    for event in follow(directory):
        view.show(event)
