"""Hands out the units of a batch, and decides what becomes of each. It owns the ledger and the journal.

No process, terminal or clock of its own: news comes in, messages go out, and the time is an argument. What a unit
did is read from its records whenever its worker reports its end or is lost; messages only make that soon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent.batch.counts import Counts
from agent.batch.engines.protocol import Joined, Lost, News, Told
from agent.batch.handing import hand_over
from agent.batch.messages import (
    Admitted,
    AskCall,
    AskEvaluation,
    CallSettled,
    EvaluationGranted,
    EvaluationOver,
    FromWorker,
    NotAdmitted,
    Progress,
    StopUnits,
    ToWorker,
    UnitEnded,
)
from agent.batch.pool import Pool, Worker
from agent.batch.reruns import Next, Past, next_of
from agent.batch.settings import Settings
from agent.batch.sharing.admission import Admission, Asked, Decision
from agent.batch.sharing.evaluations import Evaluations
from agent.batch.sharing.ledger import Ledger
from agent.batch.state.view import Pace
from agent.batch.units import Reading, Roster, UnitState
from agent.trial.gate import CallBound
from trajectories.batches.events import Ended
from trajectories.batches.journal import BatchWriter

LATER_S = 2.0
"""Seconds until a unit that another process works on is looked at again."""
_PAUSE_S = (0.0, 5.0, 20.0, 60.0)
"""Seconds before a unit is handed out again after its first, second, ... failure."""

ReadUnit = Callable[[UnitState], Reading]
Send = Callable[[str, ToWorker], None]


class Coordinator:
    """The units of one batch and its workers."""

    def __init__(
        self,
        units: Sequence[UnitState],
        settings: Settings,
        journal: BatchWriter,
        read: ReadUnit,
        send: Send,
        note: Callable[[str], None],
        now_s: float,
    ) -> None:
        self.units = {unit.identity: unit for unit in units}
        self._roster = Roster(units)
        self.settings = settings
        self.ledger = Ledger(settings.budget_usd, settings.budget_tokens)
        self.admission = Admission(self.ledger)
        self.counts = Counts()
        self.pace = Pace(now_s)
        self.is_draining = False
        """True once no new unit is begun."""
        self.is_stopping = False
        """True once running units are stopped, too."""
        self._journal = journal
        self._read = read
        self._send = send
        self._note = note
        self._workers = Pool()
        self._evaluations = Evaluations(settings.evaluations)
        self._refused: dict[str, CallBound] = {}
        """The smallest call that did not fit into the budget, by model."""

    @property
    def running(self) -> list[UnitState]:
        """The units that workers work on."""
        return self._roster.of("running")

    @property
    def is_finished(self) -> bool:
        """Report if nothing runs, and nothing more is begun."""
        if self._roster.count("running"):
            return False
        return self.is_draining or not (self._roster.count("queued") or self._roster.count("later"))

    def begin(self, now_s: float) -> None:
        """Decide what to do with each unit, by the records that it was made of."""
        for unit in self.units.values():
            self._decide(unit, now_s)

    def take(self, news: News, now_s: float) -> None:
        """Take in what an engine reports."""
        match news:
            case Joined():
                self._workers.join(news.worker, news.slots, news.machine)
            case Told():
                if news.worker in self._workers:
                    self._hear(news.worker, news.message, now_s)
            case Lost():
                self._lose(news, now_s)

    def tick(self, now_s: float) -> None:
        """Do what is due: hand out units, let calls leave whose provider has opened again."""
        self._answer(self.admission.decide(now_s))
        for unit in self._roster.of("later"):
            if unit.not_before_s <= now_s:
                self._look_at(unit, now_s, had_worker=False)
        if not self.is_draining:
            self._hand_out(now_s)

    def drain(self) -> None:
        """Begin no more units; running ones go on to their end."""
        self.is_draining = True

    def stop(self) -> None:
        """Stop the running units, too; each closes its record."""
        self.is_draining = self.is_stopping = True
        for worker in self._workers:
            self._send(worker.name, StopUnits())

    def _hear(self, worker: str, message: FromWorker, now_s: float) -> None:
        match message:
            case AskCall():
                self._ask(worker, message, now_s)
            case CallSettled():
                self._settle(worker, message, now_s)
            case AskEvaluation():
                if self._of(worker, message.unit) is not None:
                    self._grant(self._evaluations.ask(self._workers[worker].machine, message.unit))
            case EvaluationOver():
                self._grant(self._evaluations.end(self._workers[worker].machine, message.unit))
            case Progress():
                if (unit := self._of(worker, message.unit)) is not None:
                    unit.steps, unit.doing = message.steps, message.phase
            case UnitEnded():
                if (unit := self._of(worker, message.unit)) is not None:
                    self._end_unit(worker, unit, message, now_s)

    def _of(self, worker: str, identity: str) -> UnitState | None:
        """Return the unit if this worker runs it: what another one says about it is late."""
        unit = self.units.get(identity)
        return unit if unit is not None and unit.worker == worker and unit.phase == "running" else None

    def _ask(self, worker: str, message: AskCall, now_s: float) -> None:
        if self._of(worker, message.unit) is None:
            return
        call, bound = (worker, message.call), CallBound(message.usd, message.tokens)
        asked = Asked(call, message.unit, message.model, bound)
        self._answer(self.admission.ask(asked, now_s))
        if not message.wait and asked in self.admission.waiting:
            self.admission.waiting.remove(asked)
            self._send(worker, NotAdmitted(call=message.call, cause="budget", reason="would wait"))

    def _settle(self, worker: str, message: CallSettled, now_s: float) -> None:
        before = set(self.admission.stopped)
        decisions = self.admission.settle(
            (worker, message.call),
            now_s,
            usd=message.usd,
            tokens=message.tokens,
            status=message.status,
            retry_after_s=message.retry_after_s,
            permanent=message.detail if message.permanent else "",
        )
        for model in self.admission.stopped.keys() - before:
            self._note(f"no further call of {model}, and its trials wait: {message.detail}")
        if message.outcome == "finished":
            self.counts.calls += 1
            self.counts.prompt_tokens += message.prompt_tokens or 0
            self.counts.cached_tokens += message.cached_tokens or 0
            self.pace.add(now_s, message.tokens)
        self._answer(decisions)

    def _answer(self, decisions: Sequence[Decision]) -> None:
        for decision in decisions:
            worker, call = decision.call
            if decision.refused is None:
                self._send(worker, Admitted(call=call))
                continue
            if decision.refused == "budget" and decision.asked is not None:
                self._remember_refusal(decision.asked, decision.reason)
            self._send(worker, NotAdmitted(call=call, cause=decision.refused, reason=decision.reason))

    def _remember_refusal(self, asked: Asked, reason: str) -> None:
        if (unit := self.units.get(asked.unit)) is not None:
            unit.needs = asked.bound
        known = self._refused.get(asked.model)
        if known is None:
            self._note(f"the budget holds no further call of {asked.model}, and its trials wait: {reason}")
        if known is None or (asked.bound.usd or 0.0) < (known.usd or 0.0):
            self._refused[asked.model] = asked.bound

    def _grant(self, units: Sequence[str]) -> None:
        """Let the evaluations of these units begin."""
        for identity in units:
            worker = self.units[identity].worker
            if worker is not None:
                self._send(worker, EvaluationGranted(unit=identity))

    def _lose(self, lost: Lost, now_s: float) -> None:
        worker = self._workers.get(lost.worker)
        if worker is None:
            self._note(f"a worker was lost before it had any work: {lost.reason}")
            return
        trials = [self.units[unit].trial for unit in sorted(worker.units)]
        self._note(f"worker lost ({lost.reason}); it ran {', '.join(trials) or 'nothing'}")
        for identity in sorted(worker.units):
            self._drop(lost.worker, self.units[identity], now_s)
            self._look_at(self.units[identity], now_s, had_worker=True, lost=lost.reason)
        self._workers.remove(lost.worker)

    def _drop(self, worker: str, unit: UnitState, now_s: float) -> None:
        """Take a unit from its worker, with everything that it has asked for."""
        self._grant(self._evaluations.end(self._workers[worker].machine, unit.identity))
        self._workers[worker].units.discard(unit.identity)
        unit.worker = None
        self._answer(self.admission.forget(unit.identity, now_s))

    def _end_unit(self, worker: str, unit: UnitState, message: UnitEnded, now_s: float) -> None:
        self._drop(worker, unit, now_s)
        self.counts.durations.append(now_s - unit.began_s)
        unit.evaluates = message.evaluates
        if message.problem_kind in ("user", "machine"):
            self._end(unit, Next("end", status="failed", cause=f"{message.problem_kind}_error", detail=message.problem))
            return
        self._look_at(unit, now_s, had_worker=True, problem=message)

    def _look_at(
        self,
        unit: UnitState,
        now_s: float,
        *,
        had_worker: bool,
        lost: str = "",
        problem: UnitEnded | None = None,
    ) -> None:
        """Read the records of a unit, and decide what to do next."""
        unit.reading = self._read(unit)
        self._decide(unit, now_s, had_worker=had_worker, lost=lost, problem=problem)

    def _decide(
        self,
        unit: UnitState,
        now_s: float,
        *,
        had_worker: bool = False,
        lost: str = "",
        problem: UnitEnded | None = None,
    ) -> None:
        """Decide what to do next with a unit whose records were read."""
        reading = unit.reading
        unit.steps, unit.rerun = reading.steps, reading.rerun
        self.ledger.set_recorded(unit.identity, reading.known, reading.kept)
        past = Past(
            counted=unit.counted,
            lost=lost,
            defect=problem.problem if problem is not None and problem.problem_kind == "defect" else "",
            stopped=self._why_stopped(unit),
            is_stopping=self.is_stopping,
            had_worker=had_worker,
            was_resumed=had_worker and unit.how == "resume",
        )
        evaluate = self.settings.evaluate and unit.evaluates
        step = next_of(reading.facts, past, self.settings.reruns, evaluate=evaluate)
        if problem is not None and problem.problem_kind == "busy":
            step = Next("later")
        if step.kind == "later":
            self._roster.move(unit, "later")
            unit.not_before_s = now_s + LATER_S
        elif step.kind == "end":
            self._end(unit, step, write=had_worker or unit.status != step.status)
        else:
            self._roster.move(unit, "queued")
            unit.next, unit.status = step, None
            pause = _PAUSE_S[min(unit.counted, len(_PAUSE_S) - 1)] if step.counted and had_worker else 0.0
            unit.not_before_s = now_s + pause

    def _end(self, unit: UnitState, step: Next, *, write: bool = True) -> None:
        self._roster.move(unit, "ended")
        unit.status, unit.cause, unit.detail = step.status, step.cause, step.detail
        if step.status == "failed":
            self._note(f"{unit.trial or unit.first_trial} failed: {step.cause}{step.detail and f' ({step.detail})'}")
        if write:
            needs = unit.needs if step.status == "waiting" else None
            self._journal.append(
                Ended(
                    unit=unit.identity,
                    trial=unit.trial or unit.first_trial,
                    status=step.status,
                    cause=step.cause,
                    detail=step.detail,
                    cost_usd=self.ledger.of_unit(unit.identity).usd,
                    needs_usd=None if needs is None else needs.usd,
                    needs_tokens=None if needs is None else needs.tokens,
                )
            )

    def _hand_out(self, now_s: float) -> None:
        """Give queued units to workers with a free place."""
        free = self.settings.workers - self._roster.count("running")
        if free <= 0 or self._workers.freest() is None:
            return
        for unit in self._roster.of("queued"):
            if unit.not_before_s > now_s:
                continue
            if (waits := self._must_wait(unit)) is not None:
                self._end(unit, waits)
                continue
            worker = self._workers.freest()
            if worker is None or free <= 0:
                return
            self._start(unit, worker, now_s)
            free -= 1

    def _why_stopped(self, unit: UnitState) -> str:
        """Return the reason for which a model of a unit gets no further call; empty if there is none."""
        stopped = self.admission.stopped
        return next((stopped[model] for model in unit.models if model in stopped), "")

    def _must_wait(self, unit: UnitState) -> Next | None:
        """Return why a unit cannot begin now, if its model or the budget is the reason."""
        if reason := self._why_stopped(unit):
            return Next("end", status="waiting", cause="model_unavailable", detail=reason)
        needs = unit.needs or self._refused.get(unit.model)
        if needs is None or self.ledger.fits(needs) or self.ledger.in_flight:
            return None
        unit.needs = needs
        return Next("end", status="waiting", cause="budget", detail="the budget does not allow its next call")

    def _start(self, unit: UnitState, worker: Worker, now_s: float) -> None:
        """Give a unit to a worker; the journal holds it before the worker is told."""
        events, work = hand_over(unit, worker, evaluate=self.settings.evaluate)
        for event in events:
            self._journal.append(event)
        self._journal.sync()
        self._roster.move(unit, "running")
        unit.worker, unit.began_s, unit.doing, unit.needs = worker.name, now_s, "starting", None
        worker.units.add(unit.identity)
        self._send(worker.name, work)
