"""Profiles: the profile of the paper, fitted ones, and their files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from scoring.agentmeter.profiles import AGENTMETER, Budgets, fit, load, quantile, store
from scoring.agentmeter.tiers import TIERS
from scoring.errors import ScoringError
from tests.scoring.trials import trial


def pool(**fields: object) -> list:
    return [
        trial(f"{tier}-{number}", cost_usd=(number + 1) / 100 * scale, quality=float(number % 2), **fields)
        for tier, scale in zip(TIERS, (1, 10, 100), strict=True)
        for number in range(10)
    ]


TIERS_OF = {f"{tier}-{number}": tier for tier in TIERS for number in range(10)}


def test_a_fitted_profile_has_rounded_quantiles_and_the_p90_of_failed_costs() -> None:
    profile = fit(pool(), TIERS_OF, name="mine", source="here")
    hard = profile.tiers["hard"]
    assert hard.grid_usd == (1.9, 3.25, 5.5, 7.75, 9.1)
    assert hard.expensive_failure_usd == 8.2  # failed: 1, 3, 5, 7, 9
    assert profile.tiers["easy"].grid_usd == (0.02, 0.03, 0.06, 0.08, 0.09)


def test_costs_below_a_cent_keep_two_digits() -> None:
    rows = [trial(task, cost_usd=0.000123456) for task in TIERS_OF]
    assert fit(rows, TIERS_OF, name="mine", source="here").tiers["easy"].grid_usd == (0.00012,) * 5


def test_the_notes_of_a_fitted_profile_name_missing_costs_and_failures() -> None:
    rows = [trial(task, cost_usd=0.5, quality=1.0) for task in TIERS_OF] + [trial("easy-0", attempt=2, cost_usd=None)]
    profile = fit(rows, TIERS_OF, name="mine", source="here")
    assert profile.notes[0] == "fitted without 1 trial of unknown cost"
    assert profile.notes[1].startswith("easy: no failed trial that cost anything")
    assert profile.tiers["easy"].expensive_failure_usd == 0.5


def test_a_tier_without_costs_cannot_be_fitted() -> None:
    with pytest.raises(ScoringError, match="the tier hard has no trial that cost anything"):
        fit([row for row in pool() if not row.task.startswith("hard")], TIERS_OF, name="mine", source="here")


def test_a_stored_profile_is_never_replaced_and_a_change_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    store(AGENTMETER, path)
    assert load(path) == AGENTMETER
    with pytest.raises(ScoringError, match="there is a file already"):
        store(AGENTMETER, path)
    content = json.loads(path.read_text())
    content["tiers"]["easy"]["grid_usd"][0] = 0.02
    path.write_text(json.dumps(content))
    with pytest.raises(ScoringError, match="was changed after it was stored"):
        load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a profile"),
        ("[]", "not a profile"),
        ('{"name": "x", "source": "y", "tiers": {}}', "budgets for easy"),
    ],
)
def test_a_file_that_is_not_a_profile_is_rejected_by_name(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(content)
    with pytest.raises(ScoringError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("grid", [(), (0.0, 1.0), (2.0, 1.0), (float("nan"),), (float("inf"),)])
def test_a_grid_must_rise_from_above_0(grid: tuple[float, ...]) -> None:
    with pytest.raises(ValidationError):
        Budgets(grid_usd=grid, expensive_failure_usd=1)


def test_the_hash_covers_only_what_scores_depend_on() -> None:
    assert AGENTMETER.model_copy(update={"name": "other", "source": "x"}).sha256 == AGENTMETER.sha256
    assert AGENTMETER.model_copy(update={"alpha": 0.5}).sha256 != AGENTMETER.sha256
    assert AGENTMETER.scaled(1).sha256 == AGENTMETER.sha256 != AGENTMETER.scaled(6.77).sha256


def test_quantiles_interpolate_like_numpy() -> None:
    import numpy as np

    values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]
    for share in (0, 0.1, 0.25, 0.5, 0.9, 1):
        assert quantile(values, share) == pytest.approx(np.quantile(values, share))
