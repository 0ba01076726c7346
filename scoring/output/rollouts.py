"""The report of a rollout for people: a table with its captions, a CSV file and a picture."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from scoring.errors import ScoringError
from scoring.extras import load
from scoring.interventions.rollouts import SIGNIFICANCE, Drop, RolloutReport, Spent, StepValue
from scoring.output.cells import estimate_texts, text
from scoring.output.drawing import arms
from trajectories import pictures
from trajectories.pictures import COLORS, label
from trajectories.record.texts.text import printable, quantity
from trajectories.views.tables import ALWAYS, TextColumn, TextTable

PICTURE_SUFFIXES = (".png", ".svg")
_STOPS = {
    "precision": "the precision was reached",
    "cost_limit": "the cost limit of all children was reached",
    "interrupted": "it was interrupted",
    "error": "a child could not begin",
    "infrastructure": "the machine, the provider or the evaluator failed in two children in a row",
}


def print_rollout(console: Console, report: RolloutReport) -> None:
    """Print the values of the steps, the largest drop and what a reader needs beside them."""
    result = {True: "passed", False: "did not pass", None: "has no verdict"}[report.parent_passed]
    title = f"rollout of {report.trial} ({report.task}), which {result} after {quantity(report.parent_steps, 'step')}"
    console.print(Text(printable(title)), soft_wrap=True)
    columns = (
        TextColumn("step", right=True, rank=ALWAYS),
        TextColumn("value", right=True, rank=ALWAYS),
        TextColumn(f"{report.level:.0%} interval"),
        TextColumn("passed", right=True),
        TextColumn("counted", right=True, rank=2),
        TextColumn("children", right=True, rank=4),
        TextColumn("quality", right=True, rank=3),
        TextColumn("cost", right=True, rank=3),
        TextColumn("not restored", rank=2, is_excerpt=True),
    )
    TextTable(columns, [_row(value) for value in report.steps]).print(console)
    for line in captions(report):
        console.print(Text(printable(line)), soft_wrap=True)


def _row(value: StepValue) -> list[str]:
    share, interval, counted = estimate_texts(value.value, "share")
    return [
        str(value.step),
        share,
        interval,
        str(value.passed),
        counted,
        str(value.children),
        text(value.quality, "score"),
        cost_text(value.cost),
        "; ".join(value.not_restored),
    ]


def cost_text(cost: Spent) -> str:
    """Return a cost; of an unknown one the known part as a lower bound."""
    return text(cost.usd, "usd") if cost.usd is not None else f"at least {text(cost.at_least_usd, 'usd')}"


def captions(report: RolloutReport) -> Iterator[str]:
    """Yield the sentences below the table."""
    yield from _drop_lines(report)
    yield (
        f"value: share of the children by {report.model} that pass, with Wilson's intervals; a child counts if the "
        "agent or a limit ended it and an evaluator scored it"
    )
    yield f"children: {len(report.children)}; cost of all of them: {cost_text(report.cost)}"
    run = report.run
    if run is not None:
        end = f", because {_STOPS[run.stopped]}" if run.stopped in _STOPS else ""
        yield f"this run: {run.started} of {run.planned} children started{end}; their cost: {cost_text(run.cost)}"
    if report.precision is not None:
        yield (
            f"--precision {report.precision:g}: the run stops when each half-width is at most that, looked at after "
            "each round of all steps; stopping by what was seen makes the intervals slightly optimistic"
        )
    lacking = [str(value.step) for value in report.steps if not value.whole]
    if lacking:
        rule = (
            "they are left out of the largest drop, and --all includes them" if report.only_whole else "--all: included"
        )
        yield f"the state after these steps could not be restored whole: {', '.join(lacking)} ({rule})"
    for status, meaning in (
        ("unfinished", "agent resume continues each"),
        ("infrastructure", "agent resume continues each"),
        ("unjudged", "agent evaluate judges each"),
    ):
        names = [child.trial for child in report.children if child.status == status]
        if names:
            yield f"not counted, {status} ({meaning}): {', '.join(names)}"
    if report.unreadable_children:
        yield f"children that cannot be read, and are left out: {report.unreadable_children}"
    if report.other_children:
        yield f"forks of this trial with other settings, which are not in the report: {report.other_children}"


def _drop_lines(report: RolloutReport) -> Iterator[str]:
    if report.drop is not None:
        yield from _drop_texts(report.drop, report)
        return
    compared = [value for value in report.steps if value.value.trials and (value.whole or not report.only_whole)]
    if len(compared) >= 2:
        yield f"largest drop: none, the value decreases nowhere among {len(compared)} steps"
        return
    way_out = "; --all includes steps whose state could not be restored whole" if report.only_whole else ""
    yield f"largest drop: unknown, it needs two steps with counted children{way_out}"


def _drop_texts(drop: Drop, report: RolloutReport) -> Iterator[str]:
    """Yield where the drop is and how large, and if chance alone could have made it."""
    values = {value.step: value for value in report.steps}
    place = f"in step {drop.by}" if drop.by == drop.after + 1 else f"in steps {drop.after + 1} to {drop.by}"
    before, later = (text(values[step].value.value, "share") for step in (drop.after, drop.by))
    change, interval, _ = estimate_texts(drop.change, "difference")
    change = f"{change} points {interval}, Newcombe's interval"
    yield f"largest drop: {place}, from {before} after step {drop.after} to {later} after step {drop.by} ({change})"
    verdict = "beyond chance" if drop.is_beyond_chance else f"not beyond chance at {SIGNIFICANCE:.0%}"
    corrected = f" with Bonferroni's correction for {drop.comparisons} pairs" if drop.comparisons > 1 else ""
    yield f"the drop is {verdict}: p = {drop.p:.2g} by Fisher's exact test, one-sided{corrected}"


def write_csv(path: Path, report: RolloutReport) -> None:
    """Write one row for each step.

    Raises: ScoringError if the file cannot be written.
    """
    names = ("step", "value", "low", "high", "level", "passed", "counted", "children", "quality", "cost_usd")
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow((*names, "at_least_usd", "whole", "not_restored"))
            for value in report.steps:
                share = value.value
                numbers = (share.value, share.low, share.high, share.level, value.passed, share.trials, value.children)
                cost = value.cost
                rest = (value.quality, cost.usd, cost.at_least_usd, value.whole, "; ".join(value.not_restored))
                writer.writerow((value.step, *numbers, *rest))
    except OSError as error:
        raise ScoringError(f"{path}: cannot be written: {error.strerror or error}") from None


def check_csv(path: Path) -> None:
    """Check that a file can be written here, before anything is started.

    Raises: ScoringError.
    """
    if path.is_dir() or not path.parent.is_dir():
        raise ScoringError(f"{path}: cannot be written there; name a file in a directory that exists")


def check_plot(path: Path) -> None:
    """Check that a picture can be drawn into a file of this name.

    Raises: ScoringError for another suffix than that of a picture, and without matplotlib.
    """
    if path.suffix not in PICTURE_SUFFIXES:
        raise ScoringError(f"{path}: a plot is a .png or .svg file")
    load("matplotlib", "plots")


def write_plot(path: Path, report: RolloutReport) -> str:
    """Draw value against step into a file; return the path, or the reason for which there is nothing to draw.

    Raises: ScoringError without matplotlib, or if the file cannot be written.
    """
    draw = {path.stem: lambda figure: _draw(figure, report)}
    try:
        (picture,) = pictures.write(path.parent, draw, [path.suffix.removeprefix(".")], load)
    except OSError as error:
        raise ScoringError(f"{path}: cannot be written: {error.strerror or error}") from None
    return str(picture)


def _draw(figure: Any, report: RolloutReport) -> str:
    values = [value for value in report.steps if value.value.trials]
    if not values:
        return "no child counts"
    axes = figure.subplots()
    axes.plot([value.step for value in values], [_percent(value) for value in values], color="0.7", linewidth=1)
    for whole, name in ((True, "restored whole"), (False, "not restored whole")):
        drawn = [value for value in values if value.whole == whole]
        for number, value in enumerate(drawn):
            axes.errorbar(
                value.step,
                _percent(value),
                yerr=arms(value.value, 100),
                color=COLORS[0],
                marker="o" if whole else "s",
                markerfacecolor=COLORS[0] if whole else "white",
                capsize=3,
                linestyle="none",
                label=name if number == 0 else None,
            )
    if report.drop is not None:
        axes.axvspan(report.drop.after, report.drop.by, color=COLORS[1], alpha=0.25, label="largest drop")
    title = f"Value of the steps of {label(Path(report.trial).name)} (n={sum(value.value.trials for value in values)})"
    interval = f"children that pass (%), {report.level:.0%} Wilson"
    axes.set(xlabel="step", ylabel=interval, ylim=(-3, 103), title=title)
    axes.xaxis.get_major_locator().set_params(integer=True)
    figure.legend(loc="outside right upper")
    return ""


def _percent(value: StepValue) -> float:
    return 100 * (value.value.value or 0.0)
