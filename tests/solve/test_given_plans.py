"""The plan of a trial: who wrote it, at what cost, by which rule, and at which step; from `--plan` into the record."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from agent.continuation.resume import resuming
from agent.errors import UserError
from agent.guidance.plans import GivenPlan, given_plan
from agent.trial.options import Options
from agent.trial.resolve import resolve
from benchmarks.task.registry import resolve_task
from tests.record.plan_records import COST, TEXT, answered, plan_record
from tests.solve.command import agent, script
from tests.solve.test_every_death import resume
from tests.solve.test_resumed_forks import copy_cut
from trajectories.checks.check import check
from trajectories.reading.reader import first_event, read_events
from trajectories.record.events import Message, Plan
from trajectories.record.identity import configuration_hash
from trajectories.record.interventions import CodeRule
from trajectories.record.usage import Costs

TASK = resolve_task("demo/ledger")[1]
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def given(typed: Path | str, runs: Path, rule: CodeRule | None = None) -> GivenPlan:
    return given_plan(Path(typed), runs, rule, TASK)


def facts(plan: Plan) -> tuple[object, ...]:
    model = None if plan.model is None else plan.model.name
    return plan.author, model, plan.costs, plan.record, plan.rule, plan.step


FROM_A_MODEL = ("model", "anthropic/claude-opus-4-7", COST, "ledger.opus.1", "no-code", 0)
FROM_A_FILE = ("file", None, None, None, "none", 0)


def test_a_plan_of_a_record_has_its_author_costs_and_rule_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    record = plan_record(runs)
    shutil.copy(record / "plan.md", tmp_path / "copy.md")
    (tmp_path / "stripped.md").write_text(TEXT.strip())
    monkeypatch.chdir(tmp_path)
    names = (record, record / "plan.md", "plans/ledger.opus.1", "plans/led", "ledger.opus.1", "copy.md", "stripped.md")
    plans = [given(name, runs) for name in names]
    assert [facts(plan.ref) for plan in plans] == [FROM_A_MODEL] * len(names)
    assert {plan.text for plan in plans[:-1]} == {TEXT}
    assert len({plan.ref.sha256 for plan in plans[:-1]}) == 1, "one configuration"


def test_a_text_that_was_changed_is_a_plan_of_unknown_author(tmp_path: Path) -> None:
    record = plan_record(tmp_path)
    (record / "plan.md").write_text(f"{TEXT}3. Rest.\n")
    assert facts(given(record / "plan.md", tmp_path).ref) == FROM_A_FILE
    assert given(record, tmp_path).text == TEXT, "the record holds the plan"
    (tmp_path / "own.md").write_text("Think.\n")
    assert facts(given(tmp_path / "own.md", tmp_path).ref) == FROM_A_FILE


def test_a_plan_of_a_person_costs_nothing_and_names_no_model(tmp_path: Path) -> None:
    nothing = Costs(billed=0, computed=0, list=0)
    plan_record(tmp_path, "ledger.human.1", [answered(costs=nothing)], model="human")
    assert facts(given("plans/ledger.human.1", tmp_path).ref)[:4] == ("person", None, nothing, "ledger.human.1")


def test_the_record_in_which_a_file_lies_comes_before_others_with_the_same_text(tmp_path: Path) -> None:
    first = plan_record(tmp_path, "ledger.opus.1", t="2026-11-01T00:00:00.000Z")
    second = plan_record(tmp_path, "ledger.opus.2", t="2026-11-02T00:00:00.000Z")
    assert given(first / "plan.md", tmp_path).ref.record == "ledger.opus.1"
    assert given(second / "plan.md", tmp_path).ref.record == "ledger.opus.2"
    shutil.copy(first / "plan.md", tmp_path / "copy.md")
    assert given(tmp_path / "copy.md", tmp_path).ref.record == "ledger.opus.2", "the newest"
    assert given(first / "plan.md", tmp_path / "elsewhere").ref.record == "ledger.opus.1"


def test_the_cost_of_a_call_without_a_result_is_unknown(tmp_path: Path) -> None:
    plan_record(tmp_path, results=[None, answered()])
    assert given("plans/ledger.opus.1", tmp_path).ref.costs == Costs()


def test_a_rule_that_is_named_is_checked_and_recorded_and_otherwise_the_record_has_it(tmp_path: Path) -> None:
    (tmp_path / "code.md").write_text("Do it:\n\nx = compute(1)\n")
    with pytest.raises(UserError, match=r"code\.md: line 3 breaks the rule no-code \(line of code\): x = compute"):
        given(tmp_path / "code.md", tmp_path, "no-code")
    assert given(tmp_path / "code.md", tmp_path).ref.rule == "none"
    assert given(tmp_path / "code.md", tmp_path, "none").ref.rule == "none"
    plan_record(tmp_path, results=[answered("x = compute(1)\n")], rule="none")
    assert given("plans/ledger.opus.1", tmp_path).ref.rule == "none"
    with pytest.raises(UserError, match="line 1 breaks the rule"):
        given("plans/ledger.opus.1", tmp_path, "no-code")


def test_a_record_without_a_plan_an_empty_file_and_a_path_outside_of_the_plans_are_refused(tmp_path: Path) -> None:
    plan_record(tmp_path, results=[answered(" ", status="malformed")])
    with pytest.raises(UserError, match="no plan came of this record"):
        given("plans/ledger.opus.1", tmp_path)
    (tmp_path / "empty.md").write_text("\n \n")
    with pytest.raises(UserError, match="the file is empty"):
        given(tmp_path / "empty.md", tmp_path)
    with pytest.raises(UserError, match="cannot be read"):
        given("plans/nothing", tmp_path)
    plan_record(tmp_path, "ledger.opus.2")
    with pytest.raises(UserError, match="fits 2 records"):
        given("plans/ledger", tmp_path)


def test_only_the_rule_no_code_changes_the_identity(tmp_path: Path) -> None:
    (tmp_path / "own.md").write_text("Think.\n")
    options = Options(model="nop", task="demo/ledger", env="local", plan=tmp_path / "own.md", runs=tmp_path)
    plain, none, checked = (
        resolve(replace(options, plan_rule=rule)).trial_started() for rule in (None, "none", "no-code")
    )
    assert configuration_hash(plain) == configuration_hash(none) != configuration_hash(checked)
    old = plain.model_copy(update={"plan": Plan(name="own.md", sha256=plain.plan.sha256 if plain.plan else "")})
    assert configuration_hash(old) == configuration_hash(plain), "as before 2.1"
    assert "plan_rule" not in resolve(replace(options, plan_rule="none")).trial_started().options


def test_a_plan_stays_in_the_record_through_fork_and_resume(tmp_path: Path) -> None:
    plan_record(tmp_path / "runs")
    (tmp_path / "start").mkdir()
    place = ("--instruction", "x", "--workspace", "start", "--env", "local")
    model = script(tmp_path, "echo 1", "echo 2", SUBMIT)
    solved = agent(
        tmp_path, "solve", *place, "--model", model, "--plan", "plans/ledger.opus.1", "--step-limit", "2", "--json"
    )
    first = first_event(solved.trial)
    assert first.plan is not None
    assert facts(first.plan) == FROM_A_MODEL
    page = agent(tmp_path, "show", str(solved.trial)).out
    assert "plan plans/ledger.opus.1   by claude-opus-4-7   rule no-code   cost computed $0.2500, list $0.5000" in page
    again = agent(tmp_path, "fork", str(solved.trial), "--at", "1", "--plan", "plans/ledger.opus.1", "--json")
    assert (again.status, "was given this plan" in again.err) == (2, True), again.err
    plan_record(tmp_path / "runs", "ledger.opus.2", [answered("Another plan.")])
    with_plan = ("--plan", "plans/ledger.opus.2", "--plan-rule", "none")
    forked = agent(tmp_path, "fork", str(solved.trial), "--at", "1", *with_plan, "--json")
    child = first_event(forked.trial).plan
    assert child is not None
    assert facts(child) == (*FROM_A_MODEL[:3], "ledger.opus.2", "none", 1)
    assert "given after step 1" in agent(tmp_path, "show", str(forked.trial)).out
    shutil.rmtree(tmp_path / "runs" / "plans")
    with resuming(forked.trial) as resumption:
        assert resumption.summary.entry.given_plan == child, "without the record, too"
    assert check(forked.trial).consistent


def test_a_fork_keeps_the_plan_of_its_conversation_and_never_repeats_it(tmp_path: Path) -> None:
    plan_record(tmp_path / "runs")
    (tmp_path / "start").mkdir()
    place = ("--instruction", "x", "--workspace", "start", "--env", "local", "--plan", "plans/ledger.opus.1")
    parent = agent(tmp_path, "solve", *place, "--model", script(tmp_path, "echo 1", SUBMIT), "--json").trial
    child = agent(tmp_path, "fork", str(parent), "--at", "1", "--json").trial
    start = first_event(child)
    assert (start.plan, start.mode) == (first_event(parent).plan, "plan")
    assert plan_messages(child) == 1
    kinds = [event.type for event in read_events(child)]
    for lines in (1, kinds.index("inherited_reply") + 1, kinds.index("call_started")):
        trial, _ = copy_cut(child, tmp_path / str(lines), lines)
        resume(trial)
        assert plan_messages(trial) == 1, lines
        assert check(trial).first is None, lines


def plan_messages(trial: Path) -> int:
    return sum(isinstance(event, Message) and event.why == "plan" for event in read_events(trial))


def test_a_secret_in_a_plan_is_in_no_file_of_the_trial(tmp_path: Path) -> None:
    secret = "sk-veryverysecret0123456789"
    (tmp_path / "own.md").write_text(f"Use {secret} for the service.\n")
    (tmp_path / "start").mkdir()
    place = ("--instruction", "x", "--workspace", "start", "--env", "local", "--model", "nop", "--json")
    trial = agent(tmp_path, "solve", *place, "--plan", "own.md", SERVICE_API_KEY=secret).trial
    assert plan_messages(trial) == 1
    assert all(secret.encode() not in path.read_bytes() for path in trial.rglob("*") if path.is_file())
    assert check(trial).consistent


def test_what_a_trial_states_about_its_plan_is_compared_with_the_record(tmp_path: Path) -> None:
    record = plan_record(tmp_path / "runs")
    (tmp_path / "start").mkdir()
    place = ("--instruction", "x", "--workspace", "start", "--env", "local", "--model", "nop", "--json")
    trial = agent(tmp_path, "solve", *place, "--plan", str(record)).trial
    assert check(trial).consistent
    events = record / "events.jsonl"
    events.write_text(events.read_text().replace('"computed":0.25', '"computed":0.0'))
    assert [finding.text for finding in check(trial).findings] == [
        "the costs of its plan are not those in plans/ledger.opus.1"
    ]
