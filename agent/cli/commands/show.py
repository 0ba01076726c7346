"""`agent show`: print a trial as an overview, one step in full, or live; or check its record."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli import completion
from agent.cli.options import JsonOption, RunsOption


def show(
    trial: Annotated[
        str,
        typer.Argument(
            metavar="TRIAL",
            help="Trial: a directory, or the beginning of an id; or the record of a plan, such as plans/NAME.",
            autocompletion=completion.records,
        ),
    ],
    step: Annotated[int | None, typer.Option(min=0, metavar="N", help="Print only this step, in full.")] = None,
    first: Annotated[
        int | None, typer.Option("--from", min=0, metavar="N", help="Print the steps from this one on.")
    ] = None,
    tail: Annotated[int | None, typer.Option(min=1, metavar="N", help="Print only the last N steps.")] = None,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="STEP.NUMBER",
            help="Write the whole output of this command to standard output, byte for byte: `3.1` is the first command "
            "of step 3, `3.1.stderr` its standard error if that was recorded apart.",
            show_default=False,
        ),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing while the trial runs.")] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Write trial.json and the other derived files again.")
    ] = False,
    verdict: Annotated[
        bool, typer.Option("--verdict", help="Print only the verdict that holds, with the messages of all tests.")
    ] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="Print only the tests that failed; goes with --verdict.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Check the record; report the first inconsistency.")] = False,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Print a trial: overview, one step, or live."""
    from agent.config import runs_dir
    from agent.errors import UserError

    parts = {"--step": step, "--from": first, "--tail": tail, "--output": output}
    parts |= {"--follow": follow or None, "--verdict": verdict or None, "--check": check or None}
    named = [option for option, value in parts.items() if value is not None]
    if len(named) > 1:
        raise UserError(f"{' and '.join(named)} name different parts of a trial: give one of them")
    if json and named and named[0] not in ("--step", "--verdict", "--check"):
        raise UserError(f"{named[0]} has no JSON: use it without --json")
    if failed and not verdict:
        raise UserError("--failed selects tests of a verdict: use it with --verdict")
    directory, is_plan = _named(trial, runs_dir(runs))
    if is_plan:
        if named and not check:
            raise UserError(f"{named[0]} does not apply to the record of a plan; leave it out")
        if rebuild:
            from agent.guidance.planning import write_beside
            from trajectories.reading.plans.record import read_plan

            write_beside(read_plan(directory))
        if check:
            _check(directory, as_json=json)
        else:
            _plan(directory, as_json=json)
        return
    if rebuild:
        from trajectories.reading.steps.index import read_index
        from trajectories.writing.derived import write_conveniences

        write_conveniences(directory)
        read_index(directory, rebuild=True)
    if output is not None:
        _output(directory, output)
    elif verdict:
        _verdict(directory, only_failed=failed, as_json=json)
    elif check:
        _check(directory, as_json=json)
    elif follow:
        _follow(directory)
    elif step is not None:
        _step(directory, step, as_json=json)
    elif json:
        _overview_json(directory)
    else:
        _overview(directory, first, tail)


def _named(name: str, runs: Path) -> tuple[Path, bool]:
    """Return the folder of the record that is named, and True if it is that of a plan.

    The beginning of a plan's name is enough if no trial's id begins with it.

    Raises: RecordError.
    """
    from trajectories.errors import RecordError
    from trajectories.reading.plans.finding import find_plan
    from trajectories.reading.runs import find_trial, trial_directories

    if (plan := find_plan(name, runs)) is not None:
        return plan, True
    try:
        return find_trial(name, runs), False
    except RecordError:
        if any(trial.name.startswith(name) for trial in trial_directories(runs)):
            raise  # it fits several trials
        if (plan := find_plan(name, runs, by_beginning=True)) is None:
            raise
    return plan, True


def _plan(directory: Path, *, as_json: bool) -> None:
    from agent.cli.output import emit_json, paged
    from trajectories.reading.plans.record import read_plan
    from trajectories.views.plan import plan_json, print_plan

    record = read_plan(directory)
    if as_json:
        emit_json(plan_json(record))
        return
    with paged() as console:
        print_plan(console, record)


def _step(directory: Path, step: int, *, as_json: bool) -> None:
    from agent.cli.output import emit_json, paged
    from trajectories.reading.steps.events import read_step
    from trajectories.views.trial import TrialView

    events = read_step(directory, step)
    if as_json:
        emit_json({"step": step, "events": [event.model_dump(mode="json", by_alias=True) for event in events]})
        return
    with paged() as console:
        view = TrialView(console, full=True)
        for event in events:
            view.show(event)


def _overview_json(directory: Path) -> None:
    from agent.cli.output import emit_json
    from agent.cli.results import summary_json
    from trajectories.reading.family import family
    from trajectories.reading.interventions.chain import read_chain
    from trajectories.reading.reader import read_events
    from trajectories.reading.replays import read_replays
    from trajectories.reading.reruns import replacement_of
    from trajectories.reading.summary import summarize
    from trajectories.reading.verdict_report import verdict_of

    events = list(read_events(directory))
    _, member = family(directory)
    forks = [{"trial": str(child.directory), "step": child.step} for child in member.children]
    replays = [replay.model_dump(mode="json") for replay in read_replays(directory)]
    summary = summary_json(summarize(directory, events), verdict_of(events))
    chain = read_chain(directory)
    turns = {} if chain is None else {"chain": chain.model_dump(mode="json")}
    replacement = replacement_of(directory)
    replaced = {} if replacement is None else {"replaced_by": str(replacement)}
    emit_json({**summary, "forks": forks, "replays": replays, **turns, **replaced})


def _overview(directory: Path, first: int | None, tail: int | None) -> None:
    """Print the steps from `first` on, or the last `tail` ones, or all, and the summary.

    Events are parsed as they are printed: the first screen of a long trial waits for nothing.
    """
    from agent.cli.output import paged
    from trajectories.reading.family import family
    from trajectories.reading.interventions.chain import read_chain
    from trajectories.reading.reader import read_events
    from trajectories.reading.replays import read_replays
    from trajectories.reading.reruns import replacement_of
    from trajectories.reading.runs import current_summary
    from trajectories.reading.steps.events import events_from_step, events_of_last
    from trajectories.reading.summary import summarize
    from trajectories.record.texts.text import printable
    from trajectories.views.chain import print_chain
    from trajectories.views.family import family_tree
    from trajectories.views.replays import replay_lines
    from trajectories.views.summary import summary_table
    from trajectories.views.trial import TrialView

    part = None
    if tail is not None:
        part = events_of_last(directory, tail)
    elif first is not None:
        part = events_from_step(directory, first)
    with paged() as console:
        view = TrialView(console)
        if part is None:
            summary = summarize(directory, view.passing(read_events(directory)))
        else:
            for event in part:
                view.show(event)
            summary = current_summary(directory)
        summary_table(summary).print(console)
        if (replacement := replacement_of(directory)) is not None:
            console.print(printable(f"replaced by {replacement}, which counts in its place"), soft_wrap=True)
        for line in (line for replay in read_replays(directory) for line in replay_lines(replay)):
            console.print(printable(line), soft_wrap=True)
        if summary.entry.chain is not None and (chain := read_chain(directory)) is not None:
            print_chain(console, chain)
        root, member = family(directory)
        if root.children:
            console.print(family_tree(root, member))


def _output(directory: Path, name: str) -> None:
    """Write the kept bytes of a command's output, and a note if these are not all."""
    import sys

    from trajectories.reading.outputs import output_bytes, recorded_output
    from trajectories.record.texts.text import quantity

    recorded = recorded_output(directory, name)
    for piece in output_bytes(directory, recorded):
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
    if not recorded.complete:
        typer.echo("note: the file that this trial was imported from holds only a part of this output", err=True)
    elif recorded.kept < recorded.bytes:
        typer.echo(
            f"note: {quantity(recorded.bytes, 'byte')} were printed, of which {recorded.kept} are kept", err=True
        )
    if recorded.masked:
        typer.echo("note: secrets are masked in this output", err=True)


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
    from trajectories.record.texts.text import printable, quantity

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
