"""Violations of the benchmark's rules in the score: the trials that are flagged, and what that does to a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from scoring.choices import IntegrityBy, IntegrityRule
from scoring.errors import ScoringError
from scoring.families import programbench_tasks
from scoring.rows import TrialRow
from trajectories.reading.entry import OWN_HARNESS
from trajectories.record.verdict import GroupScore

CLEAN_ROOMS = frozenset({programbench_tasks.BENCHMARK, programbench_tasks.OWN})
"""Benchmarks whose rules are those of `trajectories.analysis.integrity`. Elsewhere `git clone` is no violation."""


def with_rules(
    rows: Sequence[TrialRow], by: IntegrityBy | None, before: Callable[[int], None] = lambda number: None
) -> list[TrialRow]:
    """Return the rows with findings by rule, for the trials where they may decide.

    Without a choice these are trials of clean-room benchmarks that no panel has decided; for `rules` and `any` all
    trials. `before` gets the number of trials that have to be read.

    Raises: MissingExtra without tree-sitter.
    """
    due = {Path(row.directory): row for row in rows if _needs_rules(row, by)}
    if not due:
        return list(rows)
    from trajectories.analysis.integrity.flags import rule_flags

    flags = rule_flags(due, before)
    examined = []
    for row in rows:
        rules = flags.get(Path(row.directory))
        if rules is not None and (rules.commands or not row.steps or row.harness.startswith(OWN_HARNESS)):
            row = replace(row, evidence=replace(row.evidence, rules=rules))
        examined.append(row)
    return examined


def _needs_rules(row: TrialRow, by: IntegrityBy | None) -> bool:
    if by is not None:
        return by != IntegrityBy.PANEL
    panel = row.evidence.panel
    return row.benchmark in CLEAN_ROOMS and (panel is None or panel.flagged is None)


def with_flags(rows: Iterable[TrialRow], by: IntegrityBy | None) -> list[TrialRow]:
    """Return the rows with `flagged` and `flagged_by` by their evidence."""
    flagged = []
    for row in rows:
        is_flagged, evidence = row.evidence.flags(by)
        flagged.append(replace(row, flagged=is_flagged, flagged_by="+".join(evidence) or None))
    return flagged


def apply_rule(rows: Iterable[TrialRow], rule: IntegrityRule) -> tuple[TrialRow, ...]:
    """Return the rows that count under a rule. A trial about which nothing is known is treated as not flagged.

    Raises: ScoringError if every trial is left out.
    """
    rows = tuple(rows)
    if rule == IntegrityRule.ZERO:
        return tuple(zeroed(row) if row.flagged else row for row in rows)
    if rule == IntegrityRule.EXCLUDE:
        kept = tuple(row for row in rows if not row.flagged)
        if not kept:
            raise ScoringError(
                f"every trial that counts ({len(rows)}) is flagged: score them with --integrity zero or show"
            )
        return kept
    return rows


def zeroed(row: TrialRow) -> TrialRow:
    """Return a judged trial with quality 0, all of its metrics 0 and no test passed; its cost and effort stay."""
    if not row.judged:
        return row
    return replace(
        row,
        passed=False,
        quality=0.0,
        metrics=dict.fromkeys(row.metrics, 0.0),
        groups={name: GroupScore(passed=0, total=group.total) for name, group in row.groups.items()},
    )
