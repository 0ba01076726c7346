"""Rows of the tables that only one benchmark prints, present if its trials record the figures that they need.

LongCLI-Bench's tables need a step score or pass of a test set, CLI-Tool-Bench's table its metrics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter

from scoring.families import clitool, longcli, longcli_modes
from scoring.report import LongCliRow, ModesRow, SuiteRow
from scoring.rows import TrialRow
from scoring.selecting.selection import latest_completed
from trajectories.record.interventions import BASE

Members = Mapping[str, Sequence[TrialRow]]
"""By setup, its trials."""


def mode_rows(rows: Sequence[TrialRow]) -> list[ModesRow]:
    """Return the state at the last turn for each mode, model, harness and prompt, if a trial has another mode than
    `base`; `scoring.interventions.modes` tells turns and setups apart."""
    if all(row.mode == BASE for row in rows):
        return []
    members: defaultdict[tuple[str, str, str, str], list[TrialRow]] = defaultdict(list)
    for row in rows:
        members[row.model, row.harness, row.prompt or "", row.prompt_sha256 or ""].append(row)
    hashes: defaultdict[str, list[str]] = defaultdict(list)
    for _, _, name, sha256 in sorted(members):
        if sha256 not in hashes[name]:
            hashes[name].append(sha256)
    return [
        ModesRow(model=model, harness=harness, prompt=_numbered(name, sha256, hashes[name]), mode=mode)
        for (model, harness, name, sha256), some in sorted(members.items(), key=itemgetter(0))
        for mode in longcli_modes.modes(some)
    ]


def _numbered(name: str, sha256: str, hashes: Sequence[str]) -> str | None:
    """Return the name of a prompt, with its number among several prompts of this name."""
    return f"{name} ({hashes.index(sha256) + 1})" if len(hashes) > 1 else name or None


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
