"""Rows of the tables that only one benchmark prints, present if its trials record the figures that they need.

LongCLI-Bench's tables need a step score or pass of a test set, CLI-Tool-Bench's table its metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scoring.families import clitool, longcli
from scoring.report import LongCliRow, SuiteRow
from scoring.rows import TrialRow
from scoring.selection import latest_completed

Members = Mapping[str, Sequence[TrialRow]]
"""By setup, its trials."""


def longcli_rows(members: Members) -> list[LongCliRow]:
    """Return Tables 1 to 3 of each configuration whose trials have an F2P or P2P result."""
    table = []
    for setup, rows in members.items():
        turns = longcli.turns_of(rows)
        if any(turn.all_pass is not None or turn.step is not None for turn in turns):
            states = longcli.states_by_turn(turns)
            table.append(
                LongCliRow(
                    setup=setup,
                    label=rows[0].label,
                    main=longcli.first_turns(turns),
                    f2p_steps=longcli.f2p_step_buckets(turns),
                    turns=tuple(states),
                    differences=tuple(longcli.turn_differences(states)),
                )
            )
    return table


def suite_rows(members: Members) -> list[SuiteRow]:
    """Return Build, Exec, EM, FM and SM of each configuration whose trials have any of them, also by language if known.

    If a repository has several trials, the latest completed one counts.
    """
    table = []
    for setup, rows in members.items():
        if any(clitool.repository_score(row, metric) is not None for row in rows for metric in clitool.METRICS):
            group = _language if any("language" in row.facts for row in rows) else None
            latest = list(latest_completed(rows).values())
            table.append(SuiteRow(setup=setup, label=rows[0].label, lines=tuple(clitool.suite_lines(latest, group))))
    return table


def _language(row: TrialRow) -> str:
    return row.facts.get("language", "unknown")
