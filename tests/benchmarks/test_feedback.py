"""Feedback on a verdict: its forms, what it never holds, and which form a task allows."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agent.errors import UserError
from agent.trial.turns.feedback_forms import check_form, reveals_tests
from benchmarks.judging import feedback as judging_feedback
from benchmarks.judging.feedback import FILE_BYTES, bounded, log
from benchmarks.task.adhoc import adhoc_task
from benchmarks.task.feedback import FORMS, FeedbackContent, FeedbackError
from benchmarks.task.registry import resolve_task
from benchmarks.task.task import TaskError
from tests.benchmarks.work import PASSES, SOLUTION, Maker, judged_task
from trajectories.record.events import FeedbackForm
from trajectories.record.verdict import Case, CaseStatus, Evaluator, Verdict, VerdictCause

CASES = (
    ("z_group", "t_one", "passed", ""),
    ("z_group", "t_two", "failed", "E  1 != 2"),
    ("a_group", "t_x", "error", ""),
)


def verdict(cases: tuple[tuple[str, str, CaseStatus, str], ...] = CASES, cause: VerdictCause | None = None) -> Verdict:
    return Verdict(
        status="scored",
        passed=False,
        quality=0.0,
        cases=tuple(
            Case(id=f"{group}/{name}", group=group, status=status, message=message)
            for group, name, status, message in cases
        ),
        evaluator=Evaluator(name="e", version="1"),
        isolation="none",
        cause=cause,
    )


def made(form: FeedbackForm, on: Verdict | None = None, *, names: bool = True) -> FeedbackContent:
    return judging_feedback.feedback(
        on or verdict(), form, names=names, tests_log=b"F.\nt_two failed\n", build_log=b"built\n"
    )


def whole(content: FeedbackContent) -> str:
    """Return everything that an agent sees."""
    return "\n".join((content.text, *content.files, *(data.decode() for data in content.files.values())))


def test_each_form_shows_its_part_of_the_result_whole_in_a_file() -> None:
    output, failing, scores, paths = (made(form) for form in FORMS)
    assert (output.text, output.whole, list(output.files)) == (
        "F.\nt_two failed",
        "tests.log",
        ["tests.log", "build.log"],
    )
    assert failing.text == "1 of 3 tests passed\n\nfailed: z_group/t_two\n    E  1 != 2\n\nerror: a_group/t_x"
    assert scores.text == "z_group: 1 of 2 tests passed\na_group: 0 of 1 tests passed\nall: 1 of 3 tests passed"
    assert (paths.text, paths.whole, paths.files) == ("", "", output.files)
    for content in (output, failing, scores):
        assert content.files[content.whole].decode().strip() == content.text


def test_scores_without_names_number_the_groups_in_an_order_that_stays() -> None:
    content = made("scores", names=False)
    assert content.text == "group 1: 0 of 1 tests passed\ngroup 2: 1 of 2 tests passed\nall: 1 of 3 tests passed"
    assert made("scores", verdict(CASES[::-1]), names=False).text == content.text
    assert not any(word in whole(content) for word in ("a_group", "z_group", "t_one", "t_two", "1 != 2"))


def test_a_message_cannot_look_like_another_case() -> None:
    forged = verdict((("g", "a\nb", "failed", "no\nfailed: g/c\r\nall: 9 of 9 tests passed"),))
    assert made("failing", forged).text.splitlines()[2:] == [
        "failed: g/a b",
        "    no",
        "    failed: g/c",
        "    all: 9 of 9 tests passed",
    ]


@pytest.mark.parametrize("form", FORMS)
def test_a_build_that_failed_is_fed_back_with_its_output_and_no_test(form: FeedbackForm) -> None:
    content = made(form, verdict(cause="build"), names=False)
    assert content.text == "The build failed, so no test ran.\n\nOutput of the build:\n\nbuilt"
    assert list(content.files) == ["cause.txt", "build.log"]
    assert not any(word in whole(content) for word in ("t_one", "t_two", "a_group"))


@pytest.mark.parametrize("cause", ["unpacking", "time", "output", "memory", "disk", "processes", "program", "result"])
def test_every_fault_of_a_submission_has_a_sentence(cause: VerdictCause) -> None:
    content = made("output", verdict(cause=cause))
    assert content.text.endswith("The output of the build is in build.log.")
    assert "t_two" not in whole(content)


@pytest.mark.parametrize("form", FORMS)
def test_an_evaluator_that_failed_has_no_feedback(form: FeedbackForm) -> None:
    failed = Verdict(
        status="error", cause="host", evaluator=Evaluator(name="e", version="1"), isolation="none", error="disk is full"
    )
    with pytest.raises(FeedbackError, match="the evaluator failed: disk is full"):
        made(form, failed)


def test_a_log_that_is_gone_is_an_error_only_where_it_is_shown() -> None:
    def without_log(form: FeedbackForm) -> FeedbackContent:
        return judging_feedback.feedback(verdict(), form, names=True, tests_log=None, build_log=None)

    for form in ("output", "paths"):
        with pytest.raises(FeedbackError, match="evaluate the turn again"):
            without_log(form)
    assert list(without_log("failing").files) == ["failing.txt"]


def test_logs_are_masked_and_bounded_also_where_they_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "k3y-" + "0123456789" * 4
    monkeypatch.setenv("SOME_API_KEY", secret)
    half = FILE_BYTES // 2
    for size in (100, FILE_BYTES, FILE_BYTES + 1000):
        data = bytearray(b"x" * size)
        data[10 : 10 + len(secret)] = secret.encode()
        if size > FILE_BYTES:
            data[half - 20 : half - 20 + len(secret)] = secret.encode()
            data[-half - 20 : -half - 20 + len(secret)] = secret.encode()
        path = tmp_path / "a.log"
        path.write_bytes(data)
        for kept in (log(path), bounded(bytes(data))):
            assert kept is not None
            assert b"0123456789" not in kept
            assert b"[secret:SOME_API_KEY]" in kept
            assert len(kept) <= FILE_BYTES + 200
            assert (b"[... 1000 bytes left out here ...]" in kept) == (size > FILE_BYTES)


def test_only_a_plain_file_is_a_log(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"outside")
    (tmp_path / "link").symlink_to("target")
    os.mkfifo(tmp_path / "pipe")
    assert [log(tmp_path / name) for name in ("link", "pipe", "missing", "target")] == [None, None, None, b"outside"]


def test_the_text_can_be_sent_whatever_a_submission_prints() -> None:
    content = judging_feedback.feedback(
        verdict(), "output", names=True, tests_log=b"\x1b[2J\0\xff\xed\xa0\x80", build_log=None
    )
    assert "\0" not in content.text
    content.text.encode()


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    return Maker(tmp_path)


@pytest.mark.parametrize(
    ("evaluation", "allowed"),
    [
        ("", FORMS),
        ("feedback: [paths, scores]", ("paths", "scores")),
        ("feedback: []", ()),
    ],
)
def test_a_task_directory_lists_the_forms_that_it_allows(
    make: Maker, evaluation: str, allowed: tuple[FeedbackForm, ...]
) -> None:
    task = make(evaluation=evaluation)
    assert task.feedback == allowed
    assert sorted((*task.feedback, *task.feedback_revealing)) == sorted(FORMS)


@pytest.mark.parametrize("forms", ["[all]", "[scores, scores]"])
def test_a_form_that_is_unknown_or_listed_twice_is_an_error(make: Maker, forms: str) -> None:
    with pytest.raises(TaskError, match=r"evaluation.*feedback"):
        make(evaluation=f"feedback: {forms}")


def test_tests_of_a_program_to_rebuild_stay_hidden() -> None:
    for name, forms in (("cronwhen", FORMS), ("ledger", FORMS), ("spans", ("scores",)), ("figlet", ("scores",))):
        assert resolve_task(f"demo/{name}")[1].feedback == forms


def test_programbench_shows_numbers_only_unless_its_tests_are_revealed(tmp_path: Path) -> None:
    adapter, task = resolve_task("cmatrix")
    assert (task.feedback, task.feedback_revealing) == (("scores",), ("output", "failing", "paths"))
    result = {
        "test_results": [],
        "log": [
            {"step": "compile", "output": "cc"},
            {"step": "run_tests", "branch": "79b69dd3fd98", "output": "test_a FAILED"},
        ],
    }
    (tmp_path / f"{task.id.partition('/')[2]}.eval.json").write_text(json.dumps(result))
    (tmp_path / "compile.log").write_text("warning: unused")
    hidden = adapter.feedback(task, verdict(), tmp_path, "scores")
    assert hidden.text.startswith("group 1: ")
    assert list(hidden.files) == ["scores.txt", "build.log"]
    assert not any(word in whole(hidden) for word in ("test_a", "t_two", "79b69dd3fd98", "a_group"))
    shown = adapter.feedback(task, verdict(), tmp_path, "output")
    assert "== 79b69dd3fd98: run_tests ==\ntest_a FAILED" in shown.text


def test_a_task_without_tests_has_no_feedback(tmp_path: Path) -> None:
    adapter, task = adhoc_task("Do it.", workspace=tmp_path)
    assert (task.feedback, task.feedback_revealing) == ((), ())
    with pytest.raises(FeedbackError, match="has no tests"):
        adapter.feedback(task, verdict(), tmp_path, "scores")
    with pytest.raises(UserError, match=r"has no tests.*leave out --self-correct"):
        check_form(task, None, reveal=False)


def test_a_form_that_reveals_tests_must_be_asked_for(make: Maker) -> None:
    task = make(evaluation="feedback: [scores, paths]")
    assert check_form(task, None, reveal=False) == "scores"
    assert check_form(task, "paths", reveal=False) == "paths"
    with pytest.raises(UserError, match=r"--feedback output would .* allowed: scores, paths; add --reveal-tests"):
        check_form(task, "output", reveal=False)
    assert check_form(task, "output", reveal=True) == "output"
    assert [reveals_tests(task, form) for form in FORMS] == [True, True, False, False]
    with pytest.raises(UserError, match="--reveal-tests does not apply to --feedback paths"):
        check_form(task, "paths", reveal=True)


def test_a_task_that_allows_no_form_needs_one_to_be_named(make: Maker) -> None:
    task = make(evaluation="feedback: []")
    with pytest.raises(UserError, match="allows no feedback; choose one of output, failing, scores, paths"):
        check_form(task, None, reveal=True)
    assert check_form(task, "scores", reveal=True) == "scores"


FAILS = PASSES + "\n\ndef test_more(candidate):\n    assert candidate('-x').stdout == b'never'\n"


@pytest.mark.sandbox
def test_the_output_of_a_real_suite_is_fed_back(make: Maker, tmp_path: Path) -> None:
    task = make(suite=FAILS, evaluation="build: echo compiled")
    judged = judged_task(make.adapter, task, "sandbox", SOLUTION, tmp_path / "trial")

    def shown(form: FeedbackForm) -> FeedbackContent:
        return make.adapter.feedback(task, judged, tmp_path / "trial/evaluation", form)

    output = shown("output")
    assert "assert b'yes' == b'never'" in output.text
    assert "1 failed, 1 passed" in output.text
    assert output.files["build.log"].strip() == b"compiled"
    assert "failed: test_it.py::test_more" in shown("failing").text
    assert shown("scores").text == "tests: 1 of 2 tests passed\nall: 1 of 2 tests passed"


@pytest.mark.sandbox
def test_a_real_build_that_failed_tells_nothing_of_the_tests(make: Maker, tmp_path: Path) -> None:
    task = make(suite=FAILS, evaluation="build: echo no compiler && false")
    judged = judged_task(make.adapter, task, "sandbox", SOLUTION, tmp_path / "trial")
    content = make.adapter.feedback(task, judged, tmp_path / "trial/evaluation", "output")
    assert "no compiler" in content.text
    assert "test_more" not in whole(content)
