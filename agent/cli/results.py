"""The end of `agent solve`, `resume` and `fork`: summaries and verdicts are printed, and the exit status is set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from agent.trial.outcome import Outcome
    from trajectories.reading.summary import Summary


def print_results(results: Sequence[tuple[Outcome, Summary]], *, as_json: bool, as_list: bool = False) -> None:
    """Print the summary and the verdict of each trial, or one JSON object.

    The object is the trial's summary; with `as_list` it holds the summaries of all trials.
    """
    from agent.cli.output import emit_json, stdout

    if as_json:
        if as_list:
            emit_json({"trials": [summary.model_dump(mode="json") for _, summary in results]})
        else:
            emit_json(results[0][1])
        return
    from trajectories.views.summary import summary_table
    from trajectories.views.verdict import print_verdict

    console = stdout()
    for outcome, summary in results:
        console.print(summary_table(summary))
        if outcome.verdict is not None:
            print_verdict(console, outcome.verdict)


def exit_with_status(outcomes: Sequence[Outcome]) -> None:
    """Exit with 130 after an interrupt and with 1 after a failure of the infrastructure or of the evaluator.

    Raises: typer.Exit.
    """
    if outcomes[-1].interrupted:
        raise typer.Exit(130)
    if any(outcome.exit.reason == "infrastructure" or outcome.evaluator_failed for outcome in outcomes):
        raise typer.Exit(1)
