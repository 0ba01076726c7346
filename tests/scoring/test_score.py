"""A whole batch: the report says every figure, every choice, and whatever was left out."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from scoring.agentmeter import ams
from scoring.agentmeter.profiles import AGENTMETER
from scoring.agentmeter.tiers import TIERS
from scoring.errors import ScoringError
from scoring.report import Note, Report
from scoring.score import score
from tests.scoring.trials import synthetic, trial

TIERS_OF = {f"{tier}-{number}": tier for tier in TIERS for number in range(3)}


def batch() -> list:
    """Two setups of one model: `good` passes all but one task for little, `dear` half of them for much."""
    rows = [trial(task, "good", quality=1.0, cost_usd=0.01, wall_s=10.0) for task in TIERS_OF if task != "hard-2"]
    rows += [
        trial(task, "dear", quality=float(number % 2), cost_usd=3.0, wall_s=90.0)
        for number, task in enumerate(sorted(TIERS_OF))
    ]
    return rows


def test_a_report_by_hand() -> None:
    report = score(batch(), tiers=TIERS_OF, cost="computed")
    good, dear = report.configurations
    assert (good.label, good.trials, good.tasks, good.missing_tasks) == ("good", 8, 8, 1)
    assert good.ams is not None
    full = 0.6 + 0.4
    assert good.ams.value == pytest.approx((full + full + full * 2 / 3) / 3)
    assert (good.ams.tasks, good.ams.missing, good.ams.trials) == (9, 1, 8)
    assert (good.gap, dear.ams is not None and dear.gap) == (0, pytest.approx(good.ams.value - dear.ams.value))  # type: ignore[union-attr]
    assert (good.pareto, dear.pareto) == (True, False)
    assert (good.passed.passes, good.passed.usd_per_pass) == (8, pytest.approx(0.01))
    assert [one.score.tier for one in report.tiers if one.label == "good"] == list(TIERS)
    headline = report.headlines[0].headline
    assert (headline.resolved.value, headline.mean.tasks, headline.mean.missing) == (pytest.approx(8 / 9), 9, 1)
    (compared,) = report.comparisons
    assert (compared.label, compared.against_label, compared.quality.tasks, compared.quality.missing) == (
        "dear",
        "good",
        8,
        1,
    )
    assert compared.quality.value == pytest.approx(-5 / 8)
    assert [note.text.split(":")[0] for note in report.notes] == ["bootstrap over few tasks (8)"]
    assert report.profile_sha256 == AGENTMETER.sha256


def test_turns_of_an_attempt_are_no_attempts() -> None:
    """Three turns of self-correction, the last of which passed: one attempt that passed."""
    rows = [trial("a", directory=f"runs/b/{n}", turn=n, quality=float(n == 3)) for n in (1, 2, 3)]
    (only,) = score(rows).passes
    assert (only.passes.k, only.passes.pass_at_k) == (1, 1)


def test_few_tasks_are_said_to_be_few() -> None:
    """Of intervals over two tasks that are said to be of 95 %, half hold the true mean."""

    def said(tasks: int) -> bool:
        report = score([trial(f"t{number}", quality=number / tasks) for number in range(tasks)])
        return report.note("few_tasks") is not None

    assert [said(tasks) for tasks in (1, 2, 9, 10)] == [False, True, True, False]


def test_a_headline_says_how_many_of_its_tasks_have_no_verdict() -> None:
    rows = [trial("a", quality=1.0), trial("b", verdict=None, passed=None, quality=None)]
    found = score(rows, tasks=["a", "b", "c"]).headlines[0].headline.mean
    assert (found.value, found.tasks, found.trials, found.missing) == (pytest.approx(1 / 3), 3, 1, 2)


def test_the_mean_of_attempts_that_are_almost_resolved_is() -> None:
    """0.95 + 0.95 + 0.95 is a little less than 2.85."""
    rows = [trial("a", attempt=number, quality=0.95) for number in (1, 2, 3)]
    assert score(rows, attempts="all").headlines[0].headline.almost.value == 1


def test_it_is_json_and_comes_back() -> None:
    report = score(batch(), tiers=TIERS_OF)
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_the_order_of_trials_does_not_matter() -> None:
    rows, tiers = synthetic(3, 12, 2)
    random.Random(0).shuffle(shuffled := list(rows))
    assert score(rows, tiers=tiers, replicates=50) == score(shuffled, tiers=tiers, replicates=50)


def test_what_is_left_out_or_unknown_is_said() -> None:
    rows = [
        *batch(),
        trial("easy-0", "good", attempt=2, exit_reason="infrastructure", exit_cause="model_unavailable"),
        trial("easy-1", "good", attempt=2, exit_reason=None, exit_cause=None),
        trial("hard-2", "good", verdict=None, passed=None, quality=None, cost_usd=None),
        trial("easy-0", "never", exit_reason="user", exit_cause="interrupted"),
    ]
    report = score(rows, tiers=TIERS_OF)
    assert tuple(note.text for note in report.notes[:-1]) == (
        "1 trial ended by the infrastructure or its evaluator: left out",
        "2 trials not finished (running, crashed or interrupted): left out",
        "1 trial without a verdict: no part of rates and means, 0 in AMS and headlines",
        "1 trial of unknown cost (p/m): within no budget, totals unknown",
        "no trial that counts, so no line in the tables: never",
    )
    good = report.configurations[0]
    assert (good.infrastructure, good.unfinished, good.unjudged, good.passed.usd.value) == (1, 1, 1, None)
    assert not good.pareto, "its cost is unknown"
    counted = score(rows, tiers=TIERS_OF, infrastructure="count")
    assert counted.note("infrastructure") == Note(
        "1 trial ended by the infrastructure or its evaluator: counted as failed"
    )
    assert counted.configurations[0].passed.pass_rate.trials == 9


def test_the_latest_of_several_trials_or_all_of_them() -> None:
    rows = [
        trial("easy-0", attempt=1, quality=1.0, cost_usd=0.01, finished="2026-11-20T10:00:00Z"),
        trial("easy-0", attempt=2, quality=0.0, cost_usd=0.01, finished="2026-11-20T11:00:00Z"),
    ]
    latest, every = (score(rows, tiers=TIERS_OF, attempts=how) for how in ("latest", "all"))
    assert [one.score.success_rate for one in latest.tiers] == [0, 0, 0]
    assert every.tiers[0].score.success_rate == pytest.approx(0.5 / 3)
    assert [(one.passes.k, one.passes.pass_at_k, one.passes.pass_hat_k) for one in latest.passes] == [
        (1, 0.5, 0.5),
        (2, 1, 0),
    ]


def test_a_task_with_fewer_attempts_is_counted_and_the_others_keep_their_pass_at_k() -> None:
    rows = [trial(task, attempt=n, quality=float(n == 1)) for task in ("a", "b", "c") for n in (1, 2)][:-1]
    one, two = (row.passes for row in score(rows).passes)
    assert (one.k, one.tasks, one.missing) == (1, 3, 0)
    assert (two.k, two.pass_at_k, two.pass_hat_k, two.tasks, two.missing) == (2, 1, 0, 2, 1)


def test_without_tiers_there_is_no_ams_and_it_says_so() -> None:
    report = score(batch())
    assert (report.configurations[0].ams, report.tiers) == (None, ())
    assert report.notes[0].text == "no AMS: no trial records a tier, and none were given (--tiers calibrate or FILE)"
    assert report.note("no_ams") == report.notes[0]
    part = {task: tier for task, tier in TIERS_OF.items() if task != "easy-0"}
    assert score(batch(), tiers=part).notes[0].text == "no AMS: 1 of 9 tasks are in no tier (easy-0)"


def test_recorded_tiers_are_used() -> None:
    rows = [trial(task, tier=tier, quality=1.0, cost_usd=0.001) for task, tier in TIERS_OF.items()]
    assert score(rows).configurations[0].ams.value == 1  # type: ignore[union-attr]


def test_modes_appear_where_trials_record_them() -> None:
    assert score(batch()).modes == ()
    rows = [trial("a", quality=1.0), trial("a", "planned", plan=True, quality=1.0, metrics={"f2p_pass": 1.0})]
    assert [(one.mode.mode, one.mode.pass_rate) for one in score(rows).modes] == [("base", None), ("plan", 1)]


def test_a_benchmarks_own_tables_appear_where_trials_say_what_they_need() -> None:
    plain = score(batch())
    assert (plain.longcli, plain.suites) == ((), ())
    rows = [
        trial("a", turn=number, quality=0.5, metrics={"f2p_step": step, "p2p_step": 1.0}, directory=f"runs/b/{number}")
        for number, step in ((1, 0.2), (2, 0.9))
    ]
    (found,) = score(rows).longcli
    assert (found.f2p_steps["[0, 0.3)"], [one.step for one in found.turns]) == (1, [0.6, 0.95])
    assert found.differences[0].step == pytest.approx(0.35)
    built = trial("a", metrics={"build": 1.0, "exec": 0.5}, facts={"language": "go"})
    (suite,) = score([built]).suites
    assert [(line.group, line.figures["exec"].mean) for line in suite.lines] == [("all", 0.5), ("go", 0.5)]


def test_bad_choices_are_refused() -> None:
    with pytest.raises(ScoringError, match="easy-0: unknown tier 'extreme'"):
        score(batch(), tiers=TIERS_OF | {"easy-0": "extreme"})
    with pytest.raises(ScoringError, match="no configuration 'x' to compare with: there are 'good', 'dear'"):
        score(batch(), tiers=TIERS_OF, against="x")
    assert score(batch(), tiers=TIERS_OF, against="dear").comparisons[0].label == "good"
    with pytest.raises(ScoringError, match="0 bootstrap replicates"):
        score(batch(), tiers=TIERS_OF, replicates=0)


def test_the_report_says_the_ams_that_the_formula_gives() -> None:
    rows, tiers = synthetic(2, 30, 1)
    for one in score(rows, tiers=tiers, replicates=50).configurations:
        outcomes = ams.outcomes_of([row for row in rows if row.setup == one.setup])
        assert one.ams is not None
        assert one.ams.value == ams.score(outcomes, tiers, AGENTMETER).ams


def test_one_trial_is_scored_without_numpy_and_scipy() -> None:
    """They take longer to import than everything else together."""
    program = (
        "import sys\nfrom scoring.score import score\nfrom tests.scoring.trials import trial\n"
        "score([trial('a', quality=1.0, cost_usd=0.1)])\n"
        "print([name for name in ('numpy', 'scipy', 'litellm', 'docker') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
