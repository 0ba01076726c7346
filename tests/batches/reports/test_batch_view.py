"""The view of a running batch: every line fits its terminal, the table stays at the end, and lines are few."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from agent.batch.state.view import BatchState, Pace, RunningUnit, time_left
from agent.cli.progress.batches.lines import LineBatchView
from agent.cli.progress.batches.live import LiveBatchView
from agent.cli.progress.batches.page import count, line, page
from tests.progress.terminal import Terminal
from tests.progress.test_views import terminal, wait_until

UNITS = st.lists(
    st.builds(
        RunningUnit,
        trial=st.text(max_size=30),
        arm=st.text(max_size=12),
        steps=st.integers(0, 10**6),
        seconds=st.none() | st.floats(0, 1e6),
        node=st.none() | st.text(max_size=8),
    ),
    max_size=40,
)
REASONS = st.dictionaries(st.text(max_size=20), st.integers(1, 1000), max_size=4)


def state(**changes: object) -> BatchState:
    """Return a batch in the middle of its work."""
    facts: dict[str, object] = {
        "name": "table4",
        "units": 300,
        "done": 112,
        "waiting": 170,
        "failed": {"container_lost": 2, "agent_unusable": 1},
        "held": {"budget": 3},
        "running": [RunningUnit(f"ledger.opus.{number}", "plan", number, seconds=number) for number in range(15)],
        "passed": 60,
        "judged": 100,
        "unevaluated": 12,
        "spent_usd": 31.2345,
        "reserved_usd": 0.4,
        "budget_usd": 100,
        "calls": 345,
    }
    return BatchState(**{**facts, **changes})  # type: ignore[arg-type]


@given(UNITS, REASONS, REASONS, st.integers(1, 200), st.integers(1, 60), st.integers(0, 500))
def test_every_line_fits_the_terminal_and_the_cursor_stays_below(
    units: list[RunningUnit], failed: dict[str, int], held: dict[str, int], width: int, height: int, done: int
) -> None:
    shown = page(state(running=units, failed=failed, held=held, done=done), width, height)
    assert 1 <= len(shown) <= max(1, height - 1)
    assert all(text.cell_len <= max(1, width - 1) for text in shown)
    assert all("\n" not in text.plain and "\x1b" not in text.plain for text in shown)


def test_the_page_tells_counts_result_budget_causes_and_the_longest_running_units() -> None:
    shown = [text.plain for text in page(state(), 120, 12)]
    assert shown[2] == "112 of 300 units done   15 running   170 waiting   3 failed"
    assert shown[3:5] == ["failed: 1 agent_unusable, 2 container_lost", "waiting for: 3 budget"]
    assert shown[5] == "passed 60 of 100: 60.0% [50.2, 69.1]   12 not evaluated"  # Wilson's interval
    assert shown[6].startswith("$31.23 + $0.4000 reserved of $100.00")
    assert shown[9].split()[0] == "ledger.opus.14"
    assert shown[10] == "and 14 more running"


def test_a_cost_that_is_not_wholly_known_is_a_lower_bound() -> None:
    assert "at least $31.23" in line(state(unpriced_calls=2))
    assert "2 calls of unknown cost" in line(state(unpriced_calls=2))
    assert "at least" not in line(state())


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (999, "999"), (1000, "1.00k"), (12345, "12.3k"), (987654, "988k"), (5e7, "50.0M")]
)
def test_numbers_of_tokens_keep_three_digits(value: float, text: str) -> None:
    assert count(value) == text


def test_lines_come_at_changes_and_at_the_end_only(capsys: pytest.CaptureFixture[str]) -> None:
    with LineBatchView(every_s=3600) as view:
        view.show(state())
        for done in range(113, 120):
            view.show(state(done=done))  # too soon after the first line
        view.note("worker 2 is gone\x1b[2J")
        view.show(state(done=119, spent_usd=40.0))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "112 of 300" in lines[0]
    assert lines[1] == "worker 2 is gone␛[2J"
    assert "119 of 300" in lines[2]
    assert "$40.00" in lines[2]


def test_a_state_that_did_not_change_makes_no_second_line(capsys: pytest.CaptureFixture[str]) -> None:
    with LineBatchView(every_s=0) as view:
        for calls in (1, 2, 3):
            view.show(state(calls=calls))
        view.show(state(done=113))
    assert [re.search(r"\d+ of 300", text)[0] for text in capsys.readouterr().err.splitlines()] == [
        "112 of 300",
        "113 of 300",
    ]


def test_the_table_is_drawn_on_a_terminal_with_notes_above_it_and_stays() -> None:
    screen = Terminal(80)
    with terminal() as (stream, output):
        with LiveBatchView(stream) as view:
            wait_until(lambda: "\x1b" in output())  # before the first state nothing is shown
            view.show(state())
            wait_until(lambda: "112 of 300" in output())
            view.note("worker 2 is gone")
            wait_until(lambda: "worker 2" in output())
            view.show(state(done=300, running=(), waiting=0, failed={}, held={}, phase="finished"))
        wait_until(lambda: "300 of 300" in output())
        wait_until(lambda: "345 calls" in output().rpartition("300 of 300")[2])
        screen.feed(output())
    rows = screen.text.splitlines()
    assert rows[0] == "worker 2 is gone"
    assert rows[1] == "batch table4 (finished)"
    assert "112 of 300" not in screen.text
    assert len([row for row in rows if "300 of 300" in row]) == 1


def test_the_pace_is_that_of_the_window() -> None:
    pace = Pace(0.0, window_s=60)
    for second in range(1, 121):
        pace.add(float(second), 10)
    assert pace.per_minute(120.0) == (60.0, 600.0)
    pace.add(121.0, None)
    assert pace.per_minute(200.0) == (0.0, 0.0)
    assert Pace(0.0).per_minute(0.0) == (0.0, 0.0)


@given(
    st.lists(st.floats(1, 1e4), min_size=1, max_size=20),
    st.lists(st.floats(0, 1e4), max_size=10),
    st.integers(0, 100),
    st.integers(1, 16),
)
def test_more_work_never_takes_less_time(
    durations: list[float], running: list[float], waiting: int, slots: int
) -> None:
    left = time_left(durations, running, waiting, slots)
    assert left is not None
    assert time_left(durations, running, waiting + 1, slots) >= left  # type: ignore[operator]
    assert time_left(durations, running, waiting, slots + 1) <= left  # type: ignore[operator]
    assert time_left(durations, [], 0, slots) == 0


def test_time_left_is_unknown_before_a_unit_has_ended_and_simple_with_equal_units() -> None:
    assert time_left([], [3.0], 4, 2) is None
    assert time_left([10.0] * 5, [], 8, 4) == 20
    assert time_left([10.0] * 5, [4.0, 4.0], 0, 2) == 6
