"""`agent analyze`: report what the agent did in one trial or many, or whether it kept the rules of a clean room."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import JsonOption, PlotFormatOption, PlotsOption, QuietOption, RunsOption, TrialsArgument

if TYPE_CHECKING:
    from agent.roles.judges import Judges


@dataclass(frozen=True)
class JudgeOptions:
    """The options of `agent analyze --integrity` about judges, as they were typed."""

    models: list[str] | None
    judges: int | None
    cost_limit: str | None
    settings: list[str] | None
    api_base: str | None

    def first_typed(self) -> str | None:
        """Return the name of the first option that was typed; None if there is none."""
        values = {
            "--judge-model": self.models,
            "--judges": self.judges,
            "--judge-cost-limit": self.cost_limit,
            "--judge-setting": self.settings,
            "--judge-api-base": self.api_base,
        }
        return next((name for name, value in values.items() if value), None)

    def panel(self, say: Callable[[str], None]) -> Judges | None:
        """Return the judges, which `say` a line for each vote; None if no model was named.

        Raises: UserError.
        """
        if not self.models:
            return None
        from agent.cli.settings import dollars, model_settings
        from agent.roles.judges import JUDGES, make_judges

        return make_judges(
            self.models,
            self.judges or JUDGES,
            settings=model_settings(self.settings or (), "--judge-setting"),
            api_base=self.api_base,
            cost_limit_usd=dollars(self.cost_limit, "--judge-cost-limit"),
            say=say,
        )


def analyze(
    trials: TrialsArgument,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="CSV file to write, with one row per trial.")] = None,
    plots: PlotsOption = None,
    format: PlotFormatOption = None,
    runs: RunsOption = None,
    json: JsonOption = False,
    integrity: Annotated[
        bool, typer.Option("--integrity", help="Check for violations of clean-room rules instead.")
    ] = False,
    judge_model: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help="Model of judges for --integrity; repeatable. Judges cost money."),
    ] = None,
    judges: Annotated[
        int | None,
        typer.Option(min=1, max=99, metavar="N", help="Number of judges, assigned to the models in turn [9]."),
    ] = None,
    judge_cost_limit: Annotated[
        str | None,
        typer.Option(
            metavar="USD", help="Maximum cost of all judges in US dollars; checked before each request [none]."
        ),
    ] = None,
    judge_setting: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Setting of every judge's model; repeatable.")
    ] = None,
    judge_api_base: Annotated[
        str | None, typer.Option(metavar="URL", help="Endpoint of the API of the judges' models.")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Report what the agent did in one trial or many.

    The report has the classes of actions, the growth of the code, repetitions, and the costs of observations.
    """
    from agent.cli.output import emit_json, stdout
    from agent.config import runs_dir
    from agent.errors import UserError
    from trajectories.analysis.aggregate import analyze_trials, write_csv

    judge_options = JudgeOptions(judge_model, judges, judge_cost_limit, judge_setting, judge_api_base)
    typed = judge_options.first_typed()
    if typed and not integrity:
        raise UserError(f"{typed} applies to the judges of --integrity only: give --integrity as well")
    if typed and not judge_model:
        raise UserError(f"{typed} does not apply without judges: name --judge-model MODEL as well")
    if integrity:
        if plots is not None:
            raise UserError("--plots does not apply to --integrity: leave out one of them")
        _integrity(trials, runs_dir(runs), csv, judge_options, as_json=json, quiet=quiet)
        return
    if format and plots is None:
        raise UserError("--format applies to plots only: name their directory with --plots DIR")
    analysis = analyze_trials(trials, runs_dir(runs))
    if csv is not None:
        write_csv(csv, analysis.trials)
    if plots is not None:
        from scoring.choices import PlotFormat
        from trajectories.analysis.plots import write_plots

        formats = format or [PlotFormat.PNG]
        for picture in write_plots(plots, analysis.trials, [plot_format.value for plot_format in formats]):
            typer.echo(picture, err=True)
    if json:
        emit_json(analysis)
        return
    from trajectories.views.analysis import print_analysis

    print_analysis(stdout(), analysis)


def _integrity(
    trials: list[str], runs: Path, csv: Path | None, judge_options: JudgeOptions, *, as_json: bool, quiet: bool
) -> None:
    from agent.cli.output import emit_json, progress_lines, stdout
    from agent.evaluation.integrity import analyze_integrity
    from trajectories.analysis.integrity.report import write_csv
    from trajectories.views.integrity import print_integrity

    panel = judge_options.panel(progress_lines(quiet=quiet))
    try:
        analysis, interrupted = analyze_integrity(trials, runs, panel)
    finally:
        if panel is not None:
            panel.close()
    if csv is not None:
        write_csv(csv, analysis.trials)
    if as_json:
        emit_json(analysis)
    else:
        print_integrity(stdout(), analysis)
    if interrupted:
        raise typer.Exit(130)
