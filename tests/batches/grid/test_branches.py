"""A grid may begin with steps of other trials: its units are forks, with the identities that `agent fork` gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.batch.grid.orders import order_of
from agent.continuation.fork import fork
from agent.errors import UserError
from agent.loop.worker import LoopWorker
from agent.trial.run import named, run_at
from tests.batches.grid.specs import frozen, grid_of
from tests.solve.command import agent
from trajectories.batches.grid import read_grid
from trajectories.reading.reader import read_events
from trajectories.record.events import Exited
from trajectories.record.identity import configuration_hash

pytestmark = pytest.mark.sandbox

SCRIPT = "- commands: ['echo one > one.txt']\n- commands: ['echo two > two.txt']\n"
SUBMIT = "- commands: ['echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT']\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trial of two steps and a submission, in `runs`."""
    folder = tmp_path_factory.mktemp("branches")
    (folder / "model.yaml").write_text(SCRIPT + SUBMIT)
    (folder / "other.yaml").write_text(f"# another one\n{SCRIPT}{SUBMIT}")
    (folder / "plan-ledger.md").write_text("Read the examples first.\n")
    argv = ("--task", "ledger", "--model", f"script:{folder}/model.yaml", "--env", "sandbox", "--no-evaluate")
    solved = agent(folder, "solve", *argv, "--json")
    assert solved.status == 0, solved.err
    return folder


def spec_of(folder: Path, more: str = "", at: str = '"0,2"') -> str:
    parent = next((folder / "runs/single").glob("ledger.*"))
    return f"from: {{trials: [{parent.name}], at: {at}}}\n{more}"


def test_each_step_model_and_arm_gives_a_fork(folder: Path) -> None:
    arms = 'arms:\n  base:\n  plan: {plan: "plan-{task}.md"}\nattempts: 2\n'
    grid = grid_of(folder, spec_of(folder, f"models: ['script:other.yaml', nop]\n{arms}"), "forks")
    assert len(grid.lines) == 8
    assert {line.configuration.first.parent.step for line in grid.lines if line.configuration.first.parent} == {0, 2}
    parent = next((folder / "runs/single").glob("ledger.*"))
    for line in grid.lines:
        first = line.configuration.first
        assert first.parent is not None
        plan = {"plan": folder / "plan-ledger.md"} if line.configuration.arm == "plan" else {}
        order, start = fork(parent, first.parent.step, model=first.model.asked, model_settings={}, **plan)  # type: ignore[arg-type]
        single = named(start.first_event(order), "x.1", 1)
        assert single.identity == line.configuration.unit(1)


def test_a_worker_makes_the_fork_of_the_folder_and_runs_it(folder: Path) -> None:
    arms = 'arms: {plan: {plan: "plan-{task}.md", plan_rule: no-code}}\n'
    grid = grid_of(folder, spec_of(folder, f"models: ['script:other.yaml']\n{arms}", at="2"), "worker")
    frozen(grid)
    (folder / "other.yaml").rename(folder / "gone.yaml")
    (folder / "plan-ledger.md").rename(folder / "gone.md")
    try:
        (configuration,) = read_grid(grid.folder.path)
        order, start = order_of(grid.folder, configuration, evaluate=False)
        made = named(start.first_event(order), configuration.trial(1), 1)
        assert made.model_dump(mode="json") == configuration.first_event(1).model_dump(mode="json")
        trial = grid.folder.path / made.trial
        trial.mkdir()
        run_at(trial, made, order, start, LoopWorker(order))
        record = list(read_events(trial))
        assert [event.exit.cause for event in record if isinstance(event, Exited)] == ["submitted"]
        assert configuration_hash(record[0]) == configuration.id  # type: ignore[arg-type]
        assert "Read the examples first." in (trial / "events.jsonl").read_text()
    finally:
        (folder / "gone.yaml").rename(folder / "other.yaml")
        (folder / "gone.md").rename(folder / "plan-ledger.md")


def test_without_models_forks_have_the_model_of_their_parent(folder: Path) -> None:
    grid = grid_of(folder, spec_of(folder, at="1"), "same")
    (line,) = grid.lines
    assert line.order.model.info.ref.asked == f"script:{folder}/model.yaml"
    assert line.configuration.first.environment == "sandbox"


@pytest.mark.parametrize(
    ("at", "more", "reason"),
    [
        ('"0,9"', "", r"line 1: from.at: 0,9: ledger\.\S+ has steps 0 to 3"),
        ("x", "", r"line 1: from.at: 'x': 'x' is not a step; write steps such as"),
        ("1", "tasks: [ledger]\n", "line 2: tasks: does not go with `from`"),
        ("1", "arms: {t: {self_correct: 2}}\n", "line 2: arms.t.self_correct: does not go with `from`"),
        ("1", "models: [human]\n", r"line 2: models.0: human cannot be a model of a batch"),
    ],
)
def test_mistakes_of_branches_are_named(folder: Path, at: str, more: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        grid_of(folder, spec_of(folder, more, at=at), "wrong")


def test_a_trial_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(UserError, match=r"line 1: from.trials.0: no trial 'nothing'"):
        grid_of(folder, "from: {trials: [nothing], at: 1}\n", "wrong")


def test_a_parent_that_is_not_on_the_machine_is_named(folder: Path) -> None:
    grid = grid_of(folder, spec_of(folder, at="1"), "moved")
    frozen(grid)
    (configuration,) = read_grid(grid.folder.path)
    parent = next((folder / "runs/single").glob("ledger.*"))
    parent.rename(parent.with_name("elsewhere"))
    try:
        with pytest.raises(UserError, match=rf"its parent {parent} is not on this machine; copy it there"):
            order_of(grid.folder, configuration)
    finally:
        parent.with_name("elsewhere").rename(parent)
