"""A worker that has only the folder of a batch makes the orders that were planned, as `agent solve` would."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agent.batch.grid.freeze import units_of
from agent.batch.grid.orders import order_of
from agent.batch.grid.resolve import Grid
from agent.errors import UserError
from agent.trial.options import Options
from agent.trial.resolve import resolve
from agent.trial.run import named
from tests.batches.grid.specs import EVERY_ARM, frozen, grid_of, write_files
from trajectories.batches.grid import read_grid
from trajectories.errors import RecordError

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Grid:
    """A frozen grid with every kind of arm, whose other files are gone."""
    folder = write_files(tmp_path_factory.mktemp("grid"))
    grid = grid_of(folder, EVERY_ARM)
    frozen(grid)
    for name in ("scripts", "plans", "answers", "prompts"):
        shutil.rmtree(folder / name)
    return grid


def test_event_0_of_each_arm_is_the_one_that_was_planned(grid: Grid) -> None:
    configurations = read_grid(grid.folder.path)
    assert {each.arm for each in configurations} == {
        "base", "self-correction", "plan", "guidance", "expert", "prompt", "all",
    }  # fmt: skip
    for configuration in configurations:
        order, start = order_of(grid.folder, configuration)
        for attempt in (1, 2):
            made = named(start.first_event(order), configuration.trial(attempt), attempt)
            assert json.loads(made.model_dump_json()) == json.loads(
                configuration.first_event(attempt).model_dump_json()
            )
            assert made.identity == configuration.unit(attempt)
        assert (order.runs / order.batch) == grid.folder.path
        assert order.evaluate


def test_the_contents_of_an_order_are_the_frozen_ones(grid: Grid) -> None:
    orders = {
        line.arm: order_of(grid.folder, line)[0]
        for line in read_grid(grid.folder.path)
        if line.first.task.id == "demo/ledger" and line.first.model.name == "script"
    }
    assert orders["plan"].plan == "Read the tests of ledger first.\n"
    assert orders["guidance"].guidance_inputs == (b"- Look at the examples of ledger first.\n",)
    assert orders["all"].chain is not None
    assert orders["all"].chain.until == "passed"
    assert orders["base"].prices.rows == grid.lines[0].order.prices.rows
    assert orders["base"].prices.sha256 == grid.lines[0].order.prices.sha256


def test_identities_are_those_of_trials_that_are_begun_one_by_one(tmp_path: Path) -> None:
    folder = write_files(tmp_path)
    grid = grid_of(folder, EVERY_ARM)
    script = f"script:{folder}/scripts/ledger.yaml"
    limits = {
        "step_limit": 50,
        "time_limit_s": 3600.0,
        "token_limit": 2_000_000,
        "cost_limit_usd": 2.0,
        "command_timeout_s": 60.0,
    }
    of_arms = {
        "base": {},
        "self-correction": {"self_correct": 3, "feedback": "scores"},
        "plan": {"plan": folder / "plans/ledger.md", "plan_rule": "no-code"},
        "guidance": {"guidance": f"file:{folder}/answers/ledger.yaml", "max_interventions": 2},
        "expert": {"guidance": f"script:{folder}/scripts/expert.yaml", "guidance_rule": "none"},
        "prompt": {"prompt": str(folder / "prompts/mine.yaml")},
    }
    planned = {
        line.configuration.arm: line.configuration
        for line in grid.lines
        if line.order.task.id == "demo/ledger" and line.order.model.info.ref.name == "script"
    }
    for arm, own in of_arms.items():
        alone = resolve(Options(model=script, task="ledger", env="sandbox", runs=folder, **limits, **own))  # type: ignore[arg-type]
        single = named(alone.trial_started(), "x.1", 1)
        assert single.identity == planned[arm].unit(1), arm


def test_every_unit_has_an_identity_and_a_folder_of_its_own(grid: Grid) -> None:
    units = units_of(grid)
    assert len(units) == grid.units == 2 * len(grid.lines)
    assert len({each.unit for each in units}) == len(units)
    assert len({each.configuration.trial(each.attempt) for each in units}) == len(units)
    assert [each.attempt for each in units] == sorted(each.attempt for each in units)


def test_a_postponed_evaluation_leaves_event_0_as_it_is(grid: Grid) -> None:
    configurations = {line.arm: line for line in read_grid(grid.folder.path)}
    order, start = order_of(grid.folder, configurations["plan"], evaluate=False)
    assert not order.evaluate
    assert start.first_event(order).options["evaluate"] is True
    with pytest.raises(UserError, match="a chain needs the result of each turn; leave --no-evaluate out"):
        order_of(grid.folder, configurations["self-correction"], evaluate=False)


def test_a_task_that_changed_since_is_refused_with_its_digests(tmp_path: Path) -> None:
    task = tmp_path / "mine"
    task.mkdir()
    (task / "task.yaml").write_text("title: T\nkind: repair\nenvironments: [sandbox]\n")
    (task / "instruction.md").write_text("Do it.\n")
    grid = grid_of(tmp_path, "tasks: [./mine]\nmodels: [nop]\nenv: sandbox\n")
    frozen(grid)
    (configuration,) = read_grid(grid.folder.path)
    order_of(grid.folder, configuration)
    with (task / "instruction.md").open("a") as file:
        file.write("And be quick.\n")
    with pytest.raises(UserError, match=rf"the task \S+mine is another one .*{configuration.first.task.digest[:12]}"):
        order_of(grid.folder, configuration)


def test_inputs_that_were_changed_are_refused(tmp_path: Path) -> None:
    folder = write_files(tmp_path)
    grid = grid_of(folder, 'tasks: [ledger]\nmodels: [nop]\narms: {plan: {plan: "plans/{task}.md"}}\nenv: sandbox\n')
    frozen(grid)
    (configuration,) = read_grid(grid.folder.path)
    plan = configuration.first.plan
    assert plan is not None
    stored = grid.folder.inputs / plan.sha256[:2] / f"{plan.sha256[2:]}.zst"
    other = next(path for path in grid.folder.inputs.rglob("*.zst") if path != stored)
    stored.unlink()
    shutil.copy(other, stored)
    with pytest.raises(RecordError, match="does not have the hash in its name"):
        order_of(grid.folder, configuration)
    stored.unlink()
    with pytest.raises(RecordError, match="the blob is missing"):
        order_of(grid.folder, configuration)
