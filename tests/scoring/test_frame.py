"""One row per trial for pandas users."""

from __future__ import annotations

import scoring
from tests.scoring.trials import trial
from trajectories.record.usage import Usage
from trajectories.record.verdict import GroupScore


def test_a_frame_has_one_row_per_trial_and_keeps_unknown_values() -> None:
    frame = scoring.trials_frame(
        [
            trial("a", quality=1.0, cost_usd=0.5, usage=Usage(input=3, output=4), metrics={"em": 0.5}, turn=2),
            trial("b", verdict=None, passed=None, quality=None, groups={"g": GroupScore(passed=1, total=2)}),
        ]
    )
    assert list(frame["task"]) == ["a", "b"]
    assert frame["tokens"].isna().tolist() == [False, True]
    assert (frame["tokens"][0], frame["usage_output"][0], frame["turn"][0]) == (7, 4, 2)
    assert str(frame["turn"].dtype) == "Int64"
    assert str(frame["passed"].dtype) == "boolean"
    assert frame["cost_usd"].isna().tolist() == [False, True]
    assert (frame["metric_em"][0], frame["group_g_total"][1]) == (0.5, 2)
    assert frame["completed"].tolist() == [True, True]


def test_the_types_of_columns_do_not_depend_on_known_values() -> None:
    """A batch of unknown costs once had an untyped column, and a batch of whole dollars a column of integers."""
    complete = trial("a", quality=1.0, cost_usd=1, wall_s=2.5, tier="easy", turn=1)
    unknown = trial("b", verdict=None, passed=None, quality=None, exit_reason=None, wall_s=3)
    first, second = (scoring.trials_frame([row]).dtypes.to_dict() for row in (complete, unknown))
    assert first == second
    assert (str(first["cost_usd"]), str(first["tier"]), str(first["attempt"])) == ("float64", "string", "Int64")


def test_a_column_without_known_values_has_its_usual_type() -> None:
    complete = scoring.trials_frame([trial("a", quality=1.0, cost_usd=0.5, usage=Usage(input=3, output=4), turn=2)])
    unknown = scoring.trials_frame([trial("a", verdict=None, passed=None, quality=None, cost_usd=None)])
    for name in ("cost_usd", "quality", "passed", "turn", "tokens", "usage_output"):
        assert unknown[name].dtype == complete[name].dtype, name
    assert unknown["billed_usd"].sum() == 0
