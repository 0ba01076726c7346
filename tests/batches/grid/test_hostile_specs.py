"""Specs and folders of batches that were written or changed with ill will, or by chance."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, strategies as st

from agent.batch.grid.orders import order_of
from agent.batch.spec.spec_file import KEYS, read_spec, refused
from agent.batch.spec.spec_parts import ArmOptions
from agent.errors import UserError
from tests.batches.grid.specs import frozen, grid_of
from trajectories.batches.grid import read_grid
from trajectories.errors import RecordError

NAMES = st.sampled_from([*KEYS, *ArmOptions.model_fields, "agents", "usd", "steps", "trials", "at", "task", "model"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | SCALARS, inner, max_size=3),
    max_leaves=12,
)
SPECS = st.dictionaries(NAMES, VALUES, max_size=8).map(lambda value: yaml.safe_dump(value, sort_keys=False))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@given(SPECS | st.text(max_size=60))
def test_any_file_is_a_spec_or_a_mistake_of_the_user_in_one_line(folder: Path, text: str) -> None:
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        spec, mistakes = read_spec(path)
    except UserError as error:
        message = str(error)
    else:
        if not mistakes:
            json.dumps(spec.recorded, allow_nan=False)
        message = str(refused(spec, mistakes))
    assert message.startswith(f"{path}: ")
    assert "\n" not in message


@pytest.mark.parametrize("name", ["../up", "/etc", ".", "..", "a/b", '"a\\0b"', '"a\\nb"', "plans", '""', "x" * 200])
def test_a_name_cannot_lead_out_of_the_runs(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="line 4: name: "):
        grid_of(tmp_path, f"tasks: [ledger]\nmodels: [nop]\nenv: sandbox\nname: {name}\n")
    assert not (tmp_path / "runs").exists()


def test_the_name_of_the_file_is_checked_like_any_other(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"name: '\.hidden' cannot name a batch"):
        grid_of(tmp_path, "tasks: [ledger]\nmodels: [nop]\nenv: sandbox\n", ".hidden")


def test_a_setting_that_names_a_secret_is_refused(tmp_path: Path) -> None:
    for settings in ("{api_key: abc}", "{extra_headers: {authorization: x}}"):
        with pytest.raises(UserError, match=r"line 2: models\.0: .* is not supported: put keys into environment"):
            grid_of(tmp_path, f"tasks: [ledger]\nmodels: [{{name: gpt, settings: {settings}}}]\nenv: sandbox\n")


def test_a_grid_of_too_many_units_is_refused(tmp_path: Path) -> None:
    spec = "tasks: [ledger, cronwhen]\nmodels: [nop, oracle]\nenv: sandbox\narms:\n"
    arms = "".join(f"  a{number}: {{model_settings: {{}}}}\n" for number in range(1))
    prompts = "".join(f"  p{number}: {{prompt: p{number}.yaml}}\n" for number in range(3))
    for number in range(3):
        (tmp_path / f"p{number}.yaml").write_text(f"# {number}\nextends: default\nshown_characters: {9000 + number}\n")
    with pytest.raises(UserError, match=r"attempts: make 1,600,000 units; a batch has at most 1,000,000"):
        grid_of(tmp_path, f"{spec}{arms}{prompts}attempts: 100000\n")


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"step_limit":50', '"step_limit":5000', "makes another configuration of the batch's grid than was planned"),
        ('"env":"sandbox"', '"env":"local"', "makes another configuration of the batch's grid than was planned"),
        ('"model":"nop"', '"model":"oracle"', "makes another configuration of the batch's grid than was planned"),
    ],
)
def test_a_grid_that_was_changed_makes_no_order(tmp_path: Path, old: str, new: str, reason: str) -> None:
    grid = grid_of(tmp_path, "tasks: [ledger]\nmodels: [nop]\nenv: sandbox\nlimits: {steps: 50}\n")
    frozen(grid)
    text = grid.folder.grid.read_text()
    assert old in text
    grid.folder.grid.write_text(text.replace(old, new))
    (configuration,) = read_grid(grid.folder.path)
    with pytest.raises(UserError, match=reason):
        order_of(grid.folder, configuration)


@pytest.mark.parametrize("sha256", ["../../../etc/passwd", "0" * 64, ""])
def test_an_input_cannot_name_another_file(tmp_path: Path, sha256: str) -> None:
    grid = grid_of(tmp_path, "tasks: [ledger]\nmodels: [nop]\nenv: sandbox\n")
    frozen(grid)
    line = json.loads(grid.folder.grid.read_text())
    for ref in line["inputs"]:
        ref["sha256"] = sha256
    grid.folder.grid.write_text(json.dumps(line) + "\n")
    (configuration,) = read_grid(grid.folder.path)
    with pytest.raises(RecordError, match=r"is not a sha256|the blob is missing"):
        order_of(grid.folder, configuration)
