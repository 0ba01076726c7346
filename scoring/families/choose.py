"""The tables that one benchmark prints and others do not: there where its trials record what they need.

LongCLI-Bench's need a test set's step or pass, or a mode; CLI-Tool-Bench's need its metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scoring.families import clitool, longcli
from scoring.report import LongCliRow, ModesRow, SuiteRow
from scoring.rows import TrialRow
from scoring.selection import latest_completed

Members = Mapping[str, Sequence[TrialRow]]


def mode_rows(rows: Sequence[TrialRow]) -> list[ModesRow]:
    """A line a mode, model and harness, where a trial records a mode: a turn, a plan, or a variant that names one."""
    if not any(row.turn or row.plan or longcli.mode_of(row) in longcli.MODES[1:] for row in rows):
        return []
    pairs = sorted({(row.model, row.harness) for row in rows})
    return [
        ModesRow(model=model, harness=harness, mode=mode)
        for model, harness in pairs
        for mode in longcli.modes([row for row in rows if (row.model, row.harness) == (model, harness)])
    ]


def longcli_rows(members: Members, names: Mapping[str, str]) -> list[LongCliRow]:
    """Tables 1 to 3 of each configuration whose trials say how they did in F2P or P2P."""
    found = []
    for setup, rows in members.items():
        turns = longcli.turns_of(rows)
        if any(one.all_pass is not None or one.step is not None for one in turns):
            table = longcli.by_turn(turns)
            found.append(
                LongCliRow(
                    setup=setup,
                    label=names[setup],
                    main=longcli.main(turns),
                    f2p_steps=longcli.step_buckets(turns),
                    turns=tuple(table),
                    differences=tuple(longcli.turn_differences(table)),
                )
            )
    return found


def suite_rows(members: Members, names: Mapping[str, str]) -> list[SuiteRow]:
    """Build, Exec, EM, FM and SM of each configuration whose trials say any of them; by language where it is a fact.

    Of a repository with several trials the latest completed one.
    """
    found = []
    for setup, rows in members.items():
        if any(clitool.repository(row, metric) is not None for row in rows for metric in clitool.METRICS):
            group = _language if any("language" in row.facts for row in rows) else None
            latest = list(latest_completed(rows).values())
            found.append(SuiteRow(setup=setup, label=names[setup], lines=tuple(clitool.table(latest, group))))
    return found


def _language(row: TrialRow) -> str:
    return row.facts.get("language", "unknown")
