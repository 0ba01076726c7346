"""docs/howto/tasks.md names every key of `task.yaml` with its default, and every argument of `candidate`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from agent.making.new import TEMPLATES
from benchmarks.judging import bundle
from benchmarks.task.taskfile import TaskFile
from trajectories.record.parts import Limits

GUIDE = (Path(__file__).parents[2] / "docs" / "howto" / "tasks.md").read_text(encoding="utf-8")
IN_WORDS = {
    "image.build.context": "`.`",
    "limits.steps": str(Limits().steps),
    "limits.time": f"{(Limits().time_s or 0) / 3600:g} hours",
    "limits.command": f"{Limits().command_s:g} seconds",
    "evaluation.program": '`["{workspace}/executable"]`',
}
"""Defaults that are shown in a form of their own."""


def rows(begin: str, end: str) -> list[list[str]]:
    """Return the cells of the table between two comments of the guide, without its header."""
    part = GUIDE.partition(f"<!-- {begin}")[2].partition(f"<!-- {end} -->")[0]
    lines = [line for line in part.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def keys(model: type[BaseModel], before: str = "") -> Iterator[tuple[str, object]]:
    """Yield each key of a model, with its parts below it, and its default."""
    for name, field in model.model_fields.items():
        yield f"{before}{name}", field.get_default(call_default_factory=True)
        parts = [field.annotation, *getattr(field.annotation, "__args__", ())]
        for part in parts:
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from keys(part, f"{before}{name}.")


REBUILD = ["cases.in.yaml", "tests/conftest.py", "tests/numbers/test_numbers.py", "task.yaml"]
SHOWN = ["retrace/task.yaml", "retrace/tests/sums/test_sums.py", *(f"rebuild/{file}" for file in REBUILD)]


@pytest.mark.parametrize("file", SHOWN)
def test_the_guide_shows_the_files_that_tasks_new_writes(file: str) -> None:
    assert f"\n{(TEMPLATES / file).read_text()}```\n" in GUIDE


def test_the_guide_has_every_key_in_order_and_with_its_default() -> None:
    documented = {row[0].strip("`"): row[1] for row in rows("keys of task.yaml", "end of keys")}
    defaults = dict(keys(TaskFile))
    assert list(documented) == list(defaults)
    for key, default in defaults.items():
        shown = documented[key]
        if key in IN_WORDS:
            assert shown == IN_WORDS[key], key
        elif "PydanticUndefined" in repr(default):
            assert shown == "required", key
        elif isinstance(default, str | bool | int | float) and default != "":
            assert (
                shown == f"`{str(default).lower() if isinstance(default, bool) else f'{default}'.removesuffix('.0')}`"
            ), key
        else:
            assert not shown.startswith("`"), key
            assert shown != "required", key


def test_the_guide_has_every_argument_of_candidate() -> None:
    signature = bundle.DRIVE.read_text(encoding="utf-8").partition("def run(")[2].partition(") -> Result")[0]
    names = re.findall(r"^\s+\*?(\w+): ", signature, re.M)
    assert len(names) == 6
    assert [row[0].strip("`") for row in rows("arguments of candidate", "end of arguments")] == names
    defaults = dict(re.findall(r"^\s+(\w+): [^=]+ = (.+),$", signature, re.M))
    called = GUIDE.partition("`candidate(*arguments, ")[2].partition(")`")[0]
    assert dict(part.split("=") for part in called.split(", ")) == defaults
