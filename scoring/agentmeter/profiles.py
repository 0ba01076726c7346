"""Profiles: the budgets and thresholds by which AMS weighs costs, fixed before scoring.

A profile has, for each tier, a grid of budgets and the threshold of an expensive failure. It comes from the paper, or
is fitted from trials and stored as a file. Its content hash goes into every result.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from scoring.agentmeter.tiers import TIERS, Tier
from scoring.errors import ScoringError
from scoring.rows import TrialRow
from scoring.selecting.selection import passed_and_quality
from trajectories.record.identity import sha256_of
from trajectories.record.texts.text import quantity

QUANTILES = (0.10, 0.25, 0.50, 0.75, 0.90)
"""Quantiles of a tier's costs in a fitted grid. The paper has "rounded tier-wise cost quantiles", without values."""
FAILED_QUANTILE = 0.90
"""Quantile of the costs of failed trials that is the threshold in a fitted profile."""


class Budgets(BaseModel):
    """Budgets of one tier, in US dollars."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    grid_usd: tuple[float, ...] = Field(min_length=1)
    expensive_failure_usd: float = Field(gt=0)
    """Threshold tau: a failed trial that cost more is an expensive failure."""

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if self.grid_usd[0] <= 0 or any(b < a for a, b in zip(self.grid_usd, self.grid_usd[1:], strict=False)):
            raise ValueError("a grid must begin above 0 and never fall")
        return self


class Profile(BaseModel):
    """Budgets of all three tiers and the weight of the success rate."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str
    source: str
    alpha: float = Field(default=0.6, ge=0, le=1)
    tiers: dict[Tier, Budgets]
    notes: tuple[str, ...] = ()
    submissions: tuple[str, ...] = ()
    """Names of the submissions to a leaderboard whose costs it was fitted to; empty for one fitted to trials."""

    @model_validator(mode="after")
    def _all_tiers(self) -> Self:
        if set(self.tiers) != set(TIERS):
            raise ValueError(f"a profile must have budgets for {', '.join(TIERS)}")
        return self

    @property
    def sha256(self) -> str:
        """Digest of alpha and budgets, the parts that scores depend on; texts are not part of it."""
        return sha256_of(self.model_dump(mode="json", include={"alpha", "tiers"}))

    def scaled(self, factor: float) -> Profile:
        """Return the profile with all budgets times `factor`, for instance in another currency."""
        tiers = {
            tier: Budgets(
                grid_usd=tuple(budget * factor for budget in budgets.grid_usd),
                expensive_failure_usd=budgets.expensive_failure_usd * factor,
            )
            for tier, budgets in self.tiers.items()
        }
        return self.model_copy(update={"tiers": tiers, "name": f"{self.name} x {factor:g}"})


AGENTMETER = Profile(
    name="agentmeter",
    source="AgentMeter, arXiv 2606.21140, prices of 2026-06-04",
    tiers={
        "easy": Budgets(grid_usd=(0.01, 0.04, 0.10, 0.18, 0.26), expensive_failure_usd=0.12),
        "medium": Budgets(grid_usd=(0.03, 0.07, 0.24, 0.58, 0.82), expensive_failure_usd=0.40),
        "hard": Budgets(grid_usd=(0.06, 0.21, 0.87, 2.34, 3.47), expensive_failure_usd=2.18),
    },
)


def fit(
    rows: Iterable[TrialRow],
    tiers: Mapping[str, Tier],
    *,
    name: str,
    source: str,
    alpha: float = 0.6,
    quantiles: Sequence[float] = QUANTILES,
) -> Profile:
    """Fit a profile to trials that count (`scoring.selecting.selection.select_trials`).

    Budgets are quantiles of a tier's known costs, tau is the P90 of the costs of its failed trials. Both are rounded to
    cents, or to two digits below a cent. The tau of a tier without a failed trial is its largest budget. The notes of
    the profile name such tiers, and the number of trials without a cost.

    Raises: ScoringError for a tier without a trial of known cost above 0.
    """
    if not tiers:
        raise ScoringError("no profile can be fitted: no trial records a tier, and none were given (--tiers)")
    costs: dict[Tier, list[float]] = {tier: [] for tier in TIERS}
    failed: dict[Tier, list[float]] = {tier: [] for tier in TIERS}
    unknown = 0
    for row in rows:
        tier = tiers.get(row.task)
        if tier is None:
            continue
        if row.cost_usd is None:
            unknown += 1
            continue
        costs[tier].append(row.cost_usd)
        if not passed_and_quality(row)[0]:
            failed[tier].append(row.cost_usd)
    notes = [f"fitted without {quantity(unknown, 'trial')} of unknown cost"] if unknown else []
    fitted: dict[Tier, Budgets] = {}
    for tier in TIERS:
        if not any(costs[tier]):
            raise ScoringError(f"no profile can be fitted: the tier {tier} has no trial that cost anything")
        grid = tuple(max(_rounded(quantile(costs[tier], share)), 1e-9) for share in sorted(quantiles))
        tau = _rounded(quantile(failed[tier], FAILED_QUANTILE)) if any(failed[tier]) else 0.0
        if not tau:
            tau = grid[-1]
            notes.append(f"{tier}: no failed trial that cost anything, so its threshold is its largest budget")
        fitted[tier] = Budgets(grid_usd=grid, expensive_failure_usd=tau)
    return Profile(name=name, source=source, alpha=alpha, tiers=fitted, notes=tuple(notes))


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile by linear interpolation between order statistics (type 7, the default of numpy)."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def store(profile: Profile, path: Path) -> None:
    """Write a profile with its content hash. An existing file is never replaced, since scores may name it.

    Raises: ScoringError if the file exists or cannot be written.
    """
    content = {"sha256": profile.sha256, **profile.model_dump(mode="json")}
    try:
        with path.open("x", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
    except FileExistsError:
        raise ScoringError(
            f"{path}: there is a file already, and a stored profile never changes; choose another name"
        ) from None
    except OSError as error:
        raise ScoringError(f"{path}: cannot be written: {error.strerror}") from None


def load(path: Path) -> Profile:
    """Read a stored profile.

    Raises: ScoringError, naming the file, if it cannot be read or its hash does not match its content.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it is not a JSON object")
        stored = content.pop("sha256", None)
        profile = Profile.model_validate(content)
    except OSError as error:
        raise ScoringError(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise ScoringError(f"{path}: not a profile: {problem['msg']} ({'.'.join(map(str, problem['loc']))})") from None
    except ValueError as error:
        raise ScoringError(f"{path}: not a profile: {error}") from None
    if stored is not None and stored != profile.sha256:
        raise ScoringError(
            f"{path}: it was changed after it was stored (sha256 {profile.sha256[:12]}, stored as {str(stored)[:12]})"
        )
    return profile


def _rounded(value: float) -> float:
    return round(value, 2) if value >= 0.01 or value <= 0 else float(f"{value:.2g}")
