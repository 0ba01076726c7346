"""`agent batch --dry-run` shows the grid, its units and their largest cost, and writes nothing."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.batch.grid.orders import order_of
from agent.config import defaults
from agent.trial.run import named
from tests.batches.files.writing import opened, planned
from tests.batches.grid.specs import EVERY_ARM, frozen, grid_of, write_files
from tests.solve.command import CommandResult, agent
from trajectories.batches.events import Ended
from trajectories.batches.grid import read_grid
from trajectories.batches.journal import BatchWriter

PRICED = """\
tasks: [ledger]
models: [mine]
arms:
  base:
  turns: {self_correct: 3, feedback: scores}
  expert: {guidance: mine, guidance_settings: {max_tokens: 500}}
attempts: 2
env: sandbox
"""


@pytest.fixture
def endpoint() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an alias of the user's."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config/models.yaml").write_text(
        "mine: {name: openai/gpt-5, settings: {temperature: 1, max_tokens: 900}}\n"
    )
    return write_files(tmp_path)


def dry_run(folder: Path, spec: str, *argv: str, **variables: str) -> CommandResult:
    (folder / "study.yaml").write_text(spec)
    return agent(folder, "batch", "study.yaml", "--dry-run", *argv, **variables)


@pytest.mark.sandbox
def test_the_grid_is_printed_and_nothing_is_written(folder: Path) -> None:
    shown = dry_run(folder, EVERY_ARM)
    assert (shown.status, shown.err) == (0, "")
    assert shown.out.startswith(
        "batch study: 2 tasks x 2 models x 7 arms x 2 attempts, 10 combinations excluded, in sandbox\n"
    )
    assert "runs/study: 36 units, none planned before" in shown.out
    assert shown.out.endswith("largest possible cost: $0: its models cost nothing\n")
    assert not (folder / "runs").exists()


@pytest.mark.sandbox
def test_chains_cost_as_many_trials_as_they_have_turns(folder: Path, endpoint: str) -> None:
    environment = {"OPENAI_API_KEY": "k", "OPENAI_API_BASE": endpoint, "OPENAI_BASE_URL": endpoint}
    shown = dry_run(folder, f"{PRICED}limits: {{cost_usd: 2}}\n", "--json", **environment)
    assert shown.status == 0, shown.err
    costs = {arm["arm"]: arm["largest_cost_usd"] for arm in shown.json["arms"]}
    assert costs == {"base": 4, "turns": 12, "expert": None}
    assert shown.json["largest_cost_usd"] is None
    assert shown.json["reason"] == "the calls of the expert mine have no limit (arm expert); `budget.usd` sets a bound"
    bounded = dry_run(folder, f"{PRICED}limits: {{cost_usd: 2}}\nbudget: {{usd: 9}}\n", "--json", **environment)
    assert bounded.json["largest_cost_usd"] == 9
    assert len(bounded.json["configurations"]) == 3


@pytest.mark.sandbox
def test_what_the_machine_lacks_is_reported_after_the_grid(folder: Path, endpoint: str) -> None:
    no_key = dry_run(folder, PRICED)
    assert no_key.status == 2
    assert no_key.out.startswith("batch study: 1 task x 1 model x 3 arms x 2 attempts, in sandbox")
    assert "line 2: models.0: no key for 'openai/gpt-5': set OPENAI_API_KEY in the environment" in no_key.err
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    gone = f"http://127.0.0.1:{port}/v1"
    unreachable = dry_run(folder, PRICED, OPENAI_API_KEY="k", OPENAI_API_BASE=gone, OPENAI_BASE_URL=gone)
    assert unreachable.err.count("cannot reach the API base") >= 1
    assert "batch study" in unreachable.out


@pytest.mark.sandbox
def test_units_of_a_batch_that_exists_are_counted(folder: Path) -> None:
    grid = grid_of(folder, EVERY_ARM)
    with BatchWriter(make(grid.folder.path)) as writer:
        writer.append(opened(spec=grid.spec.recorded))
        for number, unit in enumerate(frozen(grid)):
            event = writer.append(planned(unit.configuration, unit.attempt))
            if number < 5:
                writer.append(Ended(unit=event.unit, trial=event.trial, status="finished", cause="submitted"))
    grown = dry_run(folder, EVERY_ARM.replace("attempts: 2", "attempts: 3"))
    assert "runs/study: 36 of the 54 units were planned before, 5 of them are finished; 18 are new" in grown.out
    other = dry_run(folder, EVERY_ARM.replace("steps: 50", "steps: 5"))
    assert (other.status, other.out) == (2, "")
    assert "runs/study holds a batch of another spec: limits changed." in other.err


def make(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


@pytest.mark.sandbox
def test_evaluations_of_chains_cannot_be_postponed(folder: Path) -> None:
    refused = dry_run(folder, EVERY_ARM, "--no-evaluate")
    assert refused.status == 2
    assert "--no-evaluate: trials of self-correction, all are chains" in refused.err


@pytest.mark.sandbox
def test_a_worker_needs_no_alias_of_the_user(
    folder: Path, endpoint: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model and the expert have the same short name, but other settings."""
    monkeypatch.setenv("RETRACE_CONFIG_DIR", str(folder / "config"))
    grid = grid_of(folder, f"{PRICED}limits: {{tokens: 2M}}\n")
    frozen(grid)
    elsewhere = tmp_path_factory.mktemp("worker")
    (elsewhere / "config.yaml").write_text(f"api-base: {endpoint}\n")
    shutil.rmtree(folder / "config")
    monkeypatch.setenv("RETRACE_CONFIG_DIR", str(elsewhere))
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-worker")
    monkeypatch.setenv("OPENAI_API_BASE", endpoint)
    defaults.cache_clear()
    try:
        for configuration in read_grid(grid.folder.path):
            order, start = order_of(grid.folder, configuration)
            first = named(start.first_event(order), configuration.trial(1), 1)
            assert first.options.pop("api_base") == endpoint
            assert first.model_dump(mode="json") == configuration.first_event(1).model_dump(mode="json")
            assert order.model.info.parameters["api_base"] == endpoint
            assert order.model.info.ref.settings == {"temperature": 1, "max_tokens": 900}
            if order.expert is not None:
                assert order.expert.guidance.model is not None
                assert order.expert.guidance.model.settings["max_tokens"] == 500
    finally:
        defaults.cache_clear()
    assert b"of-the-worker" not in b"".join(p.read_bytes() for p in grid.folder.path.rglob("*") if p.is_file())
