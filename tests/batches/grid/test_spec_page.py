"""The page about specs names every key and option, with examples that the parser takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent.batch.spec.spec_file import KEYS, read_spec
from agent.batch.spec.spec_parts import ArmOptions

PAGE = Path(__file__).parents[3] / "docs/reference/batch-spec.md"


def rows(heading: str) -> dict[str, str]:
    """Return the first two columns of the table below a heading, without their backquotes."""
    section = PAGE.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| `(\w+)` \| `(.*?)` \|", section, re.MULTILINE)
    return dict(lines)


def written(folder: Path, text: str) -> Path:
    path = folder / "study.yaml"
    path.write_text(text)
    return path


def test_every_key_and_option_is_on_the_page() -> None:
    assert tuple(rows("Keys")) == KEYS
    assert tuple(rows("Options of an arm")) == tuple(ArmOptions.model_fields)


def test_the_spec_on_the_page_has_no_mistake(tmp_path: Path) -> None:
    block = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert block is not None
    spec, mistakes = read_spec(written(tmp_path, block[1]))
    assert not mistakes
    assert [arm.name for arm in spec.arms] == ["base", "self-correction", "plan", "guidance", "all"]
    assert (spec.limits.time_s, spec.limits.tokens, spec.budget.tokens) == (3600, 2_000_000, 50_000_000)


@pytest.mark.parametrize("key", KEYS)
def test_the_example_of_a_key_is_taken(tmp_path: Path, key: str) -> None:
    base = {"tasks": "[ledger]", "models": "[opus]", "env": "sandbox"}
    if key == "from":
        del base["tasks"], base["env"]
    lines = [f"{name}: {value}" for name, value in {**base, key: rows("Keys")[key]}.items()]
    spec, mistakes = read_spec(written(tmp_path, "\n".join(lines)))
    assert not mistakes
    assert spec != read_spec(written(tmp_path, "tasks: [spans]\nmodels: [gpt]\nenv: docker\n"))[0]


@pytest.mark.parametrize("option", list(ArmOptions.model_fields))
def test_the_example_of_an_option_is_taken(tmp_path: Path, option: str) -> None:
    text = f"tasks: [ledger]\nmodels: [opus]\nenv: sandbox\narms:\n  mine: {{{option}: "
    spec, mistakes = read_spec(written(tmp_path, f"{text}{rows('Options of an arm')[option]}}}\n"))
    assert not mistakes
    assert list(spec.arms[0].options) == [option]
