"""`agent export`: write a trial in another program's format, or trials as a benchmark's run directory."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from agent.cli import completion
from agent.cli.options import RunsOption

if TYPE_CHECKING:
    from trajectories.formats.export import Format


class ExportFormat(StrEnum):
    """A format that `agent export` writes."""

    mini = "mini"
    atif = "atif"
    openai = "openai"
    asciicast = "asciicast"
    programbench = "programbench"


def export(
    trials: Annotated[
        list[str],
        typer.Argument(
            metavar="TRIAL",
            help="Trial: a directory, or the beginning of an id; for programbench also several, or batches.",
            autocompletion=completion.trials,
        ),
    ],
    format: Annotated[
        ExportFormat,
        typer.Option(
            help="Output format: mini-swe-agent, ATIF 1.8, OpenAI messages (JSON Lines), asciicast v2, or a run "
            "directory of ProgramBench."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="File to write, for programbench a directory [standard output].",
        ),
    ] = None,
    reasoning: Annotated[
        bool, typer.Option("--reasoning", help="Include the model's reasoning, for the format openai.")
    ] = False,
    runs: RunsOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object about the written file.")] = False,
) -> None:
    """Write trials in another program's format."""
    from agent.cli.output import emit_json, stdout
    from agent.config import runs_dir
    from agent.errors import UserError
    from trajectories.formats.export import export as export_trial
    from trajectories.formats.write_file import write_file
    from trajectories.reading.runs import find_trial

    if output == Path("-"):
        output = None
    if json and output is None:
        raise UserError("--json needs --output FILE: without it the export itself goes to standard output")
    if reasoning and format is not ExportFormat.openai:
        raise UserError(
            f"--reasoning does not apply to --format {format.value}: leave it out, or choose --format openai"
        )
    if format is ExportFormat.programbench:
        from benchmarks.programbench.run_directory import export_run

        if output is None:
            raise UserError("--format programbench writes a directory: name it with --output RUN_DIR")
        run = export_run(trials, runs_dir(runs), output)
        if json:
            emit_json(run)
        else:
            for line in run.lines():
                stdout().print(line, soft_wrap=True)
        return
    if len(trials) > 1:
        raise UserError(f"--format {format.value} writes one trial, not {len(trials)}: name one at a time")
    directory = find_trial(trials[0], runs_dir(runs))
    data = export_trial(directory, cast("Format", format.value), reasoning=reasoning)
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    write_file(output, data)
    if json:
        emit_json({"trial": str(directory), "format": format.value, "output": str(output), "bytes": len(data)})
