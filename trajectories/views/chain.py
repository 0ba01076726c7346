"""Terminal view of a chain of turns: a line for each, and the cases that were gained and lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from trajectories.reading.interventions.chain import ChainReport, TurnReport
from trajectories.record.texts.text import printable, quantity
from trajectories.views.tables import ALWAYS, TextColumn, TextTable

_LISTED = 20
"""Number of cases that are named; `--json` has all."""
_COLUMNS = (
    TextColumn("turn", rank=ALWAYS),
    TextColumn("trial", rank=4),
    TextColumn("exit", rank=3),
    TextColumn("steps", right=True, rank=5),
    TextColumn("cost", right=True, rank=6),
    TextColumn("time", right=True, rank=7),
    TextColumn("verdict", rank=1),
    TextColumn("quality", right=True, rank=1),
    TextColumn("gained", right=True, rank=2),
    TextColumn("lost", right=True, rank=2),
)


def print_chain(console: Console, chain: ChainReport) -> None:
    """Print the turns of a chain, and what changed from each to the next."""
    end = "" if chain.until == "fixed" else ", until it passes"
    between = f"feedback {chain.feedback}, conversation {chain.conversation}"
    title = _of_stages(chain) if chain.stages else f"chain of {chain.turns} turns{end}; {between}"
    TextTable(_COLUMNS, [_cells(turn, chain.turn) for turn in chain.members], title).print(console)
    for line, style in _lines(chain):
        console.print(Text(printable(line), style), soft_wrap=True)


def _of_stages(chain: ChainReport) -> str:
    how = "their mean" if chain.result == "mean" else "that of the last one"
    judged = sum(member.quality is not None for member in chain.members)
    stages = quantity(len(chain.stages), "stage")
    if judged < len(chain.stages):
        stages += f", {judged} of them judged"
    if chain.quality is None:
        return f"{stages}; the result is {how}"
    passed = "passed" if chain.passed else "not passed"
    return f"{stages}; the result is {how}: {passed}, quality {chain.quality:.3f}"


def print_result_of_stages(console: Console, chain: ChainReport) -> None:
    """Print the result of all stages of a chain in one line."""
    console.print(Text(printable(f"{chain.first}: {_of_stages(chain)}")), soft_wrap=True)


def _cells(turn: TurnReport, shown: int) -> list[str]:
    changes = turn.changes
    verdict = {True: "passed", False: "not passed", None: "none"}[turn.passed]
    return [
        f"{turn.turn} (this)" if turn.turn == shown else str(turn.turn),
        Path(turn.trial).name,
        "unreadable" if turn.problem else turn.exit or "not closed",
        "" if turn.steps is None else str(turn.steps),
        "unknown" if turn.cost_usd is None else f"${turn.cost_usd:.2f}",
        "unknown" if turn.wall_s is None else f"{turn.wall_s:.0f} s",
        verdict,
        "" if turn.quality is None else f"{turn.quality:.3f}",
        "" if changes is None else f"+{changes.gained}",
        "" if changes is None else f"-{changes.lost}",
    ]


def _lines(chain: ChainReport) -> Iterator[tuple[str, str]]:
    for turn in chain.members:
        if turn.changes is None:
            continue
        if turn.changes.lost_cases:
            yield f"turn {turn.turn} lost {_named(turn.changes.lost_cases)}", "red"
        if turn.changes.gained_cases:
            yield f"turn {turn.turn} gained {_named(turn.changes.gained_cases)}", "green"


def _named(cases: Sequence[str]) -> str:
    more = len(cases) - _LISTED
    rest = f" and {quantity(more, 'more case')}" if more > 0 else ""
    return f"{quantity(len(cases), 'case')}: {', '.join(cases[:_LISTED])}{rest}"
