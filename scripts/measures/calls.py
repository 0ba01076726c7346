"""Measures of a long trial: processor time of a step, and our own share of a provider's call.

The translation of a call is litellm's, and grows with the conversation; its share is printed and has no target.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent.loop.actions import SUBMIT
from agent.loop.worker import LoopWorker
from agent.models.litellm.model import LiteLLMModel
from agent.models.protocol import AssistantTurn
from agent.trial.fresh import Fresh
from agent.trial.options import Options
from agent.trial.resolve import resolve
from agent.trial.run import run_new
from scripts.measures.figures import Figure
from trajectories.record.events import BaseEvent, CallFinished, Message, Reply, ToolCall

STEPS = 3000
AT = 1000
_CALLS = 15


def measure() -> Iterator[Figure]:
    """Yield all figures."""
    yield from own_share()
    yield cpu_of_steps()


class _Watch:
    """Notes the processor time of this process at each step."""

    def __init__(self) -> None:
        self.cpu_s: list[float] = []

    def feed(self, event: BaseEvent) -> None:
        if isinstance(event, CallFinished):
            self.cpu_s.append(time.process_time())

    def note(self, line: str) -> None:
        pass


def cpu_of_steps() -> Figure:
    """Compare the processor time of a long trial's last steps with that of a short trial's steps right after it."""
    late = statistics.median(_cpu_s(STEPS)[-STEPS // 10 :])
    early = statistics.median(_cpu_s(STEPS // 10))
    detail = f"{1000 * late:.2f} ms against {1000 * early:.2f} ms of the harness in a trial right after it, local"
    return Figure(f"processor time, last tenth of {STEPS} steps over the first", late / early, "", 1.1, detail)


def _cpu_s(steps: int) -> list[float]:
    """Run a trial of so many steps; return the seconds of processor time of each."""
    with tempfile.TemporaryDirectory() as folder:
        (start := Path(folder, "start")).mkdir()
        script = Path(folder, "script.json")
        script.write_text(json.dumps(["echo hello; seq 40"] * steps + [SUBMIT]))
        order = resolve(
            Options(
                instruction="Run commands.",
                workspace=start,
                env="local",
                model=f"script:{script}",
                runs=Path(folder, "runs"),
                step_limit=steps + 1,
                time_limit_s=24 * 3600.0,
            )
        )
        watch = _Watch()
        run_new(order, Fresh(), LoopWorker(order), watch)
    return [after - before for before, after in zip(watch.cpu_s, watch.cpu_s[1:], strict=False)]


class _Metered(LiteLLMModel):
    """Measures the processor time inside of litellm, in the thread of the call."""

    litellm_s = 0.0

    def _call_chat(self, messages: Any, arguments: Any) -> Any:
        began = time.thread_time()
        try:
            return super()._call_chat(messages, arguments)
        finally:
            self.litellm_s = time.thread_time() - began

    def _ask_chat(self, messages: Any, timeout_s: float, wire: Any) -> Any:
        began = time.thread_time()
        try:
            return super()._ask_chat(messages, timeout_s, wire)
        finally:
            self.worker_s = time.thread_time() - began


def own_share() -> Iterator[Figure]:
    """Measure calls of chat completions at step 1,000 and at step 10, in processor time."""
    (late, late_theirs), (early, early_theirs) = _shares(AT), _shares(10)
    detail = f"litellm takes {1000 * late_theirs:.0f} ms, at step 10 {1000 * early_theirs:.0f} ms"
    yield Figure(f"our own share of a call at step {AT}", 1000 * late, "ms", 10, detail)
    detail = "one comparison of what was sent, to find changes by litellm; all else is the same at any step"
    yield Figure(f"growth of our own share over {AT} steps", 1000 * (late - early), "ms", 2, detail)


def _shares(steps: int) -> tuple[float, float]:
    """Return the seconds of processor time of a call outside and inside of litellm."""
    from tests.wire.replies import Turn
    from tests.wire.server import WireServer
    from tests.wire.talk import Talk

    with WireServer(Turn(commands=("ls",)) for _ in range(_CALLS + 5)) as server:
        model = _Metered("openai/gpt-wire", "openai/gpt-wire", {}, server.base("chat"))
        talk = Talk(model, server)
        for number in range(steps):
            call = ToolCall(id=f"own_{number}", name="bash", arguments='{"command": "make 2>&1 | tail -20"}')
            sent = {"id": call.id, "type": "function", "function": {"name": "bash", "arguments": call.arguments}}
            message = {"role": "assistant", "content": "I look.", "tool_calls": [sent]}
            talk.history.append(AssistantTurn(f"r{number}", Reply(text="I look.", tool_calls=(call,), message=message)))
            shown = "a line of output\n" * 60
            talk.history.append(
                Message(id=f"o{number}", role="tool", content=shown, why="observation", tool_call_id=call.id)
            )
        own, theirs = [], []
        for number in range(_CALLS + 5):
            began = time.thread_time()
            talk.ask(60)
            if number >= 5:
                own.append(time.thread_time() - began + model.worker_s - model.litellm_s)
                theirs.append(model.litellm_s)
        model.close()
    return statistics.median(own), statistics.median(theirs)
