"""The parsers of terminal-bench and the test sets of LongCLI-Bench, with the quirks of the originals."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from benchmarks.judging.system.script_run import ScriptResult
from benchmarks.terminalbench import parsers, test_sets
from benchmarks.terminalbench.scores import NoResult, score
from benchmarks.terminalbench.task_file import TerminalBenchFile
from benchmarks.terminalbench.test_sets import Form, SetName, SetResult, read_set
from environments.protocol import Execution

SUMMARY = """\
some output before, PASSED tests/x.py::not_a_result
=========================== Short Test Summary Info ============================
PASSED tests/a.py::test_one
PASSED tests/a.py::test_path[a/b.c-sha256:1f]
XFAIL tests/a.py::test_expected - reason kept
SKIPPED [1] tests/a.py:7: needs a network
FAILED tests/a.py::test_two - AssertionError: 1 - 2 - 3
FAILED tests/a.py::test_bare
XPASS tests/a.py::test_unexpected always fails
ERROR tests/b.py - ImportError: x
warning: PASSED words::elsewhere do not count
PASSED
========================= 2 failed, 2 passed in 0.1s ==========================
"""


def statuses(text: str) -> dict[str, str]:
    return {name: result.status for name, result in parsers.pytest(text).items()}


def test_a_summary_of_pytest_is_read_as_the_authors_do() -> None:
    assert statuses(SUMMARY) == {
        "test_one": "passed",
        "test_path[a/b.c-sha256:1f]": "passed",
        "test_expected - reason kept": "passed",
        "[1] tests/a.py:7: needs a network": "skipped",
        "test_two - AssertionError: 1 - 2": "failed",  # only the part after the last " - " goes
        "test_bare": "failed",
        "test_unexpected always fails": "failed",
        "tests/b.py - ImportError: x": "error",
    }
    results = parsers.pytest(SUMMARY)
    assert results["[1] tests/a.py:7: needs a network"].passes is True
    assert results["test_unexpected always fails"].passes is False
    assert results["test_two - AssertionError: 1 - 2"].message == "3"


def test_only_the_first_summary_divides_the_output_and_later_results_win() -> None:
    text = (
        "=== short test summary info ===\nFAILED a.py::test - x\n=== short test summary info ===\nPASSED b.py::test\n"
    )
    assert statuses(text) == {"test": "passed"}


def test_colors_and_line_ends_of_a_terminal_are_removed() -> None:
    raw = b"\x1b[36m\x1b[1m=== short test summary info ===\x1b[0m\r\n\x1b[32mPASSED\x1b[0m a.py::\x1b[1mtest\x1b[0m\r\n"
    assert statuses(parsers.text_of(raw)) == {"test": "passed"}
    assert parsers.text_of(b"\x1b]0;title\x07a\xffb\x1b(B") == "a�b\x1b(B"


def test_a_summary_that_a_tested_program_prints_does_not_hide_a_failure() -> None:
    forged = "--- Captured stdout ---\n=== short test summary info ===\nPASSED a.py::test\nPASSED a.py::more\n"
    results = parsers.pytest(forged + "=== short test summary info ===\nFAILED a.py::test - x\n")
    assert {name: result.passes for name, result in results.items()} == {"test": False, "more": True}


@pytest.mark.parametrize(
    "text",
    [
        "=" * 4_000_000,
        "= \n" * 1_000_000,
        "short test summary info " * 200_000,
        "\x1b[" + "1" * 4_000_000,
        "\x1b]" * 999_999,
    ],
    ids=["equals", "lines", "titles", "number", "escapes"],
)
def test_a_hostile_output_of_megabytes_is_read_in_linear_time(text: str) -> None:
    with pytest.raises(parsers.ParserError):
        parsers.pytest(parsers.text_of(text.encode()))


@pytest.mark.parametrize(
    ("title", "is_summary"),
    [
        ("==short test summary info==", True),
        ("=\n short test summary info \n=", True),
        ("short test summary info ===", False),
        ("=== short test summary info", False),
        ("=== x short test summary info ===", False),
    ],
)
def test_a_title_stands_between_equals_signs(title: str, is_summary: bool) -> None:
    text = f"{title}\nPASSED a::b\n"
    if is_summary:
        assert statuses(text) == {"b": "passed"}
    else:
        with pytest.raises(parsers.ParserError):
            parsers.pytest(text)


def test_an_output_without_a_summary_is_an_error() -> None:
    with pytest.raises(parsers.ParserError, match="-rA"):
        parsers.pytest("3 passed in 0.1s\n")


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for name, parser in parsers.PARSERS.items():
        try:
            results = parser("=== short test summary info ===\n" + text)
        except parsers.ParserError:
            assert name in ("swebench", "sweperf")
        else:
            assert all(result.passes == (result.status in ("passed", "skipped")) for result in results.values())


@pytest.mark.parametrize(
    ("name", "text", "passes"),
    [
        ("swebench", "x\nSWEBench results starts here\n PASSED \nSWEBench results ends here\n", True),
        ("swebench", "SWEBench results starts here\nPASSED, nearly\nSWEBench results ends here\n", False),
        ("sweperf", "SWE-Perf results starts here\nPASSED\nSWE-Perf results ends here", True),
        ("mlebench", "MLEBench results starts here\nALL TESTS PASSED\nMLEBench results ends here", True),
        ("mlebench", "MLEBench results starts here\nPASSED\nMLEBench results ends here", False),
        ("mlebench", "no marks at all", False),
        ("swelancer", "... SWE Lancer SUCCESS; swe lancer failure", True),
        ("swelancer", "swe lancer failure; user_tool completed", False),
        ("swelancer", "User_tool has COMPLETED", True),
        ("swelancer", "completed", False),
    ],
)
def test_parsers_of_a_single_result(name: str, text: str, passes: bool) -> None:
    (result,) = parsers.PARSERS[name](text).values()
    assert result.passes is passes


@pytest.mark.parametrize("name", ["swebench", "sweperf"])
@pytest.mark.parametrize("text", ["", "{0} results starts here\nPASSED", "PASSED\n{0} results ends here"])
def test_missing_marks_are_an_error(name: str, text: str) -> None:
    with pytest.raises(parsers.ParserError, match="did not print"):
        parsers.PARSERS[name](text.format({"swebench": "SWEBench", "sweperf": "SWE-Perf"}[name]))


def of_text(content: object, output: bytes = b"") -> SetResult:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    files = {test_sets.score_file("f2p"): data, test_sets.output_file("f2p"): output}
    return read_set("f2p", "text", files, b"")


@pytest.mark.parametrize(("step", "quality"), [(-0.775, 0.0), (0.19, 0.19), (1, 1.0), (1.25, 1.0)])
def test_a_step_score_is_kept_raw_and_bounded_in_the_quality(step: float, quality: float) -> None:
    result = of_text({"is_pass": 0, "step_score": step})
    assert (result.step, result.quality, result.passes) == (step, quality, False)
    assert test_sets.metrics([result])["f2p_step"] == step


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        ([1], "is not a JSON object"),
        ({"step_score": 1}, "has no is_pass"),
        ({"is_pass": 2, "step_score": 1}, "has no is_pass"),
        ({"is_pass": "1", "step_score": 1}, "has no is_pass"),
        ({"is_pass": 1}, "has no step_score"),
        ({"is_pass": 1, "step_score": True}, "has no step_score"),
        ({"is_pass": 1, "step_score": float("nan")}, "has no step_score"),
        ({"is_pass": 1, "step_score": 10**400}, "has no step_score"),
    ],
)
def test_a_score_that_cannot_be_used_counts_as_zero_and_is_noted(content: object, reason: str) -> None:
    result = of_text(content, b"Score: 1/2")
    assert (result.passes, result.step, result.delivered) == (False, 0.0, True)
    assert reason in result.notes[0]


def test_a_missing_score_delivers_nothing_if_there_is_no_output_either() -> None:
    assert read_set("f2p", "text", {}, b"").delivered is False
    assert read_set("f2p", "text", {test_sets.output_file("f2p"): b"x"}, b"").delivered is True


def test_a_pytest_set_is_read_from_its_file_and_otherwise_from_the_script_s_output() -> None:
    own = {test_sets.output_file("p2p"): b"=== short test summary info ===\nPASSED a::own\n"}
    screen = b"=== short test summary info ===\nPASSED a::screen\nFAILED a::other - x\nFAILED a::third - x\n"
    assert [case.id for case in read_set("p2p", "pytest", own, screen).cases] == ["p2p::own"]
    for files in ({}, {test_sets.output_file("p2p"): b" \n"}):
        result = read_set("p2p", "pytest", files, screen)
        assert (result.step, result.passes) == (0.333, False)
        assert "missing or empty" in result.notes[0]
    nothing = read_set("p2p", "pytest", {}, b"")
    assert (nothing.step, nothing.passes, nothing.delivered) == (0.0, False, False)


def test_skipped_tests_pass_as_for_the_authors_and_are_listed() -> None:
    data = b"=== short test summary info ===\nPASSED a::b\nSKIPPED [1] a.py:3: no network\n"
    result = read_set("f2p", "pytest", {test_sets.output_file("f2p"): data}, b"")
    assert (result.passes, result.step) == (True, 1.0)
    assert [case.status for case in result.cases] == ["passed", "passed"]
    assert "skipped" in result.cases[1].message
    assert result.notes[0].startswith("F2P: 1 skipped test counts as passed")
    assert "[1] a.py:3: no network" in result.notes[0]


@pytest.mark.parametrize(
    ("passed", "total", "share"), [(0, 0, 0.0), (7, 8, 0.875), (1, 3, 0.333), (2, 3, 0.667), (84, 85, 0.988)]
)
def test_shares_are_rounded_as_by_the_authors(passed: int, total: int, share: float) -> None:
    assert test_sets.rounded(passed, total) == share


def file(**keys: object) -> TerminalBenchFile:
    return TerminalBenchFile.model_validate({"instruction": "x", "difficulty": "easy", **keys})


def longcli(f2p: Form | None = "text", p2p: Form | None = None) -> TerminalBenchFile:
    return file(parser_name="long_cli", parser_results_f2p=f2p, parser_results_p2p=p2p)


def result_of(output: str = "", **scores: tuple[int, float]) -> ScriptResult:
    """Return the result of a script that printed this and left these scores."""
    names: dict[str, SetName] = {"f2p": "f2p", "p2p": "p2p"}
    files = {
        test_sets.score_file(names[name]): json.dumps({"is_pass": claim, "step_score": step}).encode()
        for name, (claim, step) in scores.items()
    }
    return ScriptResult(Execution("exited", output.encode(), len(output), 0.1, exit_code=1), files)


@pytest.mark.parametrize(
    ("f2p", "p2p", "passed"), [((1, 1.0), (1, 1.0), True), ((1, 1.0), (0, 0.9), False), ((0, 0.5), (1, 1.0), False)]
)
def test_a_task_is_resolved_if_every_configured_set_passes(
    f2p: tuple[int, float], p2p: tuple[int, float], passed: bool
) -> None:
    scored = score(longcli("text", "text"), result_of(f2p=f2p, p2p=p2p), 60)
    assert scored.passed is passed
    assert scored.quality == pytest.approx((f2p[1] + p2p[1]) / 2)
    assert scored.metrics == {
        "f2p_pass": f2p[0],
        "f2p_step": f2p[1],
        "p2p_pass": p2p[0],
        "p2p_step": p2p[1],
        "resolved_by_step": float(f2p[1] == p2p[1] == 1),
    }
    assert [case.group for case in scored.cases] == ["F2P", "P2P"]


def test_a_set_that_is_not_configured_has_no_metrics_and_none_at_all_is_never_resolved() -> None:
    scored = score(longcli("text"), result_of(f2p=(1, 1.0), p2p=(0, 0.0)), 60)
    assert scored.passed is True
    assert not any(name.startswith("p2p") for name in scored.metrics)
    none = score(longcli(None), result_of(f2p=(1, 1.0)), 60)
    assert (none.passed, none.quality, none.cases) == (False, 0.0, ())
    assert "neither F2P nor P2P" in none.notes[0]


def test_a_claim_that_differs_from_the_paper_s_rule_is_noted() -> None:
    scored = score(longcli("text"), result_of(f2p=(1, 0.95)), 60)
    assert (scored.passed, scored.metrics["resolved_by_step"]) == (True, 0.0)
    assert "the task's own rule says passed, but the step score is 0.95" in scored.notes[0]
    scored = score(longcli("text"), result_of(f2p=(0, 1.0)), 60)
    assert (scored.passed, scored.metrics["resolved_by_step"]) == (False, 1.0)


def test_tests_of_terminal_bench_that_list_no_test_have_no_result() -> None:
    with pytest.raises(NoResult, match="lists no test"):
        score(file(), result_of("=== short test summary info ===\n"), 60)
    with pytest.raises(NoResult, match="no short test summary"):
        score(file(), result_of("bash: pytest: command not found"), 60)
    scored = score(file(), result_of(SUMMARY), 60)
    assert (scored.passed, scored.quality) == (False, 0.5)
    assert "1 skipped test counts as passed" in scored.notes[0]
