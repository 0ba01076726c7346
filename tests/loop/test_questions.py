"""Questions of the agent in the loop: one stands alone, costs a step and no time, and is answered exactly once."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings, strategies as st

from agent.loop.actions import SUBMIT, Command, Malformed, Question, parse
from agent.models.protocol import FIRST_FENCE, Fence
from tests.loop.simulation import Simulation, asks, calls
from trajectories.record.events import Answered, Asked, Limits, Reply, ToolCall

FENCE = Fence("retrace_bash", "retrace_ask")


def block(text: str, tag: str = "retrace_ask") -> Reply:
    return Reply(text=f"I think.\n```{tag}\n{text}\n```")


def fenced(reply: Reply, fence: Fence = FENCE, finish_reason: str | None = None) -> object:
    (action,) = parse(reply, "fenced", finish_reason, fence)
    return action


def answers(simulation: Simulation) -> list[str]:
    return [message.content for message in simulation.messages("answer")]


def test_a_question_is_answered_and_costs_a_step_but_no_time() -> None:
    replies = [asks("Where to begin?"), calls("ls"), calls(SUBMIT)]
    simulation = Simulation(replies, questions=3, answer_s=5000.0, limits=Limits(time_s=100.0))
    assert simulation.run().cause == "submitted"
    (message,) = simulation.messages("answer")
    assert (message.role, message.tool_call_id) == ("tool", "q1")
    assert "answer 1" in message.content
    assert "Questions left: 2." in message.content
    assert simulation.tally.steps == 3
    assert simulation.tally.wall_s(simulation.now_s) == pytest.approx(4.0)


def test_a_model_without_tools_asks_in_a_block_of_its_own() -> None:
    replies = [block("Where?\nOr how?"), Reply(text=f"```retrace_bash\n{SUBMIT}\n```")]
    simulation = Simulation(replies, questions=1, action_format="fenced")
    assert simulation.run().cause == "submitted"
    (question,) = [event for event in simulation.events if isinstance(event, Asked)]
    assert (question.text, question.action, question.left) == ("Where?\nOr how?", "1.1", 1)
    assert simulation.messages("answer")[0].role == "user"


def test_ask_exists_only_with_an_expert() -> None:
    simulation = Simulation([asks("Anyone?")] * 3)
    assert simulation.run().cause == "format_errors"
    assert "there is no tool 'ask', only bash" in simulation.messages("format_error")[0].content
    assert isinstance(fenced(block("Anyone?"), Fence("retrace_bash")), Malformed)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(tool_calls=(*asks("q", "a").tool_calls, *calls("rm -r .").tool_calls)),
        Reply(tool_calls=(*calls("rm -r .").tool_calls, *asks("q", "a").tool_calls)),
        Reply(tool_calls=(*asks("q", "a").tool_calls, *asks("r", "b").tool_calls)),
    ],
)
def test_a_question_beside_another_call_is_a_format_error_that_states_it_and_nothing_is_done(reply: Reply) -> None:
    simulation = Simulation([reply, calls(SUBMIT)], questions=3)
    assert simulation.run().cause == "submitted"
    errors = simulation.messages("format_error")
    assert [error.tool_call_id for error in errors] == [call.id for call in reply.tool_calls]
    assert all("a question must stand alone in its reply" in error.content for error in errors)
    assert simulation.scripts_run() == []
    assert not any(isinstance(event, Asked) for event in simulation.events)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("```retrace_ask\nq\n```\n```retrace_bash\nrm -r .\n```", "must stand alone"),
        ("```retrace_bash\nrm -r .\n```\n```retrace_ask\nq\n```", "must stand alone"),
        ("```retrace_ask\nq\n```\n```retrace_ask\nr\n```", "another fence follows"),
        ("```retrace_ask\nq", "not closed"),
        ("- ```retrace_ask\n  q\n  ```", "from the first column on"),
        ("```retrace_ask\n \n```", "its question is empty"),
    ],
)
def test_a_fenced_question_is_asked_as_it_was_written_or_not_at_all(text: str, problem: str) -> None:
    action = fenced(Reply(text=text))
    assert isinstance(action, Malformed)
    assert problem in action.problem


def test_a_question_that_was_cut_off_is_not_asked() -> None:
    action = fenced(block("What"), finish_reason="length")
    assert isinstance(action, Malformed)
    assert "its question was not asked" in action.problem


def test_a_tag_of_questions_inside_of_a_command_is_a_part_of_the_command() -> None:
    script = "cat <<'EOF'\n```retrace_ask\nno\n```\nEOF"
    assert fenced(Reply(text=f"````retrace_bash\n{script}\n````")) == Command(script)


def test_prompts_of_version_1_ask_by_the_same_tag() -> None:
    first = Fence(FIRST_FENCE.tag, "retrace_ask")
    assert fenced(block("Where?"), first) == Question("Where?")
    assert fenced(block("ls", "bash"), first) == Command("ls")
    both = fenced(Reply(text="```retrace_ask\nq\n```\n```bash\nls\n```"), first)
    assert isinstance(both, Malformed)


@pytest.mark.parametrize("arguments", ["{", "[]", '{"question": 3}', '{"command": "ls"}', '{"question": "  "}'])
def test_a_broken_question_is_a_format_error(arguments: str) -> None:
    broken = Reply(tool_calls=(ToolCall(id="x", name="ask", arguments=arguments),))
    simulation = Simulation([broken, calls(SUBMIT)], questions=1)
    assert simulation.run().cause == "submitted"
    assert len(simulation.messages("format_error")) == 1


def test_an_agent_that_asks_a_hundred_times_is_answered_as_often_as_allowed() -> None:
    replies = [asks(f"number {number}", f"q{number}") for number in range(100)]
    simulation = Simulation([*replies, calls(SUBMIT)], questions=2, limits=Limits(steps=200))
    assert simulation.run().cause == "submitted"
    assert [("answer 1" in text, "answer 2" in text) for text in answers(simulation)[:2]] == [(1, 0), (0, 1)]
    assert len(set(answers(simulation)[2:])) == 1
    assert "no questions left" in answers(simulation)[-1]
    left = [event.left for event in simulation.events if isinstance(event, Asked)]
    assert left == [2, 1] + [0] * 98


def test_refused_answers_are_asked_for_again_and_the_agent_gets_only_the_last_result() -> None:
    replies = [asks("a"), asks("b", "q2"), asks("c", "q3"), calls(SUBMIT)]
    statuses = ["refused", "given", "refused", "refused", "refused", "nobody"]
    simulation = Simulation(replies, questions=3, statuses=statuses)
    simulation.run()
    tries = [(event.question, event.try_, event.status) for event in simulation.events if isinstance(event, Answered)]
    assert tries == [
        (1, 1, "refused"),
        (1, 2, "given"),
        (2, 1, "refused"),
        (2, 2, "refused"),
        (2, 3, "replaced"),
        (3, 1, "nobody"),
    ]
    given, replaced, nobody = answers(simulation)
    assert "answer 1" in given
    assert "withheld" in replaced
    assert "No one is available" in nobody


def test_nobody_is_asked_for_an_agent_that_could_not_use_the_answer() -> None:
    simulation = Simulation([calls("ls"), asks("too late?")], questions=1, limits=Limits(steps=2))
    assert simulation.run().cause == "steps"
    assert not any(isinstance(event, Asked) for event in simulation.events)


REPLIES = st.one_of(
    st.lists(st.sampled_from(["ls", "pwd"]), min_size=1, max_size=2).map(lambda commands: calls(*commands)),
    st.just(asks("what now?")),
    st.just(Reply(tool_calls=(*asks("q", "a").tool_calls, *calls("ls").tool_calls))),
    st.just(Reply(text="nothing")),
    st.just(Reply(tool_calls=(ToolCall(id="e", name="ask", arguments=json.dumps({"question": ""})),))),
)
STATUSES = st.lists(st.sampled_from(["given", "refused", "nobody"]), max_size=8)


@settings(max_examples=60, deadline=None)
@given(st.lists(REPLIES, min_size=1, max_size=10), STATUSES, st.integers(1, 3), st.integers(1, 12))
def test_a_loop_that_is_fed_a_record_with_questions_goes_on_where_it_ended(
    replies: list[Reply], statuses: list[str], questions: int, steps: int
) -> None:
    """Resume depends on this: after any prefix of the events the next instruction is the recorded one."""
    simulation = Simulation(
        [*replies, *[calls(SUBMIT)] * 12], questions=questions, statuses=statuses, limits=Limits(steps=steps)
    )
    exit = simulation.run()
    assert simulation.followed_again() == exit
    asked = [event for event in simulation.events if isinstance(event, Asked)]
    last = {event.question: event.status for event in simulation.events if isinstance(event, Answered)}
    assert [event.question for event in asked] == list(range(1, len(asked) + 1)) == list(last)
    assert sum(event.left > 0 for event in asked) <= questions
    assert "refused" not in last.values()
    assert len(simulation.messages("answer")) == len(asked)
