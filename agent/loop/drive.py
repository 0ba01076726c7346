"""Performs the loop's instructions and records the result.

All I/O of our own agent passes through here: every event is on disk before what it announces happens. The only decision
is whether a failed call is tried again, which the retry policy makes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent.loop.gated import GatedCalls, refused_exit
from agent.loop.history import History
from agent.loop.instructions import Ask, Consult, Run, Say, Stop
from agent.loop.loop import Loop
from agent.loop.texts import PromptTexts
from agent.models.admitted import AdmittedCall, until_settled
from agent.models.protocol import CallFailure, Completion, Model, Request
from agent.models.retries import RetryPolicy
from agent.trial.gate import CallBound, Refused
from agent.trial.session import Session
from agent.trial.start import Turn
from environments.protocol import DiskFull, EnvironmentLost, Execution, OutOfMemory
from trajectories.interrupts import interruptible
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    BaseEvent,
    CallFailed,
    CallFinished,
    CallStarted,
    Ended,
    Message,
    Warned,
)
from trajectories.record.exits import Exit
from trajectories.record.texts.text import sendable, storable
from trajectories.record.usage import Usage
from trajectories.waiting import sleep

if TYPE_CHECKING:
    from agent.guidance.questions import Questions

_NO_TIME_LIMIT_S = 24 * 3600.0


class Driver:
    """Runs one trial's loop to its end.

    Raises: RecordFull, DiskFull, EnvironmentFault; KeyboardInterrupt if the user interrupts. The record then holds
    everything that was finished.
    """

    def __init__(self, loop: Loop, model: Model, session: Session, retries: RetryPolicy, texts: PromptTexts) -> None:
        self._loop = loop
        self._model = model
        self._texts = texts
        self._limits = session.limits
        self._lease = session.lease
        self._recovery = session.recovery
        self._recorder = session.recorder
        self._pricing = session.pricing
        self._retries = retries
        self._snapshots = session.snapshots
        self._history = History(session.recorder)
        self._calls = GatedCalls(session, model.info, loop.feed)
        self._questions: Questions | None = None
        if session.order.expert is not None:
            from agent.guidance.questions import Questions  # its rule for answers brings parsers: 30 ms

            self._questions = Questions(session, session.order.expert, self._history.turns, loop.feed)
        self._warned = False
        self._loss = ""
        """Reason for which the environment was lost during an action."""

    def take_in(self, events: Iterable[BaseEvent]) -> None:
        """Begin where a record ends: none of these events is performed or written again."""
        for event in events:
            self._calls.take_in(event, len(self._history.turns))
            self._history.take_in(event)
            self._loop.feed(event)
            if self._questions is not None:
                self._questions.take_in(event)

    def inherit(self, turns: Iterable[Turn]) -> None:
        """Copy the conversation of a parent into this trial's record, under ids of its own."""
        for turn in turns:
            self._history.inherit(turn)

    def say(self, say: Say) -> None:
        """Add a message before the next call."""
        self._loop.say(say)

    def call_was_lost(self, call: CallStarted) -> None:
        """Record that the harness died during this call: what it used is unknown, and it is made again."""
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
        """Follow the loop until it stops. After each step a snapshot of the workspace is kept."""
        while True:
            instruction = self._loop.next(self._recorder.now_s)
            if isinstance(instruction, Ask | Stop) and not self._keep(instruction):
                continue
            match instruction:
                case Consult():
                    assert self._questions is not None  # the loop has a question only if the trial has an expert
                    unavailable = self._questions.consult(instruction)
                    if unavailable is not None:
                        return unavailable
                case Say():
                    self._say(instruction)
                case Ask():
                    try:
                        self._ask(instruction)
                    except Refused as refused:
                        return refused_exit(refused)
                case Run():
                    self._run(instruction)
                case Stop(exit) if exit.cause == "environment_lost" and self._loss:
                    return Exit.of("environment_lost", f"{exit.detail}: {self._loss}")
                case Stop():
                    return instruction.exit

    def _keep(self, instruction: Ask | Stop) -> bool:
        """Keep the workspace as it is after the last step; return False if that led to other instructions."""
        if isinstance(instruction, Stop) and instruction.exit.cause == "environment_lost":
            return True  # there is nothing to keep it from
        step = self._limits.tally.steps
        try:
            self._snapshots.after_step(step)
            return True
        except OutOfMemory as loss:
            if not self._recovery.is_possible(loss, step):
                raise
            self._recorder.append(Warned(kind="environment_lost", text=str(loss)))
            self._recover(step, tell=isinstance(instruction, Ask))
            return False

    def _recover(self, step: int, *, tell: bool = True) -> None:
        """Continue in a new environment, and tell the model."""
        lost = self._recovery.recover(step)
        if tell:
            self._loop.say(Say("user", self._texts.resumed(lost), "notice"))

    def _say(self, say: Say) -> None:
        message = Message(
            id=self._history.next_id,
            role=say.role,
            content=sendable(say.content),
            why=say.why,
            tool_call_id=say.tool_call_id,
            action=say.action,
        )
        self._loop.feed(self._history.say(message))

    def _ask(self, ask: Ask) -> None:
        """Make one try of a call.

        Raises: Refused.
        """
        call = self._calls.admitted(self._history.turns)
        with until_settled(call):
            self._ask_admitted(ask, call)

    def _ask_admitted(self, ask: Ask, call: AdmittedCall | None) -> None:
        bound = CallBound() if call is None else call.bound
        started = self._recorder.append(self._history.request(ask.step, ask.try_, self._model.info.parameters, bound))
        self._recorder.sync()
        self._loop.feed(started)
        request = Request(ask.step, ask.try_, self._history.turns, ask.within_s or _NO_TIME_LIMIT_S)
        began = time.monotonic()
        completion: Completion | None = None
        try:
            with interruptible():
                if call is not None:
                    call.leaves()
                completion = self._model.ask(request)
        except CallFailure as failure:
            self._failed(ask, call, failure, time.monotonic() - began)
        except KeyboardInterrupt:
            latency_s = time.monotonic() - began
            if completion is None:
                self._failed(ask, call, CallFailure("interrupted", "interrupted by the user"), latency_s)
            else:  # it came just before: a reply that was paid for is kept
                self._answered(ask, call, completion, latency_s)
            raise
        else:
            self._answered(ask, call, completion, time.monotonic() - began)

    def _answered(self, ask: Ask, call: AdmittedCall | None, completion: Completion, latency_s: float) -> None:
        costs = self._pricing.costs(completion.usage, served=completion.model_served, billed_usd=completion.billed_usd)
        sent = len(self._history.turns)
        finished = self._history.answer(
            CallFinished(
                step=ask.step,
                try_=ask.try_,
                id=self._history.next_id,
                reply=completion.reply,
                finish_reason=completion.finish_reason,
                usage_raw=completion.usage_raw,
                usage=completion.usage,
                costs=costs,
                model_requested=self._model.info.ref.name,
                model_served=completion.model_served,
                latency_s=latency_s,
            )
        )
        if call is not None:  # after the reply is recorded, which was paid for
            call.answered(completion.usage, costs)
            self._calls.answered(sent, completion.usage, completion.model_served)
        unmasked = completion.reply.model_copy(update={"refusal": finished.reply.refusal})  # commands run unmasked
        self._loop.feed(finished.model_copy(update={"reply": unmasked}))
        self._warn_of_limits_not_kept()

    def _failed(self, ask: Ask, call: AdmittedCall | None, failure: CallFailure, latency_s: float) -> None:
        costs = self._pricing.failure_costs(failure)
        wait_s = self._retries.wait_s(failure, ask.tries)
        usage = failure.usage
        if usage is None and self._model.info.free is not None:
            usage = Usage(input=0, output=0)
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
        if call is not None:
            call.failed(failure, failure.usage, costs)
        if wait_s is not None:
            with interruptible():
                sleep(wait_s if ask.within_s is None else max(0.0, min(wait_s, ask.within_s - latency_s)))

    def _warn_of_limits_not_kept(self) -> None:
        """Warn once: a limit on tokens or dollars cannot be kept while a provider does not report usage."""
        names = self._limits.not_kept()
        if names and not self._warned:
            self._warned = True
            text = f"the {' and the '.join(names)} limit cannot be kept: the provider does not say what a call used"
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
        goes_on_elsewhere = False
        try:
            with interruptible():
                result = self._lease.environment.execute(script, deadline_s=run.deadline_s)
        except DiskFull:
            raise
        except EnvironmentLost as error:
            self._recorder.append(Warned(kind="environment_lost", text=str(error)))
            goes_on_elsewhere = self._recovery.is_possible(error, run.step)
            ended: Ended = "oom" if goes_on_elsewhere else "environment_lost"
            result = Execution(ended, b"", 0, self._recorder.now_s - started.mono_s)
            self._loss = str(error)
        except KeyboardInterrupt:
            seconds = self._recorder.now_s - started.mono_s
            self._finish(run, result or Execution("interrupted", b"", 0, seconds))
            raise
        finished = self._finish(run, result, ended_environment=goes_on_elsewhere)
        self._loop.feed(finished.model_copy(update={"tool_call_id": run.tool_call_id}))  # its observation answers it
        if goes_on_elsewhere:
            self._recover(run.step)

    def _finish(self, run: Run, result: Execution, *, ended_environment: bool = False) -> ActionFinished:
        for line in result.services_lost:
            self._recorder.append(Warned(kind="service_lost", text=line))
        stderr = None
        if result.stderr is not None:
            stderr = self._recorder.output(result.stderr, result.stderr_counted, self._texts.cut)
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
                output=self._recorder.output(result.output, result.counted, self._texts.cut),
                stderr=stderr,
                left_running=result.left_running,
                left_pids=result.left_pids,
                shell_lost=result.shell_lost,
                ended_environment=ended_environment,
            )
        )
