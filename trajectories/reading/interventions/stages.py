"""The result of a task with stages, from the verdicts of those that were judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trajectories.record.interventions import ChainResult


@dataclass(frozen=True)
class StageResult:
    """The score of a stage, or of all stages together."""

    passed: bool
    quality: float
    metrics: Mapping[str, float]


def together(stages: Sequence[StageResult], how: ChainResult, count: int) -> StageResult | None:
    """Return the result of a task of so many stages; None if none was judged.

    Stages that were left out are not part of the mean, but without them the task is not passed. A metric that a judged
    stage lacks counts as 0 there.
    """
    if not stages:
        return None
    whole = len(stages) == count
    if how == "last":
        last = stages[-1]
        return StageResult(whole and last.passed, last.quality, last.metrics)
    names = dict.fromkeys(name for stage in stages for name in stage.metrics)
    metrics = {name: sum(stage.metrics.get(name, 0.0) for stage in stages) / len(stages) for name in names}
    quality = sum(stage.quality for stage in stages) / len(stages)
    return StageResult(whole and all(stage.passed for stage in stages), quality, metrics)
