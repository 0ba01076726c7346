"""Chains, plans and experts in rows: setups that are kept apart, and costs beside the agent's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scoring.choices import CostKind
from scoring.interventions.facts import NONE
from scoring.output.frame import flat
from scoring.rows import row_of, with_cost
from scoring.selecting.naming import configuration_names
from tests.record.test_recorder import started
from trajectories.reading.entry import TrialEntry
from trajectories.reading.reader import read_events
from trajectories.reading.summary import summarize
from trajectories.record.events import (
    Answered,
    Asked,
    BaseEvent,
    CallFinished,
    CallStarted,
    Chain,
    Exited,
    Guidance,
    ModelRef,
    Paused,
    Plan,
    Purpose,
    Reply,
    Resumed,
    RoleCallFinished,
    RoleCallStarted,
    TextRef,
)
from trajectories.record.exits import Exit
from trajectories.record.interventions import AnswerStatus
from trajectories.record.usage import Costs, Usage
from trajectories.writing.recorder import Recorder

CHAIN = Chain(first="t.m.0.1", turns=3, feedback="output", conversation="fresh", until="fixed")
EXPERT = Guidance(by="model", model=ModelRef(asked="opus", name="p/opus"), max=3, rule="no-code")
OTHER = ModelRef(asked="opus", name="p/opus", settings={"action": "fenced", "temperature": 0})
PROMPT = TextRef(name="expert", sha256="1")


def entry(**fields: Any) -> TrialEntry:
    return TrialEntry.of(started().model_copy(update=fields))


INTERVENTIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "chain": {"turn": 1, "chain": CHAIN},
    "other turns": {"turn": 1, "chain": CHAIN.model_copy(update={"turns": 2})},
    "other feedback": {"turn": 1, "chain": CHAIN.model_copy(update={"feedback": "scores"})},
    "other conversation": {"turn": 1, "chain": CHAIN.model_copy(update={"conversation": "same"})},
    "other end": {"turn": 1, "chain": CHAIN.model_copy(update={"until": "passed"})},
    "revealed tests": {"turn": 1, "chain": CHAIN, "tests_revealed": True},
    "person": {"guidance": Guidance(by="human", max=3, rule="no-code")},
    "expert": {"guidance": EXPERT},
    "another number of answers": {"guidance": EXPERT.model_copy(update={"max": 1})},
    "another rule": {"guidance": EXPERT.model_copy(update={"rule": "none"})},
    "another setting": {"guidance": EXPERT.model_copy(update={"model": OTHER})},
    "another prompt": {"guidance": EXPERT.model_copy(update={"prompt": PROMPT})},
    "plan": {"plan": Plan(name="p", sha256="1")},
    "checked plan": {"plan": Plan(name="p", sha256="1", author="file", rule="no-code")},
    "plan of a model": {"plan": Plan(name="p", sha256="1", author="model", model=EXPERT.model)},
    "plan of a person": {"plan": Plan(name="p", sha256="1", author="person")},
    "plan and expert": {"plan": Plan(name="p", sha256="1"), "guidance": EXPERT},
}


def test_each_policy_is_a_setup_of_its_own_over_the_same_base() -> None:
    entries = {name: entry(**fields) for name, fields in INTERVENTIONS.items()}
    assert len({each.setup for each in entries.values()}) == len(entries)
    assert {each.base_setup for each in entries.values()} == {entries["none"].setup}
    names = configuration_names({name: each.conditions for name, each in entries.items()})
    assert len(set(names.values())) == len(names)
    assert names["another setting"].endswith("+guidance-action=fenced +guidance-temperature=0")
    assert names["other feedback"] == "m +turns=3 +feedback=scores"


def test_texts_that_differ_from_task_to_task_are_not_part_of_a_setup() -> None:
    plans = [entry(plan=Plan(name=text, sha256=text, author="file", rule="none", step=0)) for text in "12"]
    files = [
        entry(guidance=Guidance(by="file", file=TextRef(name=text, sha256=text), max=3, rule="none")) for text in "12"
    ]
    solutions = [entry(guidance=EXPERT.model_copy(update={"solution_shown": shown})) for shown in (True, False)]
    for pair in (plans, files, solutions):
        assert pair[0].setup == pair[1].setup
    assert plans[0].setup == entry(plan=Plan(name="p", sha256="3")).setup, "as in records before 2.1"


def test_turns_of_a_chain_share_a_setup_and_modes_follow_from_the_record() -> None:
    assert entry(turn=1, chain=CHAIN).setup == entry(turn=2, chain=CHAIN).setup
    assert entry(turn=2, chain=CHAIN).mode == "self-correction"
    assert entry(plan=Plan(name="p", sha256="1"), guidance=EXPERT).mode == "plan-and-interactive"


def record(directory: Path, *events: BaseEvent, **fields: Any) -> Path:
    """Write a trial whose one call cost $1 with these events after it."""
    directory.mkdir(parents=True)
    recorder = Recorder(directory)
    recorder.append(started().model_copy(update={"trial": directory.name, **fields}))
    recorder.append(CallStarted(step=1, message_ids=("h",), messages=1, messages_sha256="x"))
    costs = Costs(billed=1.0, computed=1.0, list=1.0)
    usage = Usage(input=10, output=1)
    recorder.append(
        CallFinished(
            step=1, id="r", reply=Reply(text="x"), model_requested="m", latency_s=0.1, usage=usage, costs=costs
        )
    )
    for event in (*events, Exited(exit=Exit.of("submitted"), steps=1)):
        recorder.append(event)
    recorder.close()
    return directory


def role_call(number: int, *, result: RoleCallFinished | None, question: int = 1) -> list[BaseEvent]:
    assert EXPERT.model is not None
    call = RoleCallStarted(
        call=number, role="expert", purpose=Purpose(question=question), model=EXPERT.model, prompt=PROMPT
    )
    return [call, result] if result else [call]


def paid(number: int, usd: float) -> RoleCallFinished:
    costs = Costs(billed=None, computed=usd, list=2 * usd)
    return RoleCallFinished(call=number, status="answered", text="Look.", usage=Usage(input=5, output=5), costs=costs)


def answer(question: int, try_: int, status: AnswerStatus) -> Answered:
    return Answered(question=question, try_=try_, by="model", status=status, text="Look.", rule="no-code")


def asked(number: int, left: int) -> Asked:
    return Asked(question=number, action=f"1.{number}", step=1, text="How?", left=left)


def test_interventions_refusals_and_the_experts_cost_stand_beside_the_agents_own(tmp_path: Path) -> None:
    trial = record(
        tmp_path / "b" / "t",
        asked(1, 2),
        Paused(why="guidance"),
        *role_call(1, result=paid(1, 0.25)),
        answer(1, 1, "refused"),
        *role_call(2, result=paid(2, 0.5)),
        answer(1, 2, "given"),
        Resumed(),
        asked(2, 1),
        *role_call(3, result=RoleCallFinished(call=3, status="failed", error="rate_limit"), question=2),
        answer(2, 1, "replaced"),
        asked(3, 0),
        answer(3, 1, "nobody"),
        guidance=EXPERT,
        plan=Plan(name="p", sha256="1", author="model", record="plan-1", costs=Costs(computed=0.1)),
    )
    row = row_of(trial)
    assert (row.mode, row.cost_usd, row.tokens, row.steps) == ("plan-and-interactive", 1.0, 11, 1)
    facts = row.interventions
    assert (facts.questions, facts.given, facts.refusals) == (3, 1, 2)
    assert (facts.expert_usd, facts.plan_usd, facts.plan_record) == (0.75, 0.1, "plan-1")
    assert with_cost(row, CostKind.LIST).interventions.expert_usd == 1.5
    assert with_cost(row, CostKind.BILLED).interventions.expert_usd is None
    assert with_cost(row, CostKind.AGENTMETER).interventions.plan_usd is None
    cells = flat(row)
    assert (cells["given"], cells["expert_usd"], cells["guidance_by"]) == (1, 0.75, "p/opus")
    assert not {"interventions", "expert_costs", "plan_costs"} & cells.keys()
    expert = summarize(trial, read_events(trial)).interventions
    assert expert is not None
    assert (expert.calls, expert.usage.total, expert.replaced, expert.nobody) == (3, 20, 1, 1)


def test_a_call_of_the_expert_without_a_result_makes_its_cost_unknown_and_the_agents_stay(tmp_path: Path) -> None:
    trial = record(
        tmp_path / "b" / "t",
        asked(1, 3),
        *role_call(1, result=None),
        *role_call(2, result=paid(2, 0.5)),
        answer(1, 1, "given"),
        guidance=EXPERT,
    )
    row = row_of(trial)
    assert (row.cost_usd, row.interventions.expert_usd, row.interventions.given) == (1.0, None, 1)


def test_judges_are_no_expert_and_a_trial_without_an_expert_has_no_interventions(tmp_path: Path) -> None:
    row = row_of(record(tmp_path / "b" / "t"))
    assert (row.mode, row.interventions) == ("base", NONE)
    chain = row_of(record(tmp_path / "b" / "c", turn=2, chain=CHAIN))
    facts = chain.interventions
    assert (chain.mode, chain.turn, facts.chain_first, facts.turns) == ("self-correction", 2, "t.m.0.1", 3)
    assert (facts.feedback, facts.conversation, facts.until, facts.given) == ("output", "fresh", "fixed", None)
