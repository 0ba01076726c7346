"""The work of a step and of a call is the same at any length of the trial: calls of Python functions are counted."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from agent.loop.actions import SUBMIT
from agent.loop.worker import LoopWorker
from agent.models.growing import Replies
from agent.models.litellm.wire_history import WireHistory, chat_items, marker, responses_items
from agent.models.protocol import AssistantTurn
from agent.trial.fresh import Fresh
from agent.trial.options import Options
from agent.trial.resolve import resolve
from agent.trial.run import run_new
from tests.solve.command import script
from trajectories.record.events import BaseEvent, CallFinished, Message, Reply, ToolCall

ROOT = str(Path(__file__).parents[2])


class Counter:
    """Counts calls of functions, and every item of a generator."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        self.calls += event == "call"


@contextmanager
def counting() -> Iterator[Counter]:
    counter = Counter()
    sys.setprofile(counter)
    try:
        yield counter
    finally:
        sys.setprofile(None)


class Watch:
    """Notes how many calls of functions each step took."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self.at_step: list[int] = []

    def feed(self, event: BaseEvent) -> None:
        if isinstance(event, CallFinished):
            self.at_step.append(self._counter.calls)

    def note(self, line: str) -> None:
        pass


def test_a_step_of_a_trial_takes_the_same_work_at_any_step(tmp_path: Path) -> None:
    (tmp_path / "start").mkdir()
    model = script(tmp_path, *["true"] * 400, SUBMIT)
    order = resolve(
        Options(
            instruction="Work hard.",
            workspace=tmp_path / "start",
            env="local",
            model=model,
            runs=tmp_path / "runs",
            step_limit=500,
        )
    )
    with counting() as counter:
        watch = Watch(counter)
        run_new(order, Fresh(), LoopWorker(order), watch)
    work = [after - before for before, after in zip(watch.at_step, watch.at_step[1:], strict=False)]
    early, late = sorted(work[20:120])[50], sorted(work[-100:])[50]
    assert late <= early * 1.02, (early, late)


def entries(count: int) -> list[Message | AssistantTurn]:
    history: list[Message | AssistantTurn] = [Message(id="m0", role="system", content="s", why="system")]
    for number in range(count):
        call = ToolCall(id=f"call_{number}", name="bash", arguments='{"command": "ls"}')
        sent = {"id": call.id, "type": "function", "function": {"name": "bash", "arguments": call.arguments}}
        message = {"role": "assistant", "content": "I look.", "tool_calls": [sent]}
        history.append(AssistantTurn(f"a{number}", Reply(text="I look.", tool_calls=(call,), message=message)))
        history.append(
            Message(id=f"m{number + 1}", role="tool", content="out" * 100, why="observation", tool_call_id=call.id)
        )
    return history


def work_of_a_call(length: int, convert: Callable[..., Any]) -> int:
    """Return the number of function calls that one request at this length takes."""
    history = entries(length)
    wire, replies, mark = WireHistory(convert), Replies(), marker("message", "5m")
    wire.items(history, mark)
    replies.take_in(history)
    history += entries(1)[1:]
    with counting() as counter:
        wire.items(history, mark)
        replies.take_in(history)
    return counter.calls


@pytest.mark.parametrize("convert", [chat_items, responses_items])
def test_a_request_takes_the_same_work_at_any_length(convert: Callable[..., Any]) -> None:
    assert work_of_a_call(2000, convert) == work_of_a_call(20, convert)


def test_a_change_by_the_client_is_undone_in_the_next_request() -> None:
    wire = WireHistory(chat_items)
    history = entries(3)
    before = wire.items(history)
    original = [str(item) for item in before]
    before[1]["tool_calls"][0]["function"].pop("name")
    before[2]["content"] = "changed"
    before.pop(0)
    assert [str(item) for item in wire.items(history)] == original


def test_a_call_that_was_abandoned_shares_nothing_with_the_next_one() -> None:
    wire = WireHistory(chat_items)
    history = entries(3)
    abandoned = wire.items(history)
    wire.renew()
    following = wire.items(history)
    assert following == abandoned
    assert not {id(item) for item in following} & {id(item) for item in abandoned}


def test_another_history_is_converted_anew() -> None:
    wire, replies = WireHistory(chat_items), Replies()
    for history in (entries(5), entries(2), [*entries(3)][:4], []):
        assert wire.items(history) == WireHistory(chat_items).items(history)
        replies.take_in(history)
        assert replies.count == sum(isinstance(entry, AssistantTurn) for entry in history)
        assert len(replies.call_ids) == replies.count


def test_a_copy_of_everything_is_compared_in_a_small_part_of_the_time_of_making_it() -> None:
    """The claim behind working copies: in the same run, in processor time."""
    from agent.models.litellm.wire_history import fresh

    wire = WireHistory(chat_items)
    history = entries(1000)
    items = wire.items(history)
    took = []
    for work in (lambda: wire.items(history), lambda: [fresh(item) for item in items]):
        began = time.process_time()
        for _ in range(20):
            work()
        took.append(time.process_time() - began)
    assert took[0] < took[1] / 3
