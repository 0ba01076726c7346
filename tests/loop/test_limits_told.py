"""What a model is told of its limits, and when, through the loop and the newest prompt."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agent.loop.actions import SUBMIT
from tests.loop.simulation import Simulation, calls
from trajectories.record.events import Limits, Reply
from trajectories.record.usage import Costs, Usage


def left(simulation: Simulation) -> list[str]:
    """Return, for each answer to the model, what it tells of the limits."""
    simulation.run()
    answers = [event for event in simulation.events if getattr(event, "why", "") in ("observation", "format_error")]
    return [(re.findall(r"^Left: .*", answer.content, re.M) or [""])[0] for answer in answers]  # type: ignore[attr-defined]


def test_replies_left_are_information_and_urgent_in_the_last_five() -> None:
    told = left(Simulation([calls("a")] * 26, limits=Limits(steps=26, time_s=None)))
    assert told[5] == ""
    assert told[6] == "Left: 19 replies."
    assert told[19] == "Left: 6 replies."
    assert told[20] == "Left: 5 replies. Finish and submit."
    assert told[24] == "Left: 1 reply. Finish and submit."


def test_minutes_left_are_urgent_in_the_last_tenth() -> None:
    told = left(Simulation([calls("a")] * 99, limits=Limits(steps=None, time_s=2000.0), action_s=99.0))
    assert told[13] == ""
    assert told[14] == "Left: 8.3 minutes."
    assert told[17] == "Left: 3.3 minutes. Finish and submit."


def test_tokens_and_dollars_left_are_told_in_the_last_fifth() -> None:
    limits = Limits(steps=None, time_s=None, tokens=1000, cost_usd=100.0)
    each = Usage(input=90, output=10)
    told = left(Simulation([calls("a")] * 10, limits=limits, usage=each))
    assert told[:7] == [""] * 7
    assert told[7:9] == ["Left: 200 tokens.", "Left: 100 tokens. Finish and submit."]
    costs = Costs(billed=None, computed=12.0, list=12.0)
    told = left(Simulation([calls("a")] * 10, limits=limits.model_copy(update={"tokens": None}), costs=costs))
    assert told[5:8] == ["", "Left: $16.00.", "Left: $4.00. Finish and submit."]


def test_a_limit_that_cannot_be_kept_is_not_told() -> None:
    limits = Limits(steps=None, time_s=None, cost_usd=100.0)
    unknown = Costs(billed=None, computed=None, list=None)
    assert set(left(Simulation([calls("a")] * 5 + [calls(SUBMIT)], limits=limits, costs=unknown))) == {""}


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        (Reply(text="nothing"), ["Left: 2 replies. Finish and submit."]),
        (calls("a").model_copy(update={"tool_calls": (*calls("a", "b").tool_calls[1:],)}), None),
    ],
)
def test_format_errors_tell_what_is_left(reply: Reply, answers: list[str] | None) -> None:
    told = left(Simulation([reply, calls(SUBMIT)], limits=Limits(steps=3, time_s=None)))
    assert told == (answers or ["Left: 2 replies. Finish and submit."])


def test_one_answer_of_a_step_tells_what_is_left() -> None:
    mixed = calls("a", "b")
    broken = mixed.tool_calls[1].model_copy(update={"arguments": "{"})
    for order in ((mixed.tool_calls[0], broken), (broken, mixed.tool_calls[0])):
        told = left(Simulation([Reply(tool_calls=order), calls(SUBMIT)], limits=Limits(steps=3, time_s=None)))
        assert sorted(told) == ["", "Left: 2 replies. Finish and submit."]
    both = Reply(tool_calls=(broken, broken.model_copy(update={"id": "c3"})))
    told = left(Simulation([both, calls(SUBMIT)], limits=Limits(steps=3, time_s=None)))
    assert told == ["", "Left: 2 replies. Finish and submit."]


NEAR = [
    f"cd /workspace && {SUBMIT}",
    f"{SUBMIT};",
    f"make\n{SUBMIT}",
    "echo 'COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT'",
    "echo COMPLETE_TASK_AND_SUBMIT",
]


@pytest.mark.parametrize("script", NEAR)
def test_a_command_that_nearly_submits_runs_and_is_answered_with_the_way_to_submit(script: str) -> None:
    simulation = Simulation([calls(script, "ls"), calls(SUBMIT)])
    assert simulation.run().cause == "submitted"
    assert simulation.scripts_run() == [script, "ls"]
    first, second = (message.content for message in simulation.messages("observation"))
    assert f"This did not submit your work. To submit, run exactly `{SUBMIT}`" in first
    assert "submit" not in second.replace(script, "")


@pytest.mark.parametrize(
    ("action_format", "reply"),
    [
        ("tool", Reply(text=SUBMIT)),
        (
            "tool",
            calls("x").model_copy(
                update={"tool_calls": (calls(SUBMIT).tool_calls[0].model_copy(update={"name": "sh"}),)}
            ),
        ),
        ("fenced", Reply(text=f"Finished.\n\n```bash\n{SUBMIT}\n```\n")),
        ("fenced", Reply(text=SUBMIT)),
    ],
)
def test_a_reply_that_means_to_submit_and_cannot_be_used_learns_how(action_format: Any, reply: Reply) -> None:
    good = calls(SUBMIT) if action_format == "tool" else Reply(text=f"```retrace_bash\n{SUBMIT}\n```")
    simulation = Simulation([reply, good], action_format=action_format)
    assert simulation.run().cause == "submitted"
    (answer,) = simulation.messages("format_error")
    assert f"Nothing was submitted. To submit, run exactly `{SUBMIT}`, alone" in answer.content
