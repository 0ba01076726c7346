"""The coordinator alone: what it tells workers, what it writes, and what becomes of each unit.

The records are a table here; everything else is real, the journal included.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.batch.coordinator import Coordinator
from agent.batch.engines.protocol import Joined, Lost, Told
from agent.batch.messages import (
    Admitted,
    AskCall,
    AskEvaluation,
    CallSettled,
    EvaluationGranted,
    EvaluationOver,
    FromWorker,
    NotAdmitted,
    StopUnits,
    ToWorker,
    UnitEnded,
    Work,
)
from agent.batch.reruns import Facts
from agent.batch.settings import Settings
from agent.batch.sharing.ledger import Amount
from agent.batch.units import Reading, UnitState
from tests.batches.coordinator.units import unit
from trajectories.batches.events import BatchOpened, Ended, Holder, Started, Superseded
from trajectories.batches.journal import BatchWriter, read_batch_events
from trajectories.record.events import Guidance, ModelRef

NOTHING = Reading(Facts("none"))
PASSED = Reading(Facts("finished", "submitted"), Amount(0.5, 100), passed=True, steps=3)
LOST = Reading(
    Facts("infrastructure", "environment_lost", "the container is gone", can_continue=True), Amount(0.25, 50)
)
BEGUN = Reading(Facts("open", can_continue=True))


class Run:
    """A coordinator with the messages that it has sent and the records that its workers would have written."""

    def __init__(self, directory: Path, units: list[UnitState], settings: Settings) -> None:
        self.sent: list[tuple[str, ToWorker]] = []
        self.notes: list[str] = []
        self.records: dict[str, Reading] = {}
        self.now_s = 0.0
        self.directory = directory
        self.journal = BatchWriter(directory)
        opened = BatchOpened(
            coordinator=Holder(host="here", pid=1), spec={}, engine="local", workers=1, evaluations=1, reruns=1
        )
        self.journal.append(opened)
        self.coordinator = Coordinator(
            units,
            settings,
            self.journal,
            lambda unit: self.records.get(unit.identity, NOTHING),
            lambda worker, message: self.sent.append((worker, message)),
            self.notes.append,
            0.0,
        )
        self.coordinator.begin(0.0)

    def join(self, worker: str, slots: int = 8, machine: str = "here") -> None:
        self.coordinator.take(Joined(worker, slots, machine), self.now_s)
        self.coordinator.tick(self.now_s)

    def tell(self, worker: str, message: FromWorker) -> None:
        self.coordinator.take(Told(worker, message), self.now_s)
        self.coordinator.tick(self.now_s)

    def end(self, worker: str, ended: UnitState, reading: Reading) -> None:
        self.records[ended.identity] = reading
        self.tell(worker, UnitEnded(unit=ended.identity, trial=ended.trial))

    def lose(self, worker: str) -> None:
        self.coordinator.take(Lost(worker, "killed by SIGKILL"), self.now_s)
        self.coordinator.tick(self.now_s)

    def messages(self, kind: type[ToWorker]) -> list[ToWorker]:
        return [message for _, message in self.sent if isinstance(message, kind)]

    def work(self) -> list[tuple[str, str]]:
        """The units that were handed out: how, and in which folder."""
        return [(message.how, message.trial) for message in self.messages(Work) if isinstance(message, Work)]

    def written(self, kind: type) -> list:
        self.journal.sync()
        return [event for event in read_batch_events(self.directory) if isinstance(event, kind)]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[type]:
    made: list[Run] = []

    def make(units: list[UnitState], **settings: object) -> Run:
        made.append(Run(tmp_path, units, Settings(**settings)))  # type: ignore[arg-type]
        return made[-1]

    yield make  # type: ignore[misc]
    for each in made:
        each.journal.close()


def test_each_unit_is_handed_out_once_and_no_more_at_a_time_than_workers_allow(run) -> None:
    units = [unit(attempt) for attempt in range(1, 6)]
    batch = run(units, workers=3)
    batch.join("a")
    assert [trial for _, trial in batch.work()] == [each.first_trial for each in units[:3]]
    batch.end("a", units[0], PASSED)
    assert [trial for _, trial in batch.work()] == [each.first_trial for each in units[:4]]
    for each in units[1:]:
        batch.end("a", each, PASSED)
    assert batch.coordinator.is_finished
    assert len(batch.work()) == 5
    assert [event.status for event in batch.written(Ended)] == ["finished"] * 5


def test_the_journal_holds_a_start_before_the_worker_is_told(run) -> None:
    batch = run([unit()])
    batch.join("a")
    assert [(event.worker, event.how) for event in batch.written(Started)] == [("a", "fresh")]


def test_finished_units_of_earlier_runs_are_skipped(run, tmp_path: Path) -> None:
    done, left = unit(1), unit(2)
    done.status, done.reading = "finished", PASSED
    batch = Run(tmp_path, [done, left], Settings())
    batch.join("a")
    assert batch.work() == [("fresh", left.first_trial)]
    batch.journal.close()


def test_a_lost_environment_is_resumed_at_most_reruns_times(run) -> None:
    only = unit()
    batch = run([only], reruns=2)
    batch.join("a")
    batch.end("a", only, LOST)
    batch.end("a", only, LOST)
    assert len(batch.work()) == 2, "the second resume pauses first"
    batch.now_s = 100
    batch.coordinator.tick(batch.now_s)
    batch.end("a", only, LOST)
    assert batch.work() == [("fresh", only.first_trial), *[("resume", only.first_trial)] * 2]
    assert batch.coordinator.is_finished
    assert batch.written(Ended)[-1].status == "failed"
    assert "environment_lost (the container is gone)" in batch.notes[-1]


def test_a_trial_without_a_snapshot_starts_again_in_a_folder_of_its_own(run) -> None:
    only = unit()
    batch = run([only])
    batch.join("a")
    batch.end("a", only, Reading(Facts("infrastructure", "environment_lost")))
    batch.now_s = 100
    batch.coordinator.tick(100)
    assert batch.work()[-1] == ("rerun", f"{only.first_trial}.r1")
    (event,) = batch.written(Superseded)
    assert (event.trial, event.by, event.cause) == (only.first_trial, f"{only.first_trial}.r1", "environment_lost")


def test_the_units_of_a_lost_worker_go_to_another_and_its_late_words_count_for_nothing(run) -> None:
    only = unit()
    batch = run([only], budget_usd=1.0)
    batch.join("a")
    batch.tell("a", AskCall(call=1, unit=only.identity, model="openai/m", usd=0.5, tokens=10))
    batch.records[only.identity] = Reading(Facts("open", can_continue=True), kept=Amount(0.5, 10))
    batch.lose("a")
    batch.join("b")
    batch.now_s = 100
    batch.coordinator.tick(100)
    assert batch.sent[-1][0] == "b"
    assert batch.work()[-1] == ("resume", only.first_trial)
    assert batch.coordinator.ledger.kept.usd == 0.5, "the call in flight may have been billed"
    batch.tell("a", CallSettled(call=1, unit=only.identity, outcome="finished", usd=0.1, tokens=1))
    batch.tell("a", UnitEnded(unit=only.identity, trial=only.trial))
    assert batch.coordinator.running == [only]


def test_a_call_waits_for_the_budget_and_its_trial_stops_when_nothing_is_in_flight(run) -> None:
    first, second = unit(1), unit(2)
    batch = run([first, second], budget_usd=1.0)
    batch.join("a")
    batch.tell("a", AskCall(call=1, unit=first.identity, model="openai/m", usd=0.7, tokens=1))
    batch.tell("a", AskCall(call=2, unit=second.identity, model="openai/m", usd=0.7, tokens=1))
    assert batch.messages(Admitted) == [Admitted(call=1)]
    batch.tell("a", CallSettled(call=1, unit=first.identity, outcome="finished", usd=0.6, tokens=1))
    (refused,) = batch.messages(NotAdmitted)
    assert refused.call == 2
    stopped = Reading(Facts("user", "budget", "the budget is spent", can_continue=True))
    batch.end("a", second, stopped)
    assert second.status == "waiting"
    assert batch.written(Ended)[-1].needs_usd == 0.7


def test_units_of_a_spent_budget_wait_without_being_begun(run) -> None:
    units = [unit(attempt) for attempt in range(1, 4)]
    batch = run(units, workers=1, budget_usd=1.0)
    batch.join("a")
    batch.tell("a", AskCall(call=1, unit=units[0].identity, model="openai/m", usd=2.0, tokens=1))
    batch.end("a", units[0], Reading(Facts("user", "budget")))
    assert [each.status for each in units] == ["waiting"] * 3
    assert len(batch.work()) == 1
    assert batch.coordinator.is_finished


def test_a_permanent_failure_stops_the_units_of_its_model_and_no_others(run) -> None:
    units = [unit(1), unit(2), unit(1, model="openai/other")]
    batch = run(units, workers=1)
    batch.join("a")
    batch.tell("a", AskCall(call=1, unit=units[0].identity, model="openai/m", usd=None, tokens=None))
    failed = CallSettled(
        call=1,
        unit=units[0].identity,
        outcome="failed",
        usd=0.0,
        tokens=0,
        status=401,
        permanent=True,
        detail="bad key",
    )
    batch.tell("a", failed)
    batch.end("a", units[0], Reading(Facts("infrastructure", "model_unavailable", "bad key", can_continue=True)))
    assert [(each.status, each.detail) for each in units[:2]] == [("waiting", "bad key")] * 2
    assert batch.work()[-1] == ("fresh", units[2].first_trial)


def test_units_wait_for_the_model_of_their_expert_as_for_their_own(run) -> None:
    units = [unit(1), unit(2)]
    for each in units:
        expert = Guidance(by="model", model=ModelRef(asked="e", name="openai/expert", settings={}), max=3, rule="none")
        first = each.configuration.first.model_copy(update={"guidance": expert})
        each.configuration = each.configuration.model_copy(update={"first": first})
    batch = run(units, workers=1)
    batch.join("a")
    batch.tell("a", AskCall(call=1, unit=units[0].identity, model="openai/expert", usd=None, tokens=None))
    batch.tell(
        "a",
        CallSettled(
            call=1, unit=units[0].identity, outcome="failed", usd=0.0, tokens=0, permanent=True, detail="no access"
        ),
    )
    batch.end("a", units[0], Reading(Facts("infrastructure", "model_unavailable", can_continue=True)))
    assert [(each.status, each.detail) for each in units] == [("waiting", "no access")] * 2
    assert batch.notes == ["no further call of openai/expert, and its trials wait: no access"]


def test_evaluations_of_one_machine_take_turns(run) -> None:
    units = [unit(attempt) for attempt in range(1, 4)]
    batch = run(units, evaluations=1)
    batch.join("a", slots=2)
    batch.join("b", slots=1, machine="there")
    for worker, each in zip("aab", units, strict=True):
        batch.tell(worker, AskEvaluation(unit=each.identity))
    granted = [message.unit for message in batch.messages(EvaluationGranted)]
    assert granted == [units[0].identity, units[2].identity]
    batch.tell("a", EvaluationOver(unit=units[0].identity))
    assert batch.messages(EvaluationGranted)[-1].unit == units[1].identity


def test_draining_begins_nothing_more_and_stopping_stops_what_runs(run) -> None:
    units = [unit(1), unit(2)]
    batch = run(units, workers=1)
    batch.join("a")
    batch.coordinator.drain()
    assert not batch.coordinator.is_finished
    batch.coordinator.stop()
    assert batch.messages(StopUnits)
    batch.end("a", units[0], Reading(Facts("user", "interrupted", can_continue=True)))
    assert batch.coordinator.is_finished
    assert (units[0].status, len(batch.work())) == ("interrupted", 1)


def test_a_unit_that_another_process_works_on_is_looked_at_again(tmp_path: Path) -> None:
    only = unit()
    only.reading = Reading(Facts("running"))
    batch = Run(tmp_path, [only], Settings())
    batch.join("a")
    assert batch.work() == []
    batch.records[only.identity] = BEGUN
    batch.coordinator.tick(10.0)
    assert batch.work() == [("resume", only.first_trial)]
    batch.journal.close()


def test_a_mistake_that_only_shows_on_the_worker_fails_the_unit_at_once(run) -> None:
    only = unit()
    batch = run([only])
    batch.join("a")
    batch.tell(
        "a", UnitEnded(unit=only.identity, trial=only.trial, problem="OPENAI_API_KEY is not set", problem_kind="user")
    )
    assert (only.status, only.detail) == ("failed", "OPENAI_API_KEY is not set")
