"""A simulated trial: plain data takes the place of model and environment, and the loop is the real one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from agent.loop.instructions import Ask, Consult, Run, Say, Stop
from agent.loop.loop import Loop
from agent.loop.texts import PromptTexts
from agent.models.protocol import ActionFormat
from agent.trial.limits import LimitCheck
from prompts import load
from trajectories.reading.totals.tally import Tally
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    Answered,
    Asked,
    BaseEvent,
    CallFailed,
    CallFinished,
    CallStarted,
    Limits,
    Message,
    Output,
    Paused,
    Reply,
    Resumed,
    ToolCall,
)
from trajectories.record.exits import Exit
from trajectories.record.interventions import AnswerStatus
from trajectories.record.usage import Costs, Usage

OPENING = [Say("system", "be good", "system"), Say("user", "do it", "task")]
SOME_TOKENS = Usage(input=10, output=1)
FREE = Costs(billed=0.0, computed=0.0, list=0.0)


def calls(*commands: str) -> Reply:
    """Return a reply with a call of bash for each command."""
    return Reply(
        tool_calls=tuple(
            ToolCall(id=f"c{i}", name="bash", arguments=json.dumps({"command": command}))
            for i, command in enumerate(commands, 1)
        )
    )


def asks(question: str, id: str = "q1") -> Reply:
    """Return a reply with a call of ask."""
    return Reply(tool_calls=(ToolCall(id=id, name="ask", arguments=json.dumps({"question": question})),))


def output(text: str = "") -> Output:
    data = text.encode()
    return Output(bytes=len(data), kept=len(data), sha256="0" * 64, text=text)


@dataclass
class Simulation:
    """Answers the instructions of a loop with replies and results, and keeps the events."""

    replies: list[Reply | CallFailed]
    limits: Limits = Limits()
    action_format: ActionFormat = "tool"
    prompt: str = "default"
    usage: Usage = SOME_TOKENS
    costs: Costs = FREE
    finish_reason: str | None = None
    questions: int = 0
    """Number of questions that an expert answers."""
    statuses: list[AnswerStatus] = field(default_factory=list)
    """Statuses of the expert's answers, in order; the last try is never refused, and later answers are given."""
    answer_s: float = 0.0
    wait_s: float = 0.0
    """Seconds that each call waits at the gate."""
    call_s: float = 1.0
    action_s: float = 1.0
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    events: list[BaseEvent] = field(default_factory=list)
    now_s: float = 0.0
    calls_made: int = 0
    tries: list[int] = field(default_factory=list)
    """Number of the try of each call that counts against the retries."""

    def __post_init__(self) -> None:
        self.loop = self.new_loop()

    @property
    def tally(self) -> Tally:
        return self.check.tally

    def new_loop(self) -> Loop:
        self.check = LimitCheck(self.limits)
        texts = PromptTexts(load(self.prompt))
        fence = replace(texts.fence, asks=texts.ask_fence if self.questions else None)
        return Loop(OPENING, self.check, self.action_format, fence, texts, self.questions)

    def run(self) -> Exit:
        """Follow the instructions of the loop until it stops; return its exit."""
        while True:
            instruction = self.loop.next(self.now_s)
            match instruction:
                case Say():
                    self._feed(
                        Message(
                            id=f"m{len(self.events)}",
                            role=instruction.role,
                            content=instruction.content,
                            why=instruction.why,
                            tool_call_id=instruction.tool_call_id,
                            action=instruction.action,
                        )
                    )
                case Ask():
                    self._ask(instruction)
                case Run():
                    self._run(instruction)
                case Consult():
                    self._consult(instruction)
                case Stop():
                    return instruction.exit

    def _ask(self, ask: Ask) -> None:
        self.calls_made += 1
        self.tries.append(ask.tries)
        if self.wait_s:
            self._feed(Paused(why="queue"))
            self.now_s += self.wait_s
            self._feed(Resumed())
        self._feed(CallStarted(step=ask.step, try_=ask.try_, message_ids=(), messages=0, messages_sha256=""))
        self.now_s += self.call_s
        answer = self.replies.pop(0)
        if isinstance(answer, CallFailed):
            self._feed(answer.model_copy(update={"step": ask.step, "try_": ask.try_, "latency_s": self.call_s}))
            self.now_s += answer.wait_s
            return
        self._feed(
            CallFinished(
                step=ask.step,
                try_=ask.try_,
                id="r",
                reply=answer,
                finish_reason=self.finish_reason,
                usage=self.usage,
                costs=self.costs,
                model_requested="m",
                latency_s=self.call_s,
            )
        )

    def _run(self, run: Run) -> None:
        self._feed(
            ActionStarted(
                action=run.action,
                step=run.step,
                script=run.script,
                tool_call_id=run.tool_call_id,
                deadline_s=run.deadline_s,
            )
        )
        took = min(self.action_s, run.deadline_s)
        self.now_s += took
        result = {"ended": "exited", "exit_code": 0, "output": output(run.script), **self.results.get(run.action, {})}
        self._feed(
            ActionFinished(action=run.action, step=run.step, tool_call_id=run.tool_call_id, duration_s=took, **result)
        )

    def _consult(self, consult: Consult) -> None:
        """Answer as the driver does: one answer at a time, until one is not refused."""
        if not consult.recorded:
            self._feed(
                Asked(
                    question=consult.question,
                    action=consult.action,
                    step=consult.step,
                    text=consult.text,
                    left=consult.left,
                    tool_call_id=consult.tool_call_id,
                )
            )
        status: AnswerStatus = "nobody"
        if consult.left:
            self._feed(Paused(why="guidance"))
            self.now_s += self.answer_s
            status = self.statuses.pop(0) if self.statuses else "given"
            if status == "refused" and consult.try_ >= 3:
                status = "replaced"
        text = f"answer {consult.question}" if status == "given" else ""
        self._feed(
            Answered(question=consult.question, try_=consult.try_, by="file", status=status, text=text, rule="none")
        )
        if consult.left:
            self._feed(Resumed())

    def followed_again(self) -> Exit | None:
        """Feed the recorded events to a new loop, whose instructions must be the recorded ones; return its exit."""
        loop = self.new_loop()
        for event in self.events:
            instruction = loop.next(event.mono_s)
            match event:
                case Message():
                    assert isinstance(instruction, Say)
                    assert (instruction.role, instruction.content) == (event.role, event.content)
                case CallStarted():
                    assert isinstance(instruction, Ask)
                case ActionStarted():
                    assert isinstance(instruction, Run)
                    assert instruction.script == event.script
                case Asked():
                    assert isinstance(instruction, Consult)
                    assert (instruction.question, instruction.left) == (event.question, event.left)
                    assert not instruction.recorded
                case Answered():
                    assert isinstance(instruction, Consult)
                    assert (instruction.question, instruction.try_) == (event.question, event.try_)
                    assert instruction.recorded
            loop.feed(event)
        return getattr(loop.next(self.now_s), "exit", None)

    def _feed(self, event: BaseEvent) -> None:
        event = event.model_copy(update={"seq": len(self.events), "mono_s": self.now_s})
        self.events.append(event)
        self.loop.feed(event)

    def messages(self, reason: str) -> list[Message]:
        return [event for event in self.events if isinstance(event, Message) and event.why == reason]

    def scripts_run(self) -> list[str]:
        return [event.script for event in self.events if isinstance(event, ActionStarted)]
