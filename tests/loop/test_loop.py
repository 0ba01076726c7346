"""The next instruction of the loop, for every kind of reply, failure and limit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from agent.loop.actions import SUBMIT
from tests.loop.simulation import Simulation, calls
from trajectories.record.events import ActionFinished, CallFailed, CallFinished, Limits, Reply, ToolCall
from trajectories.record.usage import Costs, Usage


def failed(error: str, *, retry: bool, wait_s: float = 0.0) -> CallFailed:
    return CallFailed(step=0, error=error, detail="simulated", retry=retry, wait_s=wait_s, latency_s=0.0)


def test_a_command_is_run_and_the_model_gets_its_result() -> None:
    simulation = Simulation([calls("ls"), calls(SUBMIT)])
    exit = simulation.run()
    assert (exit.reason, exit.cause) == ("agent", "submitted")
    assert simulation.scripts_run() == ["ls"]
    observations = simulation.messages("observation")
    assert [message.tool_call_id for message in observations] == ["c1"]
    assert observations[0].content.startswith("exit code: 0")
    assert "ls" in observations[0].content


@pytest.mark.parametrize("script", [SUBMIT, f"  {SUBMIT}\n", f"\n{SUBMIT}  "])
def test_submit_is_recognized_after_stripping_and_not_run(script: str) -> None:
    simulation = Simulation([calls(script)])
    assert simulation.run().cause == "submitted"
    assert simulation.scripts_run() == []


@pytest.mark.parametrize("script", [f"{SUBMIT} ", f"ls && {SUBMIT}", f"{SUBMIT}; ls", SUBMIT.upper()])
def test_only_the_exact_command_submits(script: str) -> None:
    simulation = Simulation([calls(script), calls(SUBMIT)])
    simulation.run()
    assert simulation.scripts_run() == ([] if script.strip() == SUBMIT else [script])


def test_actions_after_a_submit_are_answered_not_executed_and_earlier_ones_keep_their_results() -> None:
    simulation = Simulation([calls("one", SUBMIT, "two")])
    assert simulation.run().cause == "submitted"
    assert simulation.scripts_run() == ["one"]
    assert [message.tool_call_id for message in simulation.messages("observation")] == ["c1"]
    assert [message.tool_call_id for message in simulation.messages("not_executed")] == ["c2", "c3"]


def test_several_calls_run_in_order_and_each_gets_its_result_before_the_next_call() -> None:
    simulation = Simulation([calls("a", "b", "c"), calls(SUBMIT)])
    simulation.run()
    assert simulation.scripts_run() == ["a", "b", "c"]
    kinds = [event.type for event in simulation.events]
    second_call = kinds.index("call_started", kinds.index("call_finished"))
    assert kinds[:second_call].count("action_finished") == 3
    assert [message.tool_call_id for message in simulation.messages("observation")] == ["c1", "c2", "c3"]


def test_every_tool_call_gets_exactly_one_answer_even_a_broken_call() -> None:
    broken = Reply(
        tool_calls=(
            ToolCall(id="x", name="bash", arguments="{not json"),
            ToolCall(id="y", name="bash", arguments='{"command": "ok"}'),
            ToolCall(id="z", name="python", arguments="{}"),
        )
    )
    simulation = Simulation([broken, calls(SUBMIT)])
    assert simulation.run().cause == "submitted"
    answers = [event.tool_call_id for event in simulation.events if event.type == "message" and event.role == "tool"]
    assert answers == ["x", "y", "z", "c1"]


def test_three_format_errors_in_a_row_end_the_trial_and_a_good_reply_resets_the_count() -> None:
    nothing = Reply(text="I think ...")
    simulation = Simulation([nothing, nothing, calls("ls"), nothing, nothing, nothing])
    exit = simulation.run()
    assert (exit.reason, exit.cause) == ("agent", "format_errors")
    assert simulation.calls_made == 6
    assert len(simulation.messages("format_error")) == 5


def test_a_reply_that_cannot_be_parsed_is_a_step_and_the_model_learns_that_it_was_cut_off() -> None:
    simulation = Simulation([Reply(text="```bash\nls")] * 3, action_format="fenced", finish_reason="length")
    simulation.run()
    assert simulation.tally.steps == 3
    assert "cut off at the output limit" in simulation.messages("format_error")[0].content


def test_the_block_of_a_fenced_reply_is_run_without_the_text_around_it() -> None:
    text = "First I look.\n```retrace_bash\nls -la\necho '```'\n```\nThen more."
    simulation = Simulation([Reply(text=text), Reply(text=f"```retrace_bash\n{SUBMIT}\n```")], action_format="fenced")
    assert simulation.run().cause == "submitted"
    assert simulation.scripts_run() == ["ls -la\necho '```'"]
    assert simulation.messages("observation")[0].role == "user"


def test_two_fenced_blocks_are_a_format_error() -> None:
    reply = Reply(text="```retrace_bash\nls\n```\n```retrace_bash\npwd\n```")
    simulation = Simulation([reply] * 3, action_format="fenced")
    assert simulation.run().cause == "format_errors"
    assert simulation.scripts_run() == []


def test_an_example_in_prose_is_not_run_and_the_model_learns_the_tag() -> None:
    reply = Reply(text="To clean up, one would type\n\n```bash\nrm -rf build\n```\n\nbut I wait.")
    simulation = Simulation([reply] * 3, action_format="fenced")
    assert simulation.run().cause == "format_errors"
    assert simulation.scripts_run() == []
    assert "```retrace_bash\n" in simulation.messages("format_error")[0].content


def test_a_prompt_of_version_1_keeps_its_rule() -> None:
    replies = [Reply(text="```bash\nls\n```"), Reply(text=f"```sh\n{SUBMIT}\n```")]
    first = Simulation(list(replies), action_format="fenced", prompt="default-1")
    assert first.run().cause == "submitted"
    assert first.scripts_run() == ["ls"]
    second = Simulation(replies * 2, action_format="fenced", prompt="default-2")
    assert second.run().cause == "format_errors"
    assert second.scripts_run() == []


def test_a_refusal_ends_the_trial() -> None:
    assert Simulation([Reply(refusal="I will not")]).run().cause == "refusal"


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
    exit = Simulation([failed(error, retry=False)]).run()
    assert (exit.reason, exit.cause) == (reason, cause)


def test_a_failed_call_is_not_a_step_and_its_tries_are_counted() -> None:
    simulation = Simulation([failed("rate_limit", retry=True), failed("rate_limit", retry=True), calls(SUBMIT)])
    assert simulation.run().cause == "submitted"
    assert simulation.tally.steps == 1
    started = [event for event in simulation.events if event.type == "call_started"]
    assert [(event.step, event.try_) for event in started] == [(1, 1), (1, 2), (1, 3)]


def test_a_limit_of_five_steps_allows_five_calls() -> None:
    simulation = Simulation([calls("ls")] * 9, limits=Limits(steps=5))
    assert simulation.run().cause == "steps"
    assert simulation.calls_made == 5


def test_no_call_is_made_once_the_tokens_reach_their_limit() -> None:
    simulation = Simulation([calls("ls")] * 9, limits=Limits(tokens=30), usage=Usage(input=4, cache_read=5, output=1))
    assert simulation.run().cause == "tokens"
    assert simulation.calls_made == 3


def test_the_cost_limit_counts_the_billed_cost_rather_than_the_computed_cost() -> None:
    costs = Costs(billed=0.5, computed=99.0, list=99.0)
    simulation = Simulation([calls("ls")] * 9, limits=Limits(cost_usd=1.0), costs=costs)
    assert simulation.run().cause == "cost"
    assert simulation.calls_made == 2


def test_the_time_limit_counts_from_the_first_call_and_shortens_the_last_command() -> None:
    simulation = Simulation([calls("sleep")] * 9, limits=Limits(time_s=10.0), action_s=6.0)
    simulation.now_s = 1000.0  # a slow image pull
    exit = simulation.run()
    assert exit.cause == "time"
    deadlines = [event.deadline_s for event in simulation.events if event.type == "action_started"]
    assert deadlines == [9.0, 2.0]
    assert simulation.tally.wall_s(simulation.now_s) == pytest.approx(10.0)


def test_the_time_limit_is_checked_between_two_commands_of_a_reply() -> None:
    simulation = Simulation([calls("a", "b")], limits=Limits(time_s=5.0), action_s=60.0)
    exit = simulation.run()
    assert (exit.cause, exit.detail) == ("time", "5.0 of 5 s")
    assert simulation.scripts_run() == ["a"]


def test_waits_between_tries_count_as_wall_time_but_not_as_working_time() -> None:
    simulation = Simulation([failed("rate_limit", retry=True, wait_s=30.0), calls(SUBMIT)])
    simulation.run()
    assert simulation.tally.wall_s(simulation.now_s) == pytest.approx(32.0)
    assert simulation.tally.working_s(simulation.now_s) == pytest.approx(1.0)


def test_a_retry_is_not_made_past_the_time_limit() -> None:
    simulation = Simulation([failed("rate_limit", retry=True, wait_s=30.0), calls(SUBMIT)], limits=Limits(time_s=20.0))
    assert simulation.run().cause == "time"
    assert simulation.calls_made == 1


def test_a_warning_of_few_replies_left_stands_in_the_last_observation_of_a_step_only() -> None:
    simulation = Simulation([calls("a", "b")] * 30, limits=Limits(steps=25, time_s=None), prompt="default-1")
    simulation.run()
    by_step = {message.action: message.content for message in simulation.messages("observation")}
    assert "left" not in by_step["5.2"]
    assert "Only 19 replies left" in by_step["6.2"]
    assert "left" not in by_step["6.1"]
    assert "Only 1 reply left" in by_step["24.2"]


def test_a_warning_of_few_minutes_left_stands_in_the_observation() -> None:
    simulation = Simulation([calls("a"), calls(SUBMIT)], limits=Limits(time_s=300.0), prompt="default-1")
    simulation.run()
    assert "Only 5.0 minutes left" in simulation.messages("observation")[0].content


def test_a_lost_environment_ends_the_trial_as_infrastructure() -> None:
    simulation = Simulation([calls("a", "b")], results={"1.1": {"ended": "environment_lost", "exit_code": None}})
    exit = simulation.run()
    assert (exit.reason, exit.cause) == ("infrastructure", "environment_lost")
    assert simulation.scripts_run() == ["a"]


def test_a_command_that_ran_out_of_memory_does_not_end_the_trial() -> None:
    simulation = Simulation([calls("a"), calls(SUBMIT)], results={"1.1": {"ended": "oom", "exit_code": 137}})
    assert simulation.run().cause == "submitted"
    assert "out of memory" in simulation.messages("observation")[0].content


REPLIES = st.one_of(
    st.lists(st.sampled_from(["a", "b", SUBMIT]), min_size=1, max_size=3).map(lambda commands: calls(*commands)),
    st.just(Reply(text="nothing")),
    st.sampled_from([failed("rate_limit", retry=True, wait_s=1.0), failed("server_error", retry=False)]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(REPLIES, min_size=1, max_size=12), st.integers(1, 8))
def test_a_loop_fed_the_recorded_events_of_another_is_in_the_same_state(
    replies: list[Reply | CallFailed], steps: int
) -> None:
    """Replay, fork and resume depend on this: after any prefix of the events the next instruction is the same."""
    limits = Limits(steps=steps, time_s=50.0)
    simulation = Simulation([*replies, *[calls(SUBMIT)] * 20], limits=limits)
    exit = simulation.run()
    assert simulation.followed_again() == exit
    assert simulation.tally.steps == sum(isinstance(event, CallFinished) for event in simulation.events) <= steps
    assert simulation.tally.commands == sum(isinstance(event, ActionFinished) for event in simulation.events)
