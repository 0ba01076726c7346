"""The sample tasks of LongCLI-Bench, judged in containers: solved, untouched, partly solved, and with tricks."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.task.submission import Archive
from benchmarks.terminalbench.adapter import TerminalBench
from tests.families.terminalbench_samples import LONGCLI, loaded, on_files, oracle, varied, verdict_on, worked

pytestmark = pytest.mark.docker


@pytest.mark.parametrize("id", ["tally", "greet", "interpreter"])
def test_the_oracle_solves_a_task_of_longcli_bench(id: str, tmp_path: Path) -> None:
    task = loaded(LONGCLI / id)
    with worked(task, *oracle(task)) as (environment, _):
        hidden = environment.execute(
            "ls -a / /app; find / -xdev -name f2p.py -o -xdev -name score_utils.py", deadline_s=60
        )
        environment.export(tmp_path / "workspace.tar.zst")
    verdict = verdict_on(task, Archive(tmp_path / "workspace.tar.zst"), tmp_path)
    assert (verdict.passed, verdict.quality, verdict.status) == (True, 1.0, "scored"), verdict
    assert verdict.metrics["f2p_pass"] == verdict.metrics["f2p_step"] == verdict.metrics["resolved_by_step"] == 1.0
    assert ("p2p_pass" in verdict.metrics) == (id != "interpreter")
    assert (verdict.result, verdict.submission, verdict.comparable) == ("workspace", "archive", True)
    assert verdict.processes_kept is False
    assert verdict.exposed
    listed = hidden.output.decode().split()
    assert "INSTRUCTION.md" in listed
    assert not {"tests", "test_output", "/tests/f2p.py"} & set(listed)
    assert not any("f2p.py" in path for path in listed)


@pytest.mark.parametrize(
    ("id", "metrics", "quality"),
    [
        ("tally", {"f2p_pass": 0, "f2p_step": 0, "p2p_pass": 1, "p2p_step": 1}, 0.5),
        ("greet", {"f2p_pass": 0, "f2p_step": 0.25, "p2p_pass": 1, "p2p_step": 1}, 0.625),  # a skipped test passes
        ("interpreter", {"f2p_pass": 0, "f2p_step": 0}, 0.0),
    ],
)
def test_the_untouched_start_fails_f2p_and_passes_p2p(
    id: str, metrics: dict[str, float], quality: float, tmp_path: Path
) -> None:
    verdict = on_files(loaded(LONGCLI / id), tmp_path)
    assert (verdict.passed, verdict.quality) == (False, quality), verdict
    assert verdict.metrics == {**metrics, "resolved_by_step": 0.0}


def test_a_partial_solution_lies_between_and_a_worse_one_below_zero(tmp_path: Path) -> None:
    task = loaded(LONGCLI / "tally")
    words = '#!/bin/bash\nif [ "$1" = -w ]; then wc -w <"$2"; else wc -l <"$1"; fi | tr -d " "\n'
    partial = on_files(task, tmp_path / "partial", {"tally/tally.sh": words})
    assert (partial.passed, partial.metrics["f2p_step"], partial.quality) == (False, 0.375, 0.6875)
    worse = on_files(task, tmp_path / "worse", {"tally/tally.sh": "#!\nexit 1\n", "tally/LICENSE": "mine now\n"})
    assert (worse.passed, worse.metrics["f2p_step"]) == (False, -0.25)
    assert (worse.metrics["p2p_step"], worse.quality) == (0.667, pytest.approx(0.3335))
    assert worse.groups["F2P"].passed == 0
    failed = [case.id for case in worse.cases if case.status == "failed"]
    assert any("test_file_unchanged[LICENSE-" in id for id in failed), failed


def test_a_grader_that_the_submission_crashes_is_a_zero_with_a_note(tmp_path: Path) -> None:
    verdict = on_files(loaded(LONGCLI / "interpreter"), tmp_path, {"calc/calc.py": "print('crash')\n"})
    assert (verdict.status, verdict.passed, verdict.cause) == ("scored", False, None)
    assert (verdict.metrics["f2p_pass"], verdict.metrics["f2p_step"]) == (0.0, 0.0)
    assert any("f2p_score.json is missing" in note for note in verdict.notes)


FULL = '{"is_pass": 1, "step_score": 1.0}'
PLANTED = {
    "test_output/f2p_score.json": FULL,
    "test_output/f2p_output.txt": "Score:\n  Total: 4.0\n",
    "test_output/metrics.json": '{"f2p_is_pass": 1, "f2p_step_score": 1.0}',
}


def test_planted_results_do_not_count_and_a_suite_without_results_is_an_error(tmp_path: Path) -> None:
    broken = varied(LONGCLI / "interpreter", tmp_path, {"run-tests.sh": "ls test_output; nosuchprogram\n"})
    verdict = on_files(loaded(broken), tmp_path / "planted", PLANTED)
    assert (verdict.status, verdict.cause, verdict.passed) == ("error", "evaluator", None)
    assert "; with the task's own solution: " in verdict.error
    assert "nosuchprogram: command not found" in verdict.error
    assert "score" not in (tmp_path / "planted/evaluation/tests.log").read_text()


def test_a_submission_that_keeps_its_tests_from_any_result_scores_zero(tmp_path: Path) -> None:
    script = "test ! -e calc/stop || exit 0\nbash /tests/run-again.sh\n"
    again = (LONGCLI / "interpreter/run-tests.sh").read_text()
    task = varied(LONGCLI / "interpreter", tmp_path, {"run-tests.sh": script, "tests/run-again.sh": again})
    verdict = on_files(loaded(task), tmp_path / "stopped", {"calc/stop": ""})
    assert (verdict.status, verdict.passed, verdict.quality, verdict.cause) == ("scored", False, 0.0, "result")
    assert verdict.metrics == {"f2p_pass": 0.0, "f2p_step": 0.0}
    assert [case.status for case in verdict.cases] == ["missing"]


def test_tests_that_take_too_long_are_ended_after_a_time_with_a_multiplier(tmp_path: Path) -> None:
    settings = (
        (LONGCLI / "interpreter/task.yaml").read_text().replace("max_test_timeout_sec: 60", "max_test_timeout_sec: 1")
    )
    script = "sleep 1.5\n" + (LONGCLI / "interpreter/run-tests.sh").read_text()
    task = varied(LONGCLI / "interpreter", tmp_path, {"run-tests.sh": script, "task.yaml": settings})
    verdict = on_files(loaded(task), tmp_path / "once")
    assert (verdict.status, verdict.cause) == ("error", "evaluator"), "too slow for any submission"
    assert "not finished after 1 s; with the task's own solution: the tests had not finished" in verdict.error
    patient = on_files(loaded(task, timeout_multiplier=20.0), tmp_path / "patient")
    assert (patient.status, patient.cause, patient.comparable) == ("scored", None, False)
    assert patient.evaluator.inputs["test_time_limit_s"] == "20"


def test_an_overlay_mends_a_task_and_is_recorded(tmp_path: Path) -> None:
    overlay = tmp_path / "overlay"
    (overlay / "tests").mkdir(parents=True)
    (overlay / "calc").mkdir()
    (overlay / "tests/ok.py").write_text("print('Total: 4.0', open('more.txt').read())\n")
    (overlay / "calc/more.txt").write_text("from the overlay")
    task = loaded(LONGCLI / "interpreter", overlay=overlay)
    with worked(task) as (environment, _):
        assert environment.execute("cat calc/more.txt", deadline_s=9).output == b"from the overlay"
        environment.export(tmp_path / "workspace.tar.zst")
    verdict = verdict_on(task, Archive(tmp_path / "workspace.tar.zst"), tmp_path)
    assert (verdict.passed, verdict.comparable) == (True, False)
    assert len(verdict.evaluator.inputs["overlay"]) == 64
    assert any("overlay" in note for note in verdict.notes)
    assert task.digest != loaded(LONGCLI / "interpreter").digest


def test_feedback_names_the_outputs_of_both_sets(tmp_path: Path) -> None:
    task = loaded(LONGCLI / "tally")
    verdict = on_files(task, tmp_path)
    adapter = TerminalBench("sample", LONGCLI)
    assert task.feedback[0] == "paths"
    paths = adapter.feedback(task, verdict, tmp_path / "evaluation", "paths")
    assert (paths.text, set(paths.files)) == ("", {"f2p_output.txt", "p2p_output.txt"})
    assert b"Score: 2/10" in paths.files["f2p_output.txt"]
    inline = adapter.feedback(task, verdict, tmp_path / "evaluation", "output")
    assert "<<BEGIN_F2P>>\ntally : OK (2)" in inline.text
    assert "<<END_P2P>>" in inline.text
    (tmp_path / "evaluation/f2p_output.txt").unlink()
    inline = adapter.feedback(task, verdict, tmp_path / "evaluation", "output")
    assert "<<BEGIN_F2P>>\n<no f2p output captured>\n<<END_F2P>>" in inline.text
    assert "F2P: 0 of 1" in adapter.feedback(task, verdict, tmp_path / "evaluation", "scores").text


def test_a_link_in_place_of_the_results_is_replaced(tmp_path: Path) -> None:
    task = loaded(LONGCLI / "tally")
    with worked(task, "mkdir /etc/planted; ln -s /etc test_output; ln -s /tests/f2p.py tally/grade.sh") as (place, _):
        place.export(tmp_path / "workspace.tar.zst")
    verdict = verdict_on(task, Archive(tmp_path / "workspace.tar.zst"), tmp_path)
    assert (verdict.status, verdict.passed) == ("scored", False)
    # cp writes the grader through the agent's link over f2p.py, as it does for the authors: only the agent loses
    assert verdict.metrics["p2p_step"] == 1.0
    assert verdict.metrics["f2p_pass"] == 0.0
