"""`agent tasks new` writes a task that the oracle solves, and refuses a directory that is not empty."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from agent.errors import UserError
from agent.making.new import REBUILT, TEMPLATES, WORKBENCH, new_task
from agent.making.rebuild.cases import read_cases
from agent.making.rebuild.image import default_tag
from agent.making.rebuild.suite import _checked_tests
from benchmarks.task.formats import Format, format_of
from benchmarks.task.registry import resolve_task
from tests.solve.command import agent

FORMATS: tuple[Format, ...] = get_args(Format)


@pytest.mark.parametrize("task_format", FORMATS)
def test_a_new_task_has_its_format_and_name(tmp_path: Path, task_format: Format) -> None:
    directory = tmp_path / "deep" / "sum-2.x"
    files = new_task(directory, task_format)
    assert format_of(directory) == task_format
    assert sorted(path.relative_to(directory) for path in directory.rglob("*") if path.is_file()) == files
    texts = [path.read_text() for path in directory.rglob("*") if path.is_file()]
    assert not any("my-task" in text for text in texts)
    assert any("Dockerfile" in path.name for path in files)
    assert all(path.stat().st_mode & 0o111 for path in directory.rglob("*.sh"))


def test_every_format_has_a_template() -> None:
    assert sorted(path.name for path in TEMPLATES.iterdir()) == sorted([*FORMATS, "rebuild", "shared"])


def test_a_rebuild_starts_with_all_that_its_suite_is_made_of(tmp_path: Path) -> None:
    new_task(tmp_path / "own", start="rebuild")
    with pytest.raises(UserError, match=r"the format retrace; omit --format"):
        new_task(tmp_path / "other", "harbor", start="rebuild")
    assert not (tmp_path / "other").exists()
    groups = read_cases(tmp_path / "own")
    assert _checked_tests(tmp_path / "own/tests", list(groups)) == tmp_path / "own/tests"
    _, task = resolve_task(str(tmp_path / "own"))
    assert task.facts["tests"] == str(sum(map(len, groups.values())))
    assert task.spec.image == default_tag(*REBUILT)


def test_the_solution_of_each_format_is_the_same_program(tmp_path: Path) -> None:
    for task_format, file in (("terminal-bench", "solution.sh"), ("harbor", "solution/solve.sh")):
        new_task(tmp_path / task_format, task_format)
        program = (TEMPLATES / "retrace/solution/total.py").read_text()
        expected = f"#!/bin/bash\ncat >/workspace/total.py <<'END'\n{program}END\n"
        assert (tmp_path / task_format / file).read_text() == expected


def test_nothing_of_the_user_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / ".notes").touch()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name, message in (
        ("mine", "mine: is not empty; name a new directory"),
        ("file", "file: exists and is not a directory"),
        ("link", "link: exists and is not a directory"),
        ("a b", "'a b' cannot be the name of a task"),
        ("-x", "'-x' cannot be the name of a task"),
    ):
        with pytest.raises(UserError) as raised:
            new_task(tmp_path / name, "retrace")
        assert message in str(raised.value)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [".notes", "file", "link", "mine"]


@pytest.mark.sandbox
@pytest.mark.parametrize(("model", "quality"), [("oracle", 1.0), ("nop", 0.0)])
def test_the_oracle_solves_a_new_task_and_nop_no_case_of_it(tmp_path: Path, model: str, quality: float) -> None:
    made = agent(tmp_path, "tasks", "new", "first", "--json")
    assert made.json["files"] == [str(file) for file in sorted(map(Path, made.json["files"]))]
    result = agent(tmp_path, "solve", "--task", "first", "--model", model, "--env", "sandbox", "--json")
    assert result.json["verdict"]["quality"] == quality, result.err


@pytest.mark.docker
@pytest.mark.parametrize("task_format", FORMATS)
def test_the_oracle_solves_a_new_task_in_docker(tmp_path: Path, task_format: Format) -> None:
    new_task(tmp_path / "first", task_format)
    if task_format == "terminal-bench":  # its own image needs a network for what only the other harness uses
        (tmp_path / "first" / "Dockerfile").write_bytes(WORKBENCH.read_bytes())
    result = agent(tmp_path, "solve", "--task", "first", "--model", "oracle", "--env", "docker", "--json")
    assert result.json["verdict"]["passed"] is True, result.err


@pytest.mark.docker
@pytest.mark.parametrize("task_format", ["terminal-bench", "harbor"])
def test_nop_fails_a_new_task_of_another_format(tmp_path: Path, task_format: Format) -> None:
    new_task(tmp_path / "first", task_format)
    if task_format == "terminal-bench":
        (tmp_path / "first" / "Dockerfile").write_bytes(WORKBENCH.read_bytes())
    result = agent(tmp_path, "solve", "--task", "first", "--model", "nop", "--env", "docker", "--json")
    assert result.json["verdict"]["status"] == "scored", result.err
    assert result.json["verdict"]["passed"] is False
