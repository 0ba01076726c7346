"""`agent export`: a trial in another program's format, or trials as a benchmark's run directory."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from trajectories.formats.export import Format


class _Format(StrEnum):
    mini = "mini"
    atif = "atif"
    openai = "openai"
    asciicast = "asciicast"
    programbench = "programbench"


def export(
    trials: Annotated[
        list[str],
        typer.Argument(
            metavar="TRIAL...",
            help="A trial's directory, or the beginning of its id; programbench: several, or directories of batches.",
        ),
    ],
    format: Annotated[
        _Format,
        typer.Option(
            help="mini-swe-agent, ATIF 1.8, OpenAI messages (JSONL), asciicast v2, or a run directory of ProgramBench."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where to write [standard output]; programbench: the directory.", show_default=False
        ),
    ] = None,
    reasoning: Annotated[bool, typer.Option("--reasoning", help="openai: with what the model thought.")] = False,
    runs: Annotated[Path | None, typer.Option(help="Where trials are kept [runs].", show_default=False)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object about what was written.")] = False,
) -> None:
    """Write a trial as another program's file, or trials as a run directory of ProgramBench."""
    from agent.cli.output import emit_json, stdout
    from agent.config import runs_dir
    from agent.errors import UserError
    from trajectories.formats.export import export as exported
    from trajectories.formats.write_file import write_file
    from trajectories.reading.runs import find_trial

    if output == Path("-"):
        output = None
    if json and output is None:
        raise UserError("--json tells what was written, and standard output is taken: give --output FILE too")
    if reasoning and format is not _Format.openai:
        raise UserError(f"--reasoning means nothing in {format.value}: leave it out, or choose --format openai")
    if format is _Format.programbench:
        from benchmarks.programbench.run_directory import export_run

        if output is None:
            raise UserError("--format programbench writes a directory: say which with --output RUN_DIR")
        done = export_run(trials, runs_dir(runs), output)
        if json:
            emit_json(done)
        else:
            for line in done.lines():
                stdout().print(line, soft_wrap=True)
        return
    if len(trials) > 1:
        raise UserError(f"--format {format.value} writes one trial, and {len(trials)} are named: name one at a time")
    directory = find_trial(trials[0], runs_dir(runs))
    data = exported(directory, cast("Format", format.value), reasoning=reasoning)
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    write_file(output, data)
    if json:
        emit_json({"trial": str(directory), "format": format.value, "output": str(output), "bytes": len(data)})
