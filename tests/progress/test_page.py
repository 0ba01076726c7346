"""The lines of the live view: they fit every terminal, nothing in them is raw, and the important ones stay."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len

from agent.cli.progress.page import page
from agent.cli.progress.state import ProgressState
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    BaseEvent,
    CallFailed,
    CallFinished,
    CallStarted,
    EvaluationStarted,
    Limits,
    Output,
    Reply,
    Submission,
    Warned,
)
from trajectories.record.usage import Costs, Usage

NOTHING = Output(bytes=0, kept=0, sha256="0" * 64, text="")
LIMITS = Limits(steps=1000, tokens=90_000, cost_usd=5.0)


def step(number: int, script: str, *, text: str = "", code: int | None = None) -> list[BaseEvent]:
    """Return the events of a step, whose command is over if there is a `code`."""
    usage = Usage(input=1000, cache_read=20_000, cache_write_5m=500, output=300)
    events: list[BaseEvent] = [
        CallStarted(step=number, message_ids=(), messages=1, messages_sha256="0"),
        CallFinished(
            step=number,
            id=f"r{number}",
            reply=Reply(text=text),
            usage=usage,
            costs=Costs(billed=0.25, computed=0.25, list=0.5),
            model_requested="m",
            latency_s=1,
        ),
        ActionStarted(action=f"{number}.1", step=number, script=script, deadline_s=180),
    ]
    if code is not None:
        events.append(
            ActionFinished(
                action=f"{number}.1", step=number, ended="exited", exit_code=code, duration_s=2.5, output=NOTHING
            )
        )
    return events


def state(*events: BaseEvent, limits: Limits = LIMITS) -> ProgressState:
    """Return the state after these events, which were all written at second 100."""
    state = ProgressState("demo/ledger by opus in docker", limits)
    for event in events:
        state.feed(event, 100.0)
    return state


def lines(state: ProgressState, width: int = 100, height: int = 24, now: float = 100.0) -> list[str]:
    return [line.plain for line in page(state, width, height, now)]


def test_a_running_step_shows_everything_that_a_person_asks_for() -> None:
    shown = lines(
        state(
            *step(1, "ls -la", code=0),
            *step(2, "make\n  test", text="I run the tests.\n```bash\nmake test\n```\n", code=2),
            *step(3, "sleep 99", text="Now I wait."),
        ),
        now=142.4,
    )
    assert shown == [
        "demo/ledger by opus in docker",
        "⠏ step 3: running   42 of 180 s",
        "Now I wait.",
        "$ ls -la   exit 0, 2.5 s",
        "$ make test   exit 2, 2.5 s",
        "$ sleep 99",
        "step 3 of 1000   time 0:00:42 of 6:00:00   cost $0.7500 of $5.00   tokens 65,400 of 90,000",
        "cached 60,000   uncached 4,500   output 900",
    ]


def test_the_model_s_words_are_shown_without_the_block_that_runs() -> None:
    (words,) = lines(state(*step(1, "make", text="I run it.\n~~~bash\nmake\n~~~\nThen I look.")))[2:3]
    assert words == "I run it. Then I look."
    long = "word " * 100
    full = " ".join(["word"] * 8)
    assert lines(state(*step(1, "make", text=long)), width=40)[2:5] == [full, full, f"{full[:-3]}..."]


def test_a_command_without_output_counts_from_draw_to_draw() -> None:
    running = state(*step(1, "sleep 60"))
    assert [lines(running, now=now)[1][2:] for now in (100.0, 101.0, 159.9)] == [
        f"step 1: running   {seconds} of 180 s" for seconds in (0, 1, 60)
    ]


def test_the_wait_for_a_model_counts_and_the_next_try_has_its_time() -> None:
    started = CallStarted(step=1, message_ids=(), messages=1, messages_sha256="0")
    failed = CallFailed(step=1, error="rate_limit", detail="slow\x1b[2J down", retry=True, wait_s=8, latency_s=1)
    assert lines(state(started), now=130.0)[1][2:] == "step 1: waiting for the model   30 s"
    shown = lines(state(started, failed), now=103.0)
    assert shown[1][2:] == "step 1: waiting before the next try   3 of 8 s"
    assert shown[2] == "! call failed: rate_limit: slow␛[2J down; next try in 8 s"


def test_an_evaluation_shows_its_notes_with_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-verysecret-123")
    submission = Submission(kind="archive", sha256="0" * 64)
    evaluating = state(EvaluationStarted(evaluation=1, evaluator="programbench", submission=submission))
    assert lines(evaluating)[1:] == ["⠋ evaluating with programbench"]
    evaluating.note("branch 3 of 7:\x1b]0;x\x07 sk-verysecret-123", 110.0)
    assert lines(evaluating, now=250.0)[1:] == ["⠋ branch 3 of 7:␛]0;x␇ [secret:SOME_API_KEY]   0:02:20"]


def test_a_resumed_trial_counts_what_it_used_before() -> None:
    before = step(1, "true", code=0)
    resumed = ProgressState("title", LIMITS, before)
    assert "tokens 21,800 of 90,000" in lines(resumed)[-1] + lines(resumed)[-2]


def test_the_smallest_terminals_keep_the_phase_and_the_newest_command() -> None:
    busy = state(
        *(event for number in range(1, 10) for event in step(number, f"command {number}", text="Words.", code=0)),
        *step(10, "the newest " + "x" * 200, text="Words of the model."),
        Warned(kind="x", text="beware"),
    )
    assert lines(busy, 40, 10) == [
        "demo/ledger by opus in docker",
        "⠋ step 10: running   0 of 180 s",
        "! beware",
        "Words of the model.",
        "$ the newest " + "x" * 23 + "...",
        "step 10 of 1000   time 0:00:00 of 6:00:00"[:15],
        "time 0:00:00 of 6:00:00",
        "cost $2.5000 of $5.00",
        "tokens 218,000 of 90,000",
    ]
    assert lines(busy, 40, 4) == ["⠋ step 10: running   0 of 180 s", "! beware", "$ the newest " + "x" * 23 + "..."]
    assert lines(busy, 40, 1) == ["⠋ step 10: running   0 of 180 s"]
    tall = lines(busy, 120, 60)
    assert [line for line in tall if line.startswith("$ command")] == [
        f"$ command {number}   exit 0, 2.5 s" for number in range(3, 10)
    ]
    assert [line for line in lines(busy, 120, 9) if line.startswith("$ command")] == ["$ command 9   exit 0, 2.5 s"]


@given(
    st.text(st.characters(codec=None), max_size=60)
    | st.sampled_from(["日本語" * 40, "👩‍👩‍👧" * 30, "e\u0301" * 90, "\x1b[2J" * 20]),
    st.integers(1, 200),
    st.integers(1, 60),
)
def test_no_text_reaches_the_terminal_raw_or_leaves_its_place(text: str, width: int, height: int) -> None:
    hostile = state(*step(1, text, text=text, code=1), *step(2, text, text=text), Warned(kind="x", text=text))
    hostile.note(text, 100.0)
    drawn = page(hostile, width, height, 200.0)
    assert 1 <= len(drawn) <= max(1, height - 1)
    for line in drawn:
        assert cell_len(line.plain) <= max(1, width - 1)
        assert not {unicodedata.category(character) for character in line.plain} & {"Cc", "Cs", "Zl", "Zp"}
