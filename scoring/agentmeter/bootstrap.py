"""AMS with its interval, and paired differences of AMS, by a bootstrap over tasks within their tiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scoring.agentmeter.ams import Ams, Outcomes, score, task_parts, tasks_by_tier
from scoring.agentmeter.profiles import Profile
from scoring.agentmeter.tiers import Tier
from scoring.errors import ScoringError
from scoring.statistics.intervals import LEVEL, REPLICATES, SEED, Estimate, no_bootstrap, percentiles, resampled_sums

if TYPE_CHECKING:
    from scoring.statistics.intervals import Array


@dataclass(frozen=True)
class AmsSample:
    """AMS of one configuration with its bootstrap replicates, comparable over the same tasks, seed and budgets."""

    ams: Ams
    replicates: Array | None
    """None if there is no bootstrap or no AMS; `method` has the reason."""
    method: str
    trials: int
    tried: frozenset[str]
    tasks: frozenset[str]

    def estimate(self, level: float = LEVEL) -> Estimate:
        """Return AMS with its interval."""
        return self._estimate(self.ams.ams, self.replicates, level, self.method, self.trials, self.tried)

    def less(self, other: AmsSample, level: float = LEVEL) -> Estimate:
        """Return this AMS less the other's, with both over the same drawn tasks (paired).

        Raises: ScoringError if they are not over the same tasks, draws and budgets.
        """
        ours = (self.tasks, self.method, self.ams.profile_sha256)
        if ours != (other.tasks, other.method, other.ams.profile_sha256):
            raise ScoringError("two AMS over different tasks, draws or budgets cannot be compared")
        first, second = self.ams.ams, other.ams.ams
        value = first - second if first is not None and second is not None else None
        replicates = None
        if self.replicates is not None and other.replicates is not None:
            replicates = self.replicates - other.replicates
        method = self.method if replicates is None else f"paired {self.method}"
        return self._estimate(value, replicates, level, method, self.trials + other.trials, self.tried & other.tried)

    def _estimate(
        self,
        value: float | None,
        replicates: Array | None,
        level: float,
        method: str,
        trials: int,
        tried: frozenset[str],
    ) -> Estimate:
        low, high = percentiles(replicates, level) if replicates is not None else (None, None)
        return Estimate(
            value=value,
            low=low,
            high=high,
            level=level,
            method=method,
            trials=trials,
            tasks=len(self.tasks),
            missing=len(self.tasks - tried),
        )


def sample(
    outcomes: Outcomes, tiers: Mapping[str, Tier], profile: Profile, *, seed: int = SEED, replicates: int = REPLICATES
) -> AmsSample:
    """Return AMS and its bootstrap. Tasks are drawn with replacement within their tier, so that tiers keep their sizes.

    Raises: ScoringError as `scoring.agentmeter.ams.score` does.
    """
    ams = score(outcomes, tiers, profile)
    by_tier = tasks_by_tier(outcomes, tiers)
    method = f"bootstrap by task within tiers, {replicates} replicates, seed {seed}"
    drawn: Array | None = None
    if ams.ams is None:
        method = "no AMS: a tier has no tasks"
    elif reason := no_bootstrap(min(map(len, by_tier.values()))):
        method = reason
    else:
        drawn = _replicates(outcomes, by_tier, profile, seed, replicates)
    return AmsSample(
        ams=ams,
        replicates=drawn,
        method=method,
        trials=sum(map(len, outcomes.values())),
        tried=frozenset(task for task, trials in outcomes.items() if trials),
        tasks=frozenset(tiers),
    )


def _replicates(
    outcomes: Outcomes, by_tier: Mapping[Tier, Sequence[str]], profile: Profile, seed: int, replicates: int
) -> Array:
    import numpy as np

    total = np.zeros(replicates)
    for tier, tasks in by_tier.items():
        columns = np.array([task_parts(tier, outcomes.get(task, ()), profile) for task in tasks])
        success, aubqc, expensive = (resampled_sums(tasks, columns, seed=seed, replicates=replicates) / len(tasks)).T
        total += (profile.alpha * success + (1 - profile.alpha) * aubqc) * (1 - expensive)
    return total / len(by_tier)
