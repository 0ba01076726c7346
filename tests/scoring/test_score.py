"""Scoring a batch: the report has every figure, every choice, and everything that was left out."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from scoring.agentmeter import ams
from scoring.agentmeter.profiles import AGENTMETER
from scoring.agentmeter.tiers import TIERS
from scoring.errors import ScoringError
from scoring.interventions.facts import InterventionFacts
from scoring.report import Note, Report
from scoring.rows import TrialRow
from scoring.score import score
from tests.scoring.trials import synthetic, trial

TIERS_OF = {f"{tier}-{number}": tier for tier in TIERS for number in range(3)}


def batch() -> list:
    """Return trials of two setups of a model: `good` passes eight tasks at low cost, `dear` half of them at high
    cost."""
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
    assert [row.score.tier for row in report.tiers if row.label == "good"] == list(TIERS)
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


def test_turns_of_an_attempt_are_not_attempts() -> None:
    """Three turns of self-correction, of which the last passed, are a single attempt that passed."""
    rows = [trial("a", directory=f"runs/b/{n}", turn=n, quality=float(n == 3)) for n in (1, 2, 3)]
    (only,) = score(rows).passes
    assert (only.passes.k, only.passes.pass_at_k) == (1, 1)


def test_a_bootstrap_over_few_tasks_has_a_note() -> None:
    """Half of the 95 % intervals over two tasks contain the true mean."""

    def has_note(tasks: int) -> bool:
        report = score([trial(f"t{number}", quality=number / tasks) for number in range(tasks)])
        return report.note("few_tasks") is not None

    assert [has_note(tasks) for tasks in (1, 2, 9, 10)] == [False, True, True, False]


def test_a_headline_has_the_number_of_tasks_without_a_verdict() -> None:
    rows = [trial("a", quality=1.0), trial("b", verdict=None, passed=None, quality=None)]
    figure = score(rows, tasks=["a", "b", "c"]).headlines[0].headline.mean
    assert (figure.value, figure.tasks, figure.trials, figure.missing) == (pytest.approx(1 / 3), 3, 1, 2)


def test_a_mean_of_almost_resolved_attempts_is_almost_resolved() -> None:
    """0.95 + 0.95 + 0.95 is a little less than 2.85."""
    rows = [trial("a", attempt=number, quality=0.95) for number in (1, 2, 3)]
    assert score(rows, attempts="all").headlines[0].headline.almost.value == 1


def test_a_report_can_be_read_from_its_json() -> None:
    report = score(batch(), tiers=TIERS_OF)
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_the_order_of_trials_does_not_matter() -> None:
    rows, tiers = synthetic(3, 12, 2)
    random.Random(0).shuffle(shuffled := list(rows))
    assert score(rows, tiers=tiers, replicates=50) == score(shuffled, tiers=tiers, replicates=50)


def test_notes_name_what_is_left_out_or_unknown() -> None:
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
    as_failed = score(rows, tiers=TIERS_OF, infrastructure="count")
    assert as_failed.note("infrastructure") == Note(
        "1 trial ended by the infrastructure or its evaluator: counted as failed"
    )
    assert as_failed.configurations[0].passed.pass_rate.trials == 9


def test_several_trials_of_a_task_count_by_the_latest_or_all() -> None:
    rows = [
        trial("easy-0", attempt=1, quality=1.0, cost_usd=0.01, finished="2026-11-20T10:00:00Z"),
        trial("easy-0", attempt=2, quality=0.0, cost_usd=0.01, finished="2026-11-20T11:00:00Z"),
    ]
    latest, every = (score(rows, tiers=TIERS_OF, attempts=rule) for rule in ("latest", "all"))
    assert [row.score.success_rate for row in latest.tiers] == [0, 0, 0]
    assert every.tiers[0].score.success_rate == pytest.approx(0.5 / 3)
    assert [(row.passes.k, row.passes.pass_at_k, row.passes.pass_hat_k) for row in latest.passes] == [
        (1, 0.5, 0.5),
        (2, 1, 0),
    ]


def test_a_task_with_fewer_attempts_is_counted_and_the_others_keep_their_pass_at_k() -> None:
    rows = [trial(task, attempt=n, quality=float(n == 1)) for task in ("a", "b", "c") for n in (1, 2)][:-1]
    first, second = (row.passes for row in score(rows).passes)
    assert (first.k, first.tasks, first.missing) == (1, 3, 0)
    assert (second.k, second.pass_at_k, second.pass_hat_k, second.tasks, second.missing) == (2, 1, 0, 2, 1)


def test_without_tiers_there_is_no_ams_and_a_note_has_the_reason() -> None:
    report = score(batch())
    assert (report.configurations[0].ams, report.tiers) == (None, ())
    assert report.notes[0].text == "no AMS: no trial records a tier, and none were given (--tiers calibrate or FILE)"
    assert report.note("no_ams") == report.notes[0]
    part = {task: tier for task, tier in TIERS_OF.items() if task != "easy-0"}
    assert score(batch(), tiers=part).notes[0].text == "no AMS: 1 of 9 tasks are in no tier (easy-0)"


def test_recorded_tiers_are_used() -> None:
    rows = [trial(task, tier=tier, quality=1.0, cost_usd=0.001) for task, tier in TIERS_OF.items()]
    assert score(rows).configurations[0].ams.value == 1  # type: ignore[union-attr]


def test_modes_appear_if_trials_record_them() -> None:
    assert score(batch()).modes == ()
    rows = [trial("a", quality=1.0), trial("a", "planned", mode="plan", quality=1.0, metrics={"f2p_pass": 1.0})]
    assert [(row.mode.mode, row.mode.pass_rate) for row in score(rows).modes] == [("base", None), ("plan", 1)]
    lines = score(rows).interventions
    assert [(row.mode.mode, row.mode.pass_rate) for row in lines] == [("base", 1), ("plan", 1)]


def test_trials_that_were_shown_hidden_tests_are_counted_in_a_note() -> None:
    facts = InterventionFacts(chain_first="t", turns=2, feedback="output", tests_revealed=True)
    rows = [trial("a"), trial("a", "shown", turn=1, interventions=facts)]
    assert [note.text for note in score(rows).notes if note.kind == "revealed"] == [
        "1 trial whose agents were shown hidden tests (--reveal-tests): not in the benchmark's own tables"
    ]


def test_the_table_of_modes_keeps_prompts_apart() -> None:
    def planned(prompt: str | None, sha256: str | None, f2p_pass: float) -> TrialRow:
        facts = {"prompt": prompt, "prompt_sha256": sha256, "metrics": {"f2p_pass": f2p_pass}}
        return trial("a", f"setup {prompt} {sha256}", mode="plan", quality=1.0, **facts)

    rows = [planned("default-2", "0", 1.0), planned("mine.yaml", "2", 0.0), planned("mine.yaml", "1", 1.0)]
    table = {row.prompt: (row.mode.mode, row.mode.pass_rate) for row in score(rows).modes}
    assert table == {"default-2": ("plan", 1), "mine.yaml (1)": ("plan", 1), "mine.yaml (2)": ("plan", 0)}
    assert [row.prompt for row in score([planned(None, None, 1.0)]).modes] == [None]


def test_tables_of_a_family_appear_if_trials_record_their_figures() -> None:
    plain = score(batch())
    assert (plain.longcli, plain.suites) == ((), ())
    rows = [
        trial("a", turn=number, quality=0.5, metrics={"f2p_step": step, "p2p_step": 1.0}, directory=f"runs/b/{number}")
        for number, step in ((1, 0.2), (2, 0.9))
    ]
    (table,) = score(rows).longcli
    assert (table.f2p_steps["[0, 0.3)"], [state.step for state in table.turns]) == (1, [0.6, 0.95])
    assert table.differences[0].step == pytest.approx(0.35)
    built = trial("a", metrics={"build": 1.0, "exec": 0.5}, facts={"language": "go"})
    (suite,) = score([built]).suites
    assert [(line.group, line.figures["exec"].mean) for line in suite.lines] == [("all", 0.5), ("go", 0.5)]


def test_invalid_choices_are_rejected() -> None:
    with pytest.raises(ScoringError, match="easy-0: unknown tier 'extreme'"):
        score(batch(), tiers=TIERS_OF | {"easy-0": "extreme"})
    with pytest.raises(ScoringError, match="no configuration 'x' to compare with: there are 'good', 'dear'"):
        score(batch(), tiers=TIERS_OF, against="x")
    assert score(batch(), tiers=TIERS_OF, against="dear").comparisons[0].label == "good"
    with pytest.raises(ScoringError, match="0 bootstrap replicates"):
        score(batch(), tiers=TIERS_OF, replicates=0)


def test_the_report_has_the_ams_of_the_formula() -> None:
    rows, tiers = synthetic(2, 30, 1)
    for configuration in score(rows, tiers=tiers, replicates=50).configurations:
        outcomes = ams.outcomes_of([row for row in rows if row.setup == configuration.setup])
        assert configuration.ams is not None
        assert configuration.ams.value == ams.score(outcomes, tiers, AGENTMETER).ams


def test_one_trial_is_scored_without_numpy_and_scipy() -> None:
    """Their import takes longer than all the rest."""
    program = (
        "import sys\nfrom scoring.score import score\nfrom tests.scoring.trials import trial\n"
        "score([trial('a', quality=1.0, cost_usd=0.1)])\n"
        "print([name for name in ('numpy', 'scipy', 'litellm', 'docker') if name in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"
