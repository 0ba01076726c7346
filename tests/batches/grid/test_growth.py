"""A batch may grow, and nothing that was planned may change: a spec that would do so is refused with what changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.batch.grid.freeze import PlannedUnit
from agent.batch.grid.orders import order_of
from agent.batch.grid.resolve import Grid
from agent.errors import UserError
from scoring.pricing.published import prices_of
from scoring.pricing.snapshots import write_snapshot
from tests.batches.files.writing import opened, planned
from tests.batches.grid.specs import frozen, grid_of, write_files
from trajectories.batches.events import BatchEvent
from trajectories.batches.grid import read_grid
from trajectories.errors import RecordError

SPEC = """\
tasks: [ledger]
models: ["script:scripts/{task}.yaml"]
arms:
  base: {}
  plan: {plan: "plans/{task}.md"}
attempts: 2
limits: {steps: 50}
env: sandbox
"""


def events_of(grid: Grid, new: list[PlannedUnit]) -> tuple[BatchEvent, ...]:
    """Return a journal in which a coordinator planned these units."""
    return (opened(spec=grid.spec.recorded), *(planned(unit.configuration, unit.attempt) for unit in new))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(tmp_path)


@pytest.fixture
def events(folder: Path) -> tuple[BatchEvent, ...]:
    """The journal of a batch that was begun with `SPEC`."""
    grid = grid_of(folder, SPEC)
    return events_of(grid, frozen(grid))


def test_the_same_spec_plans_nothing_new(folder: Path, events: tuple[BatchEvent, ...]) -> None:
    before = (folder / "runs/study/grid.jsonl").read_bytes()
    changeable = "workers: 9\nreruns: 0\nevaluations: 7\nbudget: {usd: 9}\n"
    assert frozen(grid_of(folder, SPEC + changeable), events) == []
    assert (folder / "runs/study/grid.jsonl").read_bytes() == before


def test_only_what_is_new_is_planned_when_the_grid_grows(folder: Path, events: tuple[BatchEvent, ...]) -> None:
    grown = SPEC.replace("[ledger]", "[cronwhen, ledger]").replace("attempts: 2", "attempts: 3")
    grown = grown.replace("  base: {}\n", "  base: {}\n  turns: {self_correct: 2, feedback: scores}\n")
    grid = grid_of(folder, grown)
    new = frozen(grid, events)
    assert len(new) == grid.units - 4 == 14
    assert {(unit.configuration.first.task.id, unit.configuration.arm) for unit in new if unit.attempt < 3} == {
        ("demo/cronwhen", "base"),
        ("demo/cronwhen", "turns"),
        ("demo/cronwhen", "plan"),
        ("demo/ledger", "turns"),
    }
    assert [each.arm for each in read_grid(grid.folder.path)][:2] == ["base", "plan"], "the first lines stay"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("steps: 50", "steps: 60", "another spec: limits changed"),
        ("attempts: 2", "attempts: 1", "attempts was 2, and is 1"),
        ('  plan: {plan: "plans/{task}.md"}\n', "", "arms.plan is missing"),
        ("plans/{task}", "plans/cronwhen", "arms.plan changed"),
        ("[ledger]", "[cronwhen]", "tasks lacks ledger"),
        ("script:scripts/{task}.yaml", "nop", "models lacks script:scripts/{task}.yaml"),
        ("env: sandbox", "env: local", "env changed"),
        ("env: sandbox", "env: sandbox\nexclude: [{arm: plan}]", "exclude changed"),
        ("env: sandbox", "env: sandbox\nprices: litellm-{version}", "prices changed"),
    ],
)
def test_a_spec_that_changes_a_unit_is_refused_with_its_keys(
    folder: Path, events: tuple[BatchEvent, ...], old: str, new: str, reason: str
) -> None:
    from importlib.metadata import version

    before = (folder / "runs/study/grid.jsonl").read_bytes()
    grid = grid_of(folder, SPEC.replace(old, new.replace("{version}", version("litellm"))))
    with pytest.raises(UserError, match=r"runs/study holds a batch of another spec: ") as caught:
        frozen(grid, events)
    assert reason in str(caught.value)
    assert str(caught.value).endswith("choose another `name`")
    assert (folder / "runs/study/grid.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("scripts/ledger.yaml", "the model script:/"),
        ("plans/ledger.md", "plans/ledger.md changed"),
    ],
)
def test_an_edited_file_is_refused_with_its_name(
    folder: Path, events: tuple[BatchEvent, ...], file: str, reason: str
) -> None:
    (folder / file).write_text((folder / file).read_text() + "# edited\n")
    with pytest.raises(UserError, match="holds a batch of another spec") as caught:
        frozen(grid_of(folder, SPEC), events)
    assert reason in str(caught.value)


def test_new_units_are_priced_like_the_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The snapshot of prices is replaced by another one of its name in the meantime."""
    monkeypatch.setenv("RETRACE_CONFIG_DIR", str(folder / "config"))
    spec = f"{SPEC}prices: mine\n"

    def write_prices(rate: float) -> None:
        (folder / "config/prices/mine.json").unlink(missing_ok=True)
        row = {"input": rate, "output": rate}
        prices = prices_of({"models": {"openai/gpt-5": row}}, "test")
        write_snapshot(folder / "config/prices", "mine", prices, date="2026-11-01")

    write_prices(1e-6)
    grid = grid_of(folder, spec)
    events = events_of(grid, frozen(grid))
    write_prices(2e-6)
    grown = grid_of(folder, spec.replace("attempts: 2", "attempts: 3"))
    assert len(frozen(grown, events)) == 2
    for line in read_grid(grid.folder.path):
        price = order_of(grid.folder, line)[0].prices.price("openai/gpt-5")
        assert price is not None
        assert price.base.input == 1e-6
    other = grid_of(folder, spec, "other").lines[0].order.prices.price("openai/gpt-5")
    assert other is not None
    assert other.base.input == 2e-6


def test_a_folder_with_trials_of_no_batch_is_refused(folder: Path) -> None:
    grid = grid_of(folder, SPEC)
    trial = grid.folder.path / "ledger.nop.12345678.1"
    trial.mkdir(parents=True)
    (trial / "events.jsonl").write_text('{"seq":0,"type":"trial_started"}\n')
    with pytest.raises(UserError, match="runs/study holds trials that are not of a batch; choose another `name`"):
        frozen(grid)


def test_a_secret_is_not_written_into_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "hunter2hunter2"
    monkeypatch.setenv("MY_API_KEY", secret)
    (folder / "plans/ledger.md").write_text(f"Log in with {secret}.\n")
    with pytest.raises(RecordError, match=r"plans/ledger.md: it holds a secret of this process's environment"):
        frozen(grid_of(folder, SPEC))
    spec = f"tasks: [ledger]\nmodels: [{{name: opus, settings: {{metadata: {{k: {secret}}}}}}}]\nenv: sandbox\n"
    with pytest.raises(RecordError, match="holds a secret of this process's environment"):
        frozen(grid_of(folder, spec, "other"))
    assert not any(secret.encode() in path.read_bytes() for path in (folder / "runs").rglob("*") if path.is_file())


def test_a_folder_that_cannot_be_written_is_one_line(folder: Path) -> None:
    grid = grid_of(folder, SPEC)
    grid.folder.path.mkdir(parents=True)
    grid.folder.inputs.write_text("a file in place of the folder")
    with pytest.raises(RecordError, match=r"\.inputs: .* cannot be written \(File exists\)"):
        frozen(grid)
