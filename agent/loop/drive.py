"""Performs what the loop says, and records what came of it.

All I/O of a running trial passes here: every event is on disk before what it announces happens. No
decision is taken here but whether a failed call is tried again, which is the retry policy's.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from agent.loop.loop import Ask, Loop, Run, Say, Stop
from agent.models.protocol import AssistantTurn, CallFailure, Completion, Model, Request
from agent.models.retries import RetryPolicy
from agent.trial.snapshots import Snapshots
from environments.protocol import DiskFull, Environment, EnvironmentLost, Execution
from scoring.pricing.cost import price_call
from scoring.pricing.tables import PriceTable
from trajectories.interrupts import interruptible
from trajectories.record.conversation import Conversation
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    BaseEvent,
    CallFailed,
    CallFinished,
    CallStarted,
    InheritedReply,
    Message,
    Warned,
)
from trajectories.record.exits import Exit
from trajectories.record.text import storable
from trajectories.record.usage import Usage
from trajectories.writing.recorder import Recorder

_NO_TIME_LIMIT_S = 24 * 3600.0


class Driver:
    """Runs one trial's loop to its end.

    Raises: RecordFull, DiskFull, EnvironmentFault; KeyboardInterrupt where the user interrupts. The record then holds
    everything that was finished.
    """

    def __init__(
        self,
        loop: Loop,
        model: Model,
        environment: Environment,
        recorder: Recorder,
        *,
        prices: PriceTable,
        retries: RetryPolicy,
        snapshots: Snapshots,
    ) -> None:
        self._loop = loop
        self._model = model
        self._environment = environment
        self._recorder = recorder
        self._prices = prices
        self._retries = retries
        self._snapshots = snapshots
        self._conversation = Conversation()
        self._history: list[Message | AssistantTurn] = []
        self._warned = False

    @property
    def steps(self) -> int:
        """Steps so far."""
        return self._loop.tally.steps

    def take_in(self, events: Iterable[BaseEvent]) -> None:
        """Begin where a record ends: nothing of it is done or written again."""
        for event in events:
            match event:
                case Message():
                    self._turn(event, event)
                case CallFinished() | InheritedReply():
                    self._turn(event, AssistantTurn(event.id, event.reply))
                case CallStarted():
                    self._conversation.take_new_ids()
            self._loop.feed(event)

    def inherit(self, turns: Iterable[Say | Message | CallFinished | InheritedReply]) -> None:
        """Copy the conversation of a parent into this trial's record, under ids of its own."""
        for turn in turns:
            id = f"m{len(self._history) + 1}"
            if isinstance(turn, CallFinished):
                turn = InheritedReply(id=id, step=turn.step, reply=turn.reply, model_served=turn.model_served)
            if isinstance(turn, InheritedReply):
                reply = self._recorder.append(turn.model_copy(update={"id": id}))
                self._turn(reply, AssistantTurn(id, reply.reply))
                continue
            if isinstance(turn, Say):
                turn = Message(id=id, role=turn.role, content=storable(turn.content), why=turn.why)
            message = self._recorder.append(turn.model_copy(update={"id": id, "inherited": True}))
            self._turn(message, message)

    def say(self, say: Say) -> None:
        """Have this said before the next call."""
        self._loop.say(say)

    def call_was_lost(self, call: CallStarted) -> None:
        """The harness died during this call: what it used is unknown, and it is made again."""
        self.take_in([call])
        free = self._model.info.free
        failed = CallFailed(
            step=call.step,
            try_=call.try_,
            error="interrupted",
            detail="the harness died during this call",
            retry=True,
            usage=None if free is None else Usage(input=0, output=0),
            costs=free,
            latency_s=0.0,
        )
        self._loop.feed(self._recorder.append(failed))

    def run(self) -> Exit:
        """Follow the loop until it stops; after each step the workspace is kept."""
        while True:
            instruction = self._loop.next(self._recorder.now_s)
            if isinstance(instruction, Ask | Stop):
                self._snapshots.after_step(self.steps)
            match instruction:
                case Say():
                    self._say(instruction)
                case Ask():
                    self._ask(instruction)
                case Run():
                    self._run(instruction)
                case Stop():
                    return instruction.exit

    def _say(self, say: Say) -> None:
        message = self._recorder.append(
            Message(
                id=f"m{len(self._history) + 1}",
                role=say.role,
                content=storable(say.content),
                why=say.why,
                tool_call_id=say.tool_call_id,
                action=say.action,
            )
        )
        sent = message.model_copy(update={"tool_call_id": say.tool_call_id})  # the reply that is sent back has it
        self._turn(message, sent)
        self._loop.feed(message)

    def _turn(self, event: Message | CallFinished | InheritedReply, turn: Message | AssistantTurn) -> None:
        self._conversation.add(event)
        self._history.append(turn)

    def _ask(self, ask: Ask) -> None:
        started = self._recorder.append(
            CallStarted(
                step=ask.step,
                try_=ask.try_,
                message_ids=self._conversation.take_new_ids(),
                messages=len(self._history),
                messages_sha256=self._conversation.sha256,
                parameters=self._model.info.parameters,
            )
        )
        self._recorder.sync()
        self._loop.feed(started)
        request = Request(ask.step, ask.try_, self._history, ask.within_s or _NO_TIME_LIMIT_S)
        began = time.monotonic()
        answer: Completion | None = None
        try:
            with interruptible():
                answer = self._model.ask(request)
        except CallFailure as failure:
            self._failed(ask, failure, time.monotonic() - began)
        except KeyboardInterrupt:
            latency_s = time.monotonic() - began
            if answer is None:
                self._failed(ask, CallFailure("interrupted", "interrupted by the user"), latency_s)
            else:  # it came just before: a reply that was paid for is kept
                self._answered(ask, answer, latency_s)
            raise
        else:
            self._answered(ask, answer, time.monotonic() - began)

    def _answered(self, ask: Ask, answer: Completion, latency_s: float) -> None:
        requested = self._model.info.ref.name
        finished = self._recorder.append(
            CallFinished(
                step=ask.step,
                try_=ask.try_,
                id=f"m{len(self._history) + 1}",
                reply=answer.reply,
                finish_reason=answer.finish_reason,
                usage_raw=answer.usage_raw,
                usage=answer.usage,
                costs=self._model.info.free
                or price_call(
                    answer.usage,
                    self._prices,
                    requested=requested,
                    served=answer.model_served,
                    billed_usd=answer.billed_usd,
                    service_tier=self._service_tier,
                ),
                model_requested=requested,
                model_served=answer.model_served,
                latency_s=latency_s,
            )
        )
        self._turn(finished, AssistantTurn(finished.id, answer.reply))
        self._loop.feed(finished.model_copy(update={"reply": answer.reply}))  # what is run is not masked
        self._warn_of_blind_limits()

    def _failed(self, ask: Ask, failure: CallFailure, latency_s: float) -> None:
        wait_s = self._retries.wait_s(failure, ask.try_)
        usage, costs = failure.usage, self._model.info.free
        if costs is not None:
            usage = usage or Usage(input=0, output=0)
        elif usage is not None or failure.billed_usd is not None:
            costs = price_call(
                usage,
                self._prices,
                requested=self._model.info.ref.name,
                served=None,
                billed_usd=failure.billed_usd,
                service_tier=self._service_tier,
            )
        failed = self._recorder.append(
            CallFailed(
                step=ask.step,
                try_=ask.try_,
                error=failure.error,
                detail=storable(failure.detail),
                status=failure.status,
                retry=wait_s is not None,
                wait_s=wait_s or 0.0,
                usage_raw=failure.usage_raw,
                usage=usage,
                costs=costs,
                latency_s=latency_s,
            )
        )
        self._loop.feed(failed)
        if wait_s is not None:
            with interruptible():
                time.sleep(wait_s if ask.within_s is None else max(0.0, min(wait_s, ask.within_s - latency_s)))

    @property
    def _service_tier(self) -> str | None:
        tier = self._model.info.parameters.get("service_tier")
        return tier if isinstance(tier, str) else None

    def _warn_of_blind_limits(self) -> None:
        """Once: a limit on tokens or dollars cannot be kept while the provider does not say what a call used."""
        blind = self._loop.blind_limits()
        if blind and not self._warned:
            self._warned = True
            text = f"the {' and the '.join(blind)} limit cannot be kept: the provider does not say what a call used"
            self._recorder.append(Warned(kind="limit_not_kept", text=text))

    def _run(self, run: Run) -> None:
        script = storable(run.script)
        started = self._recorder.append(
            ActionStarted(
                action=run.action,
                step=run.step,
                script=script,
                tool_call_id=run.tool_call_id,
                deadline_s=run.deadline_s,
            )
        )
        self._recorder.sync()
        self._loop.feed(started)
        result: Execution | None = None
        try:
            with interruptible():
                result = self._environment.execute(script, deadline_s=run.deadline_s)
        except DiskFull:
            raise
        except EnvironmentLost as error:
            self._recorder.append(Warned(kind="environment_lost", text=str(error)))
            result = Execution("environment_lost", b"", 0, self._recorder.now_s - started.mono_s)
        except KeyboardInterrupt:
            seconds = self._recorder.now_s - started.mono_s
            self._finish(run, result or Execution("interrupted", b"", 0, seconds))
            raise
        finished = self._finish(run, result)
        self._loop.feed(finished.model_copy(update={"tool_call_id": run.tool_call_id}))  # its observation answers it

    def _finish(self, run: Run, result: Execution) -> ActionFinished:
        stderr = None
        if result.stderr is not None:
            stderr = self._recorder.output(result.stderr, result.stderr_counted)
        return self._recorder.append(
            ActionFinished(
                action=run.action,
                step=run.step,
                tool_call_id=run.tool_call_id,
                ended=result.ended,
                exit_code=result.exit_code,
                signal=result.signal,
                duration_s=result.duration_s,
                cpu_s=result.cpu_s,
                peak_memory_bytes=result.peak_memory_bytes,
                streams="merged" if stderr is None else "separate",
                output=self._recorder.output(result.output, result.counted),
                stderr=stderr,
                left_running=result.left_running,
                shell_lost=result.shell_lost,
            )
        )
