"""The table of modes: LongCLI-Bench's Table 4, with a line for each mode and one for each turn of a chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from scoring.interventions.modes import Less, ModesRow, ModeState
from scoring.output.cells import Cell, ReportColumn, TableDesign
from scoring.report import Report

LAST = "last"
"""State of a chain after the last turn of each attempt."""


class _Line(NamedTuple):
    """One state of a mode."""

    row: ModesRow
    name: str
    """`T1` and so on for a turn, `last` for the last turns of a chain, and empty for a mode without turns."""
    state: ModeState


def lines(report: Report) -> Iterator[_Line]:
    """Yield the lines of each mode: its turns, if it has any, then the result."""
    for row in report.modes:
        for turn in row.mode.turns:
            yield _Line(row, f"T{turn.turn}", turn)
        yield _Line(row, LAST if row.mode.turns else "", row.mode)


def _less(figure: Callable[[Less], Cell]) -> Callable[[_Line], Cell]:
    return lambda line: None if line.state.less is None else figure(line.state.less)


def _title(report: Report) -> str:
    """Return the caption, with the policy of each mode: which feedback, which conversation, which expert."""
    policies = dict.fromkeys(
        f"{row.mode.mode}: {row.mode.policy}" for row in report.modes if row.mode.policy and row.mode.mode
    )
    return ". ".join(["Modes of collaboration (LongCLI-Bench, Table 4)", *policies])


MODES: TableDesign[_Line] = TableDesign(
    "modes",
    _title,
    (
        ReportColumn("model", "model", "text", lambda line: line.row.model),
        ReportColumn("harness", "harness", "text", lambda line: line.row.harness, is_minor=True),
        ReportColumn("prompt", "prompt", "text", lambda line: line.row.prompt or "", is_minor=True),
        ReportColumn("configuration", "configuration", "text", lambda line: line.row.mode.label, is_minor=True),
        ReportColumn("mode", "mode", "text", lambda line: line.row.mode.mode),
        ReportColumn("state", "state", "text", lambda line: line.name),
        ReportColumn("tasks", "tasks", "count", lambda line: line.state.tasks),
        ReportColumn("attempts", "attempts", "count", lambda line: line.state.attempts),
        ReportColumn("missing", "missing", "count", lambda line: line.state.missing, is_minor=True),
        ReportColumn("carried", "carried on", "count", lambda line: line.state.carried or None, is_minor=True),
        ReportColumn("pass_rate", "passed", "share", lambda line: line.state.pass_rate),
        ReportColumn("any_turn", "any turn", "share", lambda line: line.state.any_turn),
        ReportColumn("f2p_step", "F2P step", "share", lambda line: line.state.f2p_step),
        ReportColumn("p2p_step", "P2P step", "share", lambda line: line.state.p2p_step),
        ReportColumn("quality", "quality", "share", lambda line: line.state.quality),
        ReportColumn("minutes", "minutes", "number", lambda line: line.state.minutes),
        ReportColumn("interventions", "interventions", "number", lambda line: line.state.interventions),
        ReportColumn("refusals", "refusals", "number", lambda line: line.state.refusals, is_minor=True),
        ReportColumn("cost_usd", "USD", "usd", lambda line: line.state.usd),
        ReportColumn("expert_usd", "expert USD", "usd", lambda line: line.state.expert_usd),
        ReportColumn("plan_usd", "plans USD", "usd", lambda line: _of_result(line)),
        ReportColumn("against", "less", "text", _less(lambda less: less.against)),
        ReportColumn("less_pass_rate", "+passed", "difference", _less(lambda less: less.pass_rate)),
        ReportColumn("less_f2p_step", "+F2P step", "difference", _less(lambda less: less.f2p_step)),
        ReportColumn("less_quality", "+quality", "difference", _less(lambda less: less.quality)),
    ),
    lines,
)
"""LongCLI-Bench's Table 4."""


def _of_result(line: _Line) -> Cell:
    """Return the cost of all plans of a mode, which is not repeated for its turns."""
    return line.row.mode.plan_usd if line.state is line.row.mode else None
