"""Tasks with stages: the trials at the stages are one attempt, so a score sees one row, never those of the stages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from scoring.interventions.chains import Attempt, attempts_of
from scoring.rows import TrialRow
from trajectories.reading.interventions.stages import StageResult, together
from trajectories.record.verdict import GroupScore


def with_stages_together(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """Return the rows, with one in place of those of a task's stages: its costs are sums, its result that of all."""
    if all(row.interventions.chain_result is None for row in rows):
        return list(rows)
    others = [row for row in rows if row.interventions.chain_result is None]
    stages = [row for row in rows if row.interventions.chain_result is not None]
    return [*others, *(_row(attempt) for attempt in attempts_of(stages))]


def _row(attempt: Attempt) -> TrialRow:
    row, first = attempt.result, attempt.turns[0]
    facts = first.interventions
    row = replace(
        row,
        trial=first.trial,
        directory=first.directory,
        identity=first.identity,
        configuration=first.configuration,
        turn=None,
        interventions=replace(
            row.interventions,
            chain_first=None,
            turns=None,
            conversation=None,
            until=None,
            chain_result=None,
            ends_chain=None,
        ),
    )
    scored = [each for each in attempt.turns if each.judged]
    results = [StageResult(bool(each.passed), each.quality or 0.0, each.metrics) for each in scored]
    assert facts.chain_result is not None
    result = together(results, facts.chain_result, facts.turns or 0)
    if result is None or len(scored) < len(attempt.turns):
        return row
    groups = _groups(scored) if facts.chain_result == "mean" else row.groups
    judged_as = "+".join(
        sorted({each.judged_as for each in scored if each.judged_as})
    )  # one of them never stands for all
    return replace(
        row,
        passed=result.passed,
        quality=result.quality,
        metrics=result.metrics,
        groups=groups,
        judged_as=judged_as or None,
    )


def _groups(rows: Iterable[TrialRow]) -> dict[str, GroupScore]:
    groups: dict[str, GroupScore] = {}
    for row in rows:
        for name, score in row.groups.items():
            before = groups.get(name, GroupScore(passed=0, total=0))
            groups[name] = GroupScore(passed=before.passed + score.passed, total=before.total + score.total)
    return groups
