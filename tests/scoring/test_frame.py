"""One row a trial for pandas users."""

from __future__ import annotations

import scoring
from tests.scoring.trials import trial
from trajectories.record.usage import Usage
from trajectories.record.verdict import GroupScore


def test_a_frame_has_a_row_a_trial_and_keeps_what_is_unknown() -> None:
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


def test_columns_have_the_same_types_whatever_is_known() -> None:
    """A batch of unknown costs had a column of no type, one of whole dollars a column of integers."""
    known = trial("a", quality=1.0, cost_usd=1, wall_s=2.5, tier="easy", turn=1)
    unknown = trial("b", verdict=None, passed=None, quality=None, exit_reason=None, wall_s=3)
    one, other = (scoring.trials_frame([row]).dtypes.to_dict() for row in (known, unknown))
    assert one == other
    assert (str(one["cost_usd"]), str(one["tier"]), str(one["attempt"])) == ("float64", "string", "Int64")


def test_a_column_that_is_unknown_everywhere_has_the_type_that_it_has_elsewhere() -> None:
    known = scoring.trials_frame([trial("a", quality=1.0, cost_usd=0.5, usage=Usage(input=3, output=4), turn=2)])
    unknown = scoring.trials_frame([trial("a", verdict=None, passed=None, quality=None, cost_usd=None)])
    for name in ("cost_usd", "quality", "passed", "turn", "tokens", "usage_output"):
        assert unknown[name].dtype == known[name].dtype, name
    assert unknown["billed_usd"].sum() == 0
