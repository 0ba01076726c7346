"""Calls pass the gate of their trial: bounded, admitted, settled, and recorded while they wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.continuation.resume import resuming
from agent.loop.actions import SUBMIT
from agent.models.call_bounds import first_call
from agent.models.retries import RetryPolicy
from agent.trial.gate import Refused
from tests.batches.trials.gates import NotingGate
from tests.batches.trials.side_by_side import Running, order_for
from tests.solve.command import script
from tests.wire.replies import Answer, Fault, Turn, bad_key, bad_request, rate_limited, server_error, unknown_model
from tests.wire.server import WireServer
from trajectories.checks.check import check
from trajectories.reading.reader import read_events
from trajectories.reading.totals.tally import Tally
from trajectories.record.events import (
    CallFailed,
    CallFinished,
    CallStarted,
    EvaluationStarted,
    Exited,
    Paused,
    Resumed,
    RoleCallFinished,
    RoleCallStarted,
)
from trajectories.waiting import Event

MODEL = "anthropic/claude-opus-4-7"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-wire-key")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start trials of a provider's model with these answers and this gate."""
    servers: list[WireServer] = []
    (tmp_path / "start").mkdir()

    def begin(gate: NotingGate, *answers: Answer, model: str = MODEL, **options: Any) -> Running:
        server = WireServer(answers)
        server.__enter__()
        servers.append(server)
        place = {"task": None, "workspace": tmp_path / "start", "instruction": "Work.", "env": "local"}
        base = {} if model.startswith("script:") else {"api_base": server.root}
        order = order_for(tmp_path, model, **{**place, **base, **options})
        return Running(replace(order, gate=gate, retries=RetryPolicy(first_wait_s=0.01, max_wait_s=0.02))).start()

    yield begin
    for server in servers:
        server.__exit__()


def of_type(trial: Running, kind: type) -> list[Any]:
    return [event for event in trial.record if isinstance(event, kind)]


def consistent(trial: Running) -> bool:
    assert trial.outcome is not None
    assert check(trial.outcome.directory).first is None
    return True


def test_every_call_is_admitted_with_a_bound_and_settled_with_what_it_used(start: Callable[..., Running]) -> None:
    gate = NotingGate()
    trial = start(gate, Turn(commands=("echo one",)), Turn(commands=(SUBMIT,)))
    assert trial.end().exit.cause == "submitted"
    started, finished = of_type(trial, CallStarted), of_type(trial, CallFinished)
    assert [model for model, _ in gate.admitted] == [MODEL] * 2
    assert [(call.reserved_usd, call.reserved_tokens) for call in started] == [
        (bound.usd, bound.tokens) for _, bound in gate.admitted
    ]
    for number, call in enumerate(finished, start=1):
        use, (_, bound) = gate.settled[number], gate.admitted[number - 1]
        assert (use.outcome, use.usd, use.tokens) == ("finished", call.costs.best, call.usage.total)
        assert (use.prompt_tokens, use.cached_tokens) == (call.usage.prompt, call.usage.cache_read)
        assert bound.usd is not None
        assert use.usd is not None
        assert 0 < use.usd <= bound.usd
        assert bound.tokens is not None
        assert call.usage.total <= bound.tokens
    assert of_type(trial, Paused) == []
    assert consistent(trial)
    before, bound = first_call(trial.order), gate.admitted[0][1]
    assert before.tokens is not None
    assert bound.tokens is not None
    assert 0 <= bound.tokens - before.tokens < 500  # the paths of the environment


@pytest.mark.parametrize(
    ("fault", "usd", "status", "permanent"),
    [
        (rate_limited("7"), 0.0, 429, False),
        (server_error(), 0.0, 500, False),
        (bad_request(), 0.0, 400, False),
        (bad_key(), 0.0, 401, True),
        (unknown_model(), 0.0, 404, True),
        (Fault("hang_up"), None, None, False),
        (Fault("cut"), None, 200, False),
        (Fault("invalid_json"), None, 200, False),
    ],
)
def test_a_failure_keeps_its_reservation_only_if_it_may_have_been_billed(
    start: Callable[..., Running], fault: Fault, usd: float | None, status: int | None, permanent: bool
) -> None:
    gate = NotingGate()
    trial = start(gate, fault, Turn(commands=(SUBMIT,)))
    if status == 429:
        trial.reach(lambda events: any(isinstance(event, CallFailed) for event in events))
        trial.stop.set()
    trial.end()
    use = gate.settled[1]
    assert (use.outcome, use.usd, use.status, use.permanent) == ("failed", usd, status, permanent)
    assert (use.tokens is None) == (usd is None)
    assert use.retry_after_s == (7.0 if status == 429 else None)
    assert len(gate.settled) == len(gate.admitted) == len(of_type(trial, CallStarted))


def test_a_call_that_is_cut_off_keeps_its_reservation(start: Callable[..., Running]) -> None:
    gate = NotingGate()
    trial = start(gate, Fault("stall"))
    trial.reach(lambda events: any(isinstance(event, CallStarted) for event in events))
    trial.stop.set()
    assert trial.end().interrupted
    assert (gate.settled[1].outcome, gate.settled[1].usd, gate.settled[1].tokens) == ("failed", None, None)


def test_the_clock_stands_while_a_call_waits_and_a_wait_gives_no_further_tries(start: Callable[..., Running]) -> None:
    opened = Event()
    gate = NotingGate(decide=lambda _: opened.wait())
    answers = [server_error(), server_error(), Turn(commands=(SUBMIT,))]
    trial = start(gate, *answers, time_limit_s=0.5)
    trial.reach(lambda _: gate.waits)
    Event().wait(1.0)  # more than the time limit
    opened.set()
    assert trial.end().exit.cause == "submitted"
    waits = [event.type for event in trial.record if isinstance(event, Paused | Resumed | CallStarted)]
    assert waits == ["paused", "resumed", "call_started"] * 3
    assert {event.why for event in of_type(trial, Paused)} == {"queue"}
    assert [call.try_ for call in of_type(trial, CallStarted)] == [1, 2, 3]
    tally = Tally()
    for event in trial.record:
        tally.feed(event)
    ended = of_type(trial, Exited)[0]
    waited_s = sum(
        after.mono_s - before.mono_s
        for before, after in zip(of_type(trial, Paused), of_type(trial, Resumed), strict=True)
    )
    assert waited_s >= 1.0
    assert tally.wall_s() <= ended.mono_s - of_type(trial, CallStarted)[0].mono_s
    assert consistent(trial)


def test_tries_are_counted_over_the_waits_between_them(start: Callable[..., Running]) -> None:
    gate = NotingGate(decide=lambda _: None)
    trial = start(gate, *[server_error()] * 20)
    assert trial.end().exit.cause == "model_unavailable"
    assert len(gate.admitted) == RetryPolicy().tries
    assert consistent(trial)


@pytest.mark.parametrize(("cause", "reason"), [("budget", "user"), ("model_unavailable", "infrastructure")])
@pytest.mark.parametrize("at", [1, 2])
def test_a_refused_call_ends_the_trial_which_is_not_evaluated_and_can_be_resumed(
    tmp_path: Path, start: Callable[..., Running], cause: Any, reason: str, at: int
) -> None:
    def decide(call: int) -> None:
        if call == at:
            raise Refused(cause, "$0.10 are left")

    gate = NotingGate(decide=decide)
    trial = start(gate, Turn(commands=("echo one",)), Turn(commands=(SUBMIT,)))
    outcome = trial.end()
    assert (outcome.exit.reason, outcome.exit.cause, outcome.exit.detail) == (reason, cause, "$0.10 are left")
    assert len(of_type(trial, CallStarted)) == at - 1 == len(gate.settled)
    assert of_type(trial, EvaluationStarted) == []
    assert consistent(trial)
    with WireServer([Turn(commands=(SUBMIT,))]) as server:
        later = NotingGate()
        with resuming(outcome.directory, api_base=server.root, gate=later) as resumption:
            continued = resumption.run()
    assert continued is not None
    assert continued.exit.cause == "submitted"
    assert len(later.settled) == 1
    assert consistent(trial)


def test_a_stop_ends_the_wait_of_a_call(start: Callable[..., Running]) -> None:
    gate = NotingGate(decide=lambda _: Event().wait())
    trial = start(gate, Turn(commands=(SUBMIT,)))
    trial.reach(lambda _: gate.waits)
    trial.stop.set()
    outcome = trial.end()
    assert (outcome.exit.cause, outcome.interrupted) == ("interrupted", True)
    assert of_type(trial, CallStarted) == []
    assert consistent(trial)


def test_a_ticket_that_comes_with_a_stop_is_given_back(start: Callable[..., Running]) -> None:
    trials: list[Running] = []
    began = Event()

    def decide(_: int) -> None:
        began.wait()
        trials[0].stop.set()

    gate = NotingGate(decide=decide)
    trials.append(start(gate, Turn(commands=(SUBMIT,))))
    began.set()
    assert trials[0].end().interrupted
    assert len(gate.admitted) == 1
    assert (gate.settled[1].usd, gate.settled[1].tokens) == (0.0, 0)


def test_calls_of_a_free_model_pass_no_gate(tmp_path: Path, start: Callable[..., Running]) -> None:
    gate = NotingGate()
    trial = start(gate, model=script(tmp_path, "true", SUBMIT))
    assert trial.end().exit.cause == "submitted"
    assert gate.admitted == []
    assert [call.reserved_usd for call in of_type(trial, CallStarted)] == [None, None]


def test_calls_of_an_expert_pass_the_gate_of_the_trial(tmp_path: Path, start: Callable[..., Running]) -> None:
    gate = NotingGate()
    model = script(tmp_path, {"ask": "How?"}, SUBMIT)
    with WireServer([rate_limited(), Turn(text="With care.")]) as server:
        guided = {"guidance": MODEL, "guidance_api_base": server.root}
        trial = start(gate, model=model, **guided)
        assert trial.end().exit.cause == "submitted"
    started, finished = of_type(trial, RoleCallStarted), of_type(trial, RoleCallFinished)
    assert [(call.reserved_usd, call.reserved_tokens) for call in started] == [
        (bound.usd, bound.tokens) for _, bound in gate.admitted
    ]
    assert [gate.settled[1].usd, gate.settled[1].status] == [0.0, 429]
    assert gate.settled[2].usd == finished[1].costs.best
    assert [event.why for event in of_type(trial, Paused)] == ["guidance"]
    assert consistent(trial)


def test_a_refused_call_of_an_expert_ends_the_trial_and_the_question_is_asked_again(
    tmp_path: Path, start: Callable[..., Running]
) -> None:
    def refuse(_: int) -> None:
        raise Refused("budget", "nothing is left")

    gate = NotingGate(decide=refuse)
    model = script(tmp_path, {"ask": "How?"}, SUBMIT)
    with WireServer([Turn(text="With care.")]) as server:
        trial = start(gate, model=model, guidance=MODEL, guidance_api_base=server.root)
        outcome = trial.end()
        assert (outcome.exit.cause, outcome.exit.detail) == ("budget", "nothing is left")
        with resuming(outcome.directory, guidance_api_base=server.root, gate=NotingGate()) as resumption:
            continued = resumption.run()
    assert continued is not None
    assert continued.exit.cause == "submitted"
    assert consistent(trial)
    events = list(read_events(outcome.directory))
    assert sum(isinstance(event, RoleCallStarted) for event in events) == 1


def test_evaluations_wait_for_a_place_outside_of_their_own_time(tmp_path: Path) -> None:
    places = [Event(), Event()]
    gate = NotingGate(free_places=list(places))
    orders = [order_for(tmp_path, script(tmp_path, SUBMIT), evaluate=True) for _ in places]
    trials = [Running(replace(order, gate=gate)).start() for order in orders]
    for trial in trials:
        trial.reach(lambda events: any(event.type == "workspace_exported" for event in events))
    assert [event for trial in trials for event in trial.events if isinstance(event, EvaluationStarted)] == []
    for place in places:
        place.set()
    assert [trial.end().verdict is not None for trial in trials] == [True, True]
    assert gate.evaluating == 0


def test_a_stop_ends_the_wait_for_an_evaluation_which_can_be_done_later(tmp_path: Path) -> None:
    order = order_for(tmp_path, script(tmp_path, SUBMIT), evaluate=True)
    trial = Running(replace(order, gate=NotingGate(free_places=[Event()]))).start()
    trial.reach(lambda events: any(event.type == "workspace_exported" for event in events))
    trial.stop.set()
    outcome = trial.end()
    assert (outcome.exit.cause, outcome.interrupted, outcome.verdict) == ("submitted", True, None)
    assert of_type(trial, EvaluationStarted) == []
    assert consistent(trial)
    gate = NotingGate()
    with resuming(outcome.directory, gate=gate) as resumption:
        later = resumption.run()
    assert later is not None
    assert later.verdict is not None
    assert gate.most_evaluating == 1
