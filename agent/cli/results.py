"""The end of `agent solve`, `resume` and `fork`: summaries and verdicts are printed, and the exit status is set."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from agent.trial.outcome import Outcome
    from trajectories.reading.interventions.chain import ChainReport
    from trajectories.reading.summary import Summary
    from trajectories.record.verdict import Verdict

EVALUATES_AGAIN = "evaluates the same workspace again; nothing of the trial is repeated"


def print_results(
    results: Sequence[tuple[Outcome, Summary]], *, as_json: bool, quiet: bool, as_list: bool = False
) -> None:
    """Print the summary and the verdict of each trial, and the next command unless `quiet`; or one JSON object.

    The object is the trial's summary; with `as_list` it holds the summaries of all trials, and the chains of stages.
    """
    from agent.cli.output import emit_json, stdout

    if as_json:
        contents = [summary_json(summary, outcome.verdict) for outcome, summary in results]
        chains = [chain.model_dump(mode="json") for chain in chains_of_stages(results)]
        emit_json({"trials": contents, **({"chains": chains} if chains else {})} if as_list else contents[0])
        return
    from trajectories.record.layout import TrialFolder
    from trajectories.views.summary import summary_table
    from trajectories.views.verdict import print_verdict

    console = stdout()
    for number, (outcome, summary) in enumerate(results, start=1):
        summary_table(summary).print(console)
        if outcome.verdict is not None:
            folder = TrialFolder(outcome.directory)
            print_verdict(console, outcome.verdict, logs=folder.evaluation, trial=outcome.directory)
        goes_on = number < len(results) and results[number][1].entry.turn not in (None, 1)
        if not quiet and not goes_on:
            _print_next(outcome, in_chain=summary.entry.turn is not None)
    for chain in chains_of_stages(results):
        from trajectories.views.chain import print_result_of_stages

        print_result_of_stages(console, chain)


def chains_of_stages(results: Sequence[tuple[Outcome, Summary]]) -> list[ChainReport]:
    """Return the chains whose turns are the stages of a task, as they are now, with the result of all stages."""
    directories: dict[Path, Path] = {}
    for outcome, summary in results:
        if summary.entry.chain is not None and summary.entry.chain.stages:
            directories[outcome.directory.parent / summary.entry.chain.first] = outcome.directory
    if not directories:
        return []
    from trajectories.reading.interventions.chain import read_chain

    return [chain for directory in directories.values() if (chain := read_chain(directory)) is not None]


def print_next(verb: str, name: str | None, options: Mapping[str, object] | None = None, effect: str = "") -> None:
    """Print the command that a user would most likely give next; a comment of the shell tells its effect.

    The verb may have several words. Options without a value are left out, and those with a list of values are repeated.
    """
    from trajectories.record.texts.text import printable

    words = verb.split() if name is None else [*verb.split(), name]
    for option, value in (options or {}).items():
        for each in value if isinstance(value, list) else [value]:
            words += [] if each is None else [option, str(each)]
    typer.echo(printable(f"next: agent {shlex.join(words)}{f'   # {effect}' if effect else ''}"), err=True)


def _print_next(outcome: Outcome, *, in_chain: bool) -> None:
    directory = str(outcome.directory)
    chain_stopped = in_chain and (outcome.evaluator_failed or outcome.chain_stopped)
    if outcome.interrupted or chain_stopped or outcome.exit.reason in ("infrastructure", "user"):
        print_next("resume", directory)
    elif outcome.evaluator_failed:
        print_next("evaluate", directory, effect=EVALUATES_AGAIN)
    else:
        print_next("show", directory)


def summary_json(summary: Summary, verdict: Verdict | None) -> dict[str, Any]:
    """Return a trial's summary as `--json` prints it: with the failed cases of the verdict that holds."""
    from trajectories.reading.verdict_report import VerdictReport
    from trajectories.record.layout import TrialFolder

    content = summary.model_dump(mode="json")
    if verdict is not None:
        report = VerdictReport.with_cases(verdict, TrialFolder(Path(summary.trial)).verdict)
        content["verdict"] = report.model_dump(mode="json")
    return content


def exit_with_status(outcomes: Sequence[Outcome]) -> None:
    """Exit with 130 after an interrupt and with 1 after a failure of the infrastructure or of the evaluator.

    Raises: typer.Exit.
    """
    if outcomes[-1].interrupted:
        raise typer.Exit(130)
    if any(outcome.exit.reason == "infrastructure" or outcome.evaluator_failed for outcome in outcomes):
        raise typer.Exit(1)
