"""The table of modes: LongCLI-Bench's Table 4, with a line for each mode and one for each turn of a chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from scoring.interventions.modes import InterventionsRow, Less, ModeState
from scoring.output.cells import Cell, ReportColumn, TableDesign
from scoring.report import Report

LAST = "last"
"""State of a chain after the last turn of each attempt."""


class _Line(NamedTuple):
    """One state of a mode."""

    row: InterventionsRow
    mode: str
    """Name of the mode, with a number if there are several policies of it."""
    name: str
    """`T1` and so on for a turn, `last` for the last turns of a chain, and empty for a mode without turns."""
    state: ModeState


def lines(report: Report) -> Iterator[_Line]:
    """Yield the lines of each mode: its turns, if it has any, then the result."""
    names = _names(report)
    for row in report.interventions:
        name = names[row.mode.mode, row.mode.policy]
        for turn in row.mode.turns:
            carried = f", {turn.carried} carried on" if turn.carried else ""
            yield _Line(row, name, f"T{turn.turn}{carried}", turn)
        yield _Line(row, name, LAST if row.mode.turns else "", row.mode)


def _names(report: Report) -> dict[tuple[str, str], str]:
    """Return the name of each mode and policy; several policies of one mode are numbered."""
    policies: dict[str, dict[str, None]] = {}
    for row in report.interventions:
        policies.setdefault(row.mode.mode, {})[row.mode.policy] = None
    return {
        (mode, policy): f"{mode} ({number})" if len(of_mode) > 1 else mode
        for mode, of_mode in policies.items()
        for number, policy in enumerate(of_mode, 1)
    }


def _less(figure: Callable[[Less], Cell]) -> Callable[[_Line], Cell]:
    return lambda line: None if line.state.less is None else figure(line.state.less)


def _title(report: Report) -> str:
    """Return the caption, with the policy of each mode: which feedback, which conversation, which expert."""
    policies = [f"{name}: {policy}" for (_, policy), name in _names(report).items() if policy]
    return ". ".join(["Modes of collaboration (LongCLI-Bench, Table 4)", *policies])


MODES: TableDesign[_Line] = TableDesign(
    "modes",
    _title,
    (
        ReportColumn("model", "model", "text", lambda line: line.row.model),
        ReportColumn("harness", "harness", "text", lambda line: line.row.harness, is_minor=True),
        ReportColumn("prompt", "prompt", "text", lambda line: line.row.prompt or "", is_minor=True),
        ReportColumn("configuration", "configuration", "text", lambda line: line.row.mode.label, is_minor=True),
        ReportColumn("mode", "mode", "text", lambda line: line.mode),
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
