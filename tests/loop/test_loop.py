"""What the loop does next, for every kind of reply, failure and limit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from agent.loop.actions import SUBMIT
from agent.loop.loop import Ask, Run, Say
from tests.loop.machine import Crank, calls
from trajectories.record.events import ActionFinished, CallFailed, CallFinished, Limits, Reply, ToolCall
from trajectories.record.usage import Costs, Usage


def failed(error: str, *, retry: bool, wait_s: float = 0.0) -> CallFailed:
    return CallFailed(step=0, error=error, detail="said so", retry=retry, wait_s=wait_s, latency_s=0.0)


def test_a_command_is_run_and_its_result_is_told() -> None:
    crank = Crank([calls("ls"), calls(SUBMIT)])
    exit = crank.run()
    assert (exit.reason, exit.cause) == ("agent", "submitted")
    assert crank.ran() == ["ls"]
    told = crank.messages("observation")
    assert [message.tool_call_id for message in told] == ["c1"]
    assert told[0].content.startswith("exit code: 0")
    assert "ls" in told[0].content


@pytest.mark.parametrize("script", [SUBMIT, f"  {SUBMIT}\n", f"\n{SUBMIT}  "])
def test_submit_is_recognised_after_stripping_and_not_run(script: str) -> None:
    crank = Crank([calls(script)])
    assert crank.run().cause == "submitted"
    assert crank.ran() == []


@pytest.mark.parametrize("script", [f"{SUBMIT} ", f"ls && {SUBMIT}", f"{SUBMIT}; ls", SUBMIT.upper()])
def test_only_the_exact_command_submits(script: str) -> None:
    crank = Crank([calls(script), calls(SUBMIT)])
    crank.run()
    assert crank.ran() == ([] if script.strip() == SUBMIT else [script])


def test_actions_after_a_submit_are_answered_not_executed_and_earlier_ones_keep_their_results() -> None:
    crank = Crank([calls("one", SUBMIT, "two")])
    assert crank.run().cause == "submitted"
    assert crank.ran() == ["one"]
    assert [message.tool_call_id for message in crank.messages("observation")] == ["c1"]
    assert [message.tool_call_id for message in crank.messages("not_executed")] == ["c2", "c3"]


def test_several_calls_run_in_order_and_each_gets_its_result_before_the_next_call() -> None:
    crank = Crank([calls("a", "b", "c"), calls(SUBMIT)])
    crank.run()
    assert crank.ran() == ["a", "b", "c"]
    kinds = [event.type for event in crank.events]
    second_call = kinds.index("call_started", kinds.index("call_finished"))
    assert kinds[:second_call].count("action_finished") == 3
    assert [message.tool_call_id for message in crank.messages("observation")] == ["c1", "c2", "c3"]


def test_every_tool_call_gets_exactly_one_answer_also_a_broken_one() -> None:
    broken = Reply(
        tool_calls=(
            ToolCall(id="x", name="bash", arguments="{not json"),
            ToolCall(id="y", name="bash", arguments='{"command": "ok"}'),
            ToolCall(id="z", name="python", arguments="{}"),
        )
    )
    crank = Crank([broken, calls(SUBMIT)])
    assert crank.run().cause == "submitted"
    answers = [event.tool_call_id for event in crank.events if event.type == "message" and event.role == "tool"]
    assert answers == ["x", "y", "z", "c1"]


def test_format_errors_in_a_row_end_the_trial_and_a_good_reply_resets_the_count() -> None:
    nothing = Reply(text="I think ...")
    crank = Crank([nothing, nothing, calls("ls"), nothing, nothing, nothing])
    exit = crank.run()
    assert (exit.reason, exit.cause) == ("agent", "format_errors")
    assert crank.asked == 6
    assert len(crank.messages("format_error")) == 5


def test_an_unparsed_reply_is_a_step_and_a_cut_one_says_so() -> None:
    crank = Crank([Reply(text="```bash\nls")] * 3, action_format="fenced", finish_reason="length")
    crank.run()
    assert crank.tally.steps == 3
    assert "cut off at the output limit" in crank.messages("format_error")[0].content


def test_fenced_replies() -> None:
    say = "First I look.\n```bash\nls -la\necho '```'\n```\nThen more."
    crank = Crank([Reply(text=say), Reply(text=f"```bash\n{SUBMIT}\n```")], action_format="fenced")
    assert crank.run().cause == "submitted"
    assert crank.ran() == ["ls -la\necho '```'"]
    assert crank.messages("observation")[0].role == "user"


def test_two_fenced_blocks_are_a_format_error() -> None:
    two = Reply(text="```bash\nls\n```\n```bash\npwd\n```")
    crank = Crank([two] * 3, action_format="fenced")
    assert crank.run().cause == "format_errors"
    assert crank.ran() == []


def test_a_refusal_is_an_exit() -> None:
    assert Crank([Reply(refusal="I will not")]).run().cause == "refusal"


@pytest.mark.parametrize(
    ("error", "reason", "cause"),
    [
        ("authentication", "infrastructure", "model_unavailable"),
        ("server_error", "infrastructure", "model_unavailable"),
        ("context_overflow", "limit", "context"),
        ("gave_up", "agent", "gave_up"),
    ],
)
def test_a_failure_without_retry_ends_the_trial(error: str, reason: str, cause: str) -> None:
    exit = Crank([failed(error, retry=False)]).run()
    assert (exit.reason, exit.cause) == (reason, cause)


def test_a_failed_call_is_no_step_and_counts_its_tries() -> None:
    crank = Crank([failed("rate_limit", retry=True), failed("rate_limit", retry=True), calls(SUBMIT)])
    assert crank.run().cause == "submitted"
    assert crank.tally.steps == 1
    started = [event for event in crank.events if event.type == "call_started"]
    assert [(event.step, event.try_) for event in started] == [(1, 1), (1, 2), (1, 3)]


def test_n_steps_mean_n_calls() -> None:
    crank = Crank([calls("ls")] * 9, limits=Limits(steps=5))
    assert crank.run().cause == "steps"
    assert crank.asked == 5


def test_the_token_limit_stops_at_or_above_before_the_next_call() -> None:
    crank = Crank([calls("ls")] * 9, limits=Limits(tokens=30), usage=Usage(input=4, cache_read=5, output=1))
    assert crank.run().cause == "tokens"
    assert crank.asked == 3


def test_the_cost_limit_counts_billed_before_computed() -> None:
    costs = Costs(billed=0.5, computed=99.0, list=99.0)
    crank = Crank([calls("ls")] * 9, limits=Limits(cost_usd=1.0), costs=costs)
    assert crank.run().cause == "cost"
    assert crank.asked == 2


def test_the_time_limit_counts_from_the_first_call_and_shortens_the_last_command() -> None:
    crank = Crank([calls("sleep")] * 9, limits=Limits(time_s=10.0), action_s=6.0)
    crank.now_s = 1000.0  # a slow image pull
    exit = crank.run()
    assert exit.cause == "time"
    deadlines = [event.deadline_s for event in crank.events if event.type == "action_started"]
    assert deadlines == [9.0, 2.0]
    assert crank.tally.wall_s(crank.now_s) == pytest.approx(10.0)


def test_the_time_limit_is_seen_between_two_commands_of_a_turn() -> None:
    crank = Crank([calls("a", "b")], limits=Limits(time_s=5.0), action_s=60.0)
    exit = crank.run()
    assert (exit.cause, exit.detail) == ("time", "5.0 of 5 s")
    assert crank.ran() == ["a"]


def test_waits_between_tries_count_as_wall_time_but_not_as_working_time() -> None:
    crank = Crank([failed("rate_limit", retry=True, wait_s=30.0), calls(SUBMIT)])
    crank.run()
    assert crank.tally.wall_s(crank.now_s) == pytest.approx(32.0)
    assert crank.tally.working_s(crank.now_s) == pytest.approx(1.0)


def test_a_retry_is_not_made_past_the_time_limit() -> None:
    crank = Crank([failed("rate_limit", retry=True, wait_s=30.0), calls(SUBMIT)], limits=Limits(time_s=20.0))
    assert crank.run().cause == "time"
    assert crank.asked == 1


def test_soft_warnings_ride_on_the_newest_observation_only() -> None:
    crank = Crank([calls("a", "b")] * 30, limits=Limits(steps=25, time_s=None))
    crank.run()
    by_step = {message.action: message.content for message in crank.messages("observation")}
    assert "left" not in by_step["5.2"]
    assert "Only 19 replies left" in by_step["6.2"]
    assert "left" not in by_step["6.1"]
    assert "Only 1 reply left" in by_step["24.2"]


def test_few_minutes_left_are_told() -> None:
    crank = Crank([calls("a"), calls(SUBMIT)], limits=Limits(time_s=300.0))
    crank.run()
    assert "Only 5.0 minutes left" in crank.messages("observation")[0].content


def test_a_lost_environment_ends_the_trial_as_infrastructure() -> None:
    crank = Crank([calls("a", "b")], results={"1.1": {"ended": "environment_lost", "exit_code": None}})
    exit = crank.run()
    assert (exit.reason, exit.cause) == ("infrastructure", "environment_lost")
    assert crank.ran() == ["a"]


def test_an_oom_killed_command_is_an_outcome_not_an_exit() -> None:
    crank = Crank([calls("a"), calls(SUBMIT)], results={"1.1": {"ended": "oom", "exit_code": 137}})
    assert crank.run().cause == "submitted"
    assert "out of memory" in crank.messages("observation")[0].content


REPLIES = st.one_of(
    st.lists(st.sampled_from(["a", "b", SUBMIT]), min_size=1, max_size=3).map(lambda commands: calls(*commands)),
    st.just(Reply(text="nothing")),
    st.sampled_from([failed("rate_limit", retry=True, wait_s=1.0), failed("server_error", retry=False)]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(REPLIES, min_size=1, max_size=12), st.integers(1, 8))
def test_a_loop_fed_the_recorded_events_of_another_is_in_the_same_state(
    replies: list[Reply | CallFailed], steps: int
) -> None:
    """Replay, fork and resume: after any prefix of the events the same instruction comes next."""
    limits = Limits(steps=steps, time_s=50.0)
    crank = Crank([*replies, *[calls(SUBMIT)] * 20], limits=limits)
    exit = crank.run()
    again = crank.new_loop()
    for event in crank.events:
        instruction = again.next(event.mono_s)
        match event.type:
            case "message":
                assert isinstance(instruction, Say)
                assert (instruction.role, instruction.content) == (event.role, event.content)
            case "call_started":
                assert isinstance(instruction, Ask)
            case "action_started":
                assert isinstance(instruction, Run)
                assert instruction.script == event.script
        again.feed(event)
    stop = again.next(crank.now_s)
    assert getattr(stop, "exit", None) == exit
    assert crank.tally.steps == sum(isinstance(event, CallFinished) for event in crank.events) <= steps
    assert crank.tally.commands == sum(isinstance(event, ActionFinished) for event in crank.events)
