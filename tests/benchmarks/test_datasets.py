"""Datasets: folders of task directories with a name, registered in the user's `config.yaml`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent import config
from agent.cli.main import app
from agent.datasets import add_dataset, remove_dataset
from agent.errors import UserError
from agent.evaluation.judged import resolved_task
from benchmarks.task import registry
from benchmarks.task.datasets import dataset
from benchmarks.task.datasets.dataset import Dataset
from benchmarks.task.task import TaskError

TASK = "title: Count {}\nkind: repair\nenvironments: [local]\n"


def make_task(folder: Path, name: str, content: str | None = None) -> None:
    """Write a small task directory of our own format."""
    (folder / name).mkdir(parents=True)
    (folder / name / "task.yaml").write_text(TASK.format(name) if content is None else content)
    (folder / name / "instruction.md").write_text("Do it.")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset of two tasks, and a configuration and a cache of this test's own."""
    monkeypatch.setenv("RETRACE_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("RETRACE_CACHE_DIR", str(tmp_path / "cache"))
    config.defaults.cache_clear()
    make_task(tmp_path / "tasks", "lines_one")
    make_task(tmp_path / "tasks", "lines_two")
    (tmp_path / "tasks/README.md").write_text("no task")
    (tmp_path / "tasks/empty").mkdir()
    return tmp_path / "tasks"


def agent(*words: str) -> tuple[str, str]:
    """Run `agent` in this process; return its standard output and standard error."""
    result = CliRunner().invoke(app, words, prog_name="agent", standalone_mode=False)
    assert result.exception is None, (words, result.output, result.exception)
    return result.stdout, result.stderr


def test_the_tasks_of_a_registered_folder_are_named_like_any_other(folder: Path) -> None:
    assert "2 tasks" in agent("tasks", "add", str(folder), "--name", "mine")[0]
    listed = json.loads(agent("tasks", "list", "--benchmark", "mine", "--json")[0])
    assert [row["id"] for row in listed["tasks"]] == ["mine/lines_one", "mine/lines_two"]
    assert [row["id"] for row in json.loads(agent("tasks", "list", "two", "--json")[0])["tasks"]] == ["mine/lines_two"]
    for reference in ("mine/lines_one", "lines_one", "es_one"):
        assert json.loads(agent("tasks", "show", reference, "--json")[0])["id"] == "mine/lines_one"
    adapter, task = registry.resolve_task("lines_two", datasets=config.datasets())
    assert (adapter.name, task.id, task.directory) == ("mine", "mine/lines_two", folder / "lines_two")
    with pytest.raises(TaskError, match="several contain it: mine/lines_one, mine/lines_two"):
        registry.resolve_task("lines_", datasets=config.datasets())
    assert "forgotten" in agent("tasks", "remove", "mine")[0]
    assert config.datasets() == {}
    assert folder.is_dir()


def test_a_task_with_mistakes_is_named_and_the_others_are_listed(folder: Path) -> None:
    make_task(folder, "broken", "titel: T\nkind: repair\nenvironments: [local]\n")
    printed, errors = agent("tasks", "add", str(folder))
    assert "2 tasks" in printed
    assert errors.startswith(f"cannot be read: {folder}/broken/task.yaml: ")
    assert len(errors.splitlines()) == 1
    printed, errors = agent("tasks", "list", "--benchmark", "tasks")
    assert "tasks/lines_one" in printed
    assert "titel: unknown key; did you mean title?" in errors


def test_a_missing_folder_leaves_other_datasets_usable(folder: Path) -> None:
    add_dataset(folder, "mine")
    make_task(folder.parent / "other", "third")
    add_dataset(folder.parent / "other", "other")
    folder.rename(folder.parent / "moved")
    printed, errors = agent("tasks", "list", "third")
    assert "other/third" in printed
    assert len(errors.splitlines()) == 1
    assert f"dataset mine: {folder}: No such file or directory; register its new place" in errors
    assert registry.resolve_task("third", datasets=config.datasets())[1].id == "other/third"
    for ask in (lambda: resolved_task("mine/lines_one"), lambda: agent("tasks", "list", "--benchmark", "mine")):
        with pytest.raises((UserError, AssertionError), match="register its new place with agent tasks add DIR"):
            ask()
    with pytest.raises(UserError, match=r"unknown task 'lines_one'.*the folder of dataset mine is missing"):
        resolved_task("lines_one")


def test_a_task_of_a_dataset_that_is_no_longer_registered_tells_the_way_out(folder: Path) -> None:
    add_dataset(folder, "renamed")
    with pytest.raises(UserError) as caught:
        resolved_task("mine/lines_one")
    assert str(caught.value) == (
        "unknown task 'mine/lines_one'; did you mean renamed/lines_one or renamed/lines_two? (no benchmark or dataset "
        "is named mine; register its folder: agent tasks add DIR --name mine)"
    )


@pytest.mark.parametrize(
    ("path", "name", "message"),
    [
        ("tasks", "demo", "'demo' is the name of a benchmark"),
        ("tasks", "a/b", "'a/b' is not a name of a dataset"),
        ("tasks", "-x", "'-x' is not a name of a dataset"),
        ("nothing", None, "no such directory"),
        ("tasks/empty", None, "holds no task directory"),
        ("tasks/lines_one", None, "is a task itself"),
    ],
)
def test_a_folder_that_cannot_be_registered(folder: Path, path: str, name: str | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        add_dataset(folder.parent / path, name)
    assert not config.config_path().exists()


def test_a_name_stands_for_one_folder_only(folder: Path) -> None:
    make_task(folder.parent / "other", "third")
    add_dataset(folder, "mine")
    before = config.config_path().read_bytes()
    add_dataset(folder, "mine")
    assert config.config_path().read_bytes() == before
    with pytest.raises(UserError, match="mine is already the name of"):
        add_dataset(folder.parent / "other", "mine")
    add_dataset(folder, "again")
    assert set(config.datasets()) == {"mine", "again"}
    with pytest.raises(UserError, match="no dataset is named 'min'; the registered ones: again, mine"):
        remove_dataset("min")


@pytest.mark.parametrize(
    "before",
    [
        "",
        "model: opus",
        "# mine\nmodel: opus # the best\n",
        "datasets:\nmodel: opus\n",
        "datasets: {}\nmodel: opus\n",
        "datasets: {old: /x}\nmodel: opus\n",
        "model: opus\ndatasets:\n  # published\n  old: /x # there\n  'older': \"/y: z\"\n\n# end\nruns: r\n",
        "datasets:\n    old: /x",
    ],
)
def test_config_yaml_keeps_everything_else(folder: Path, before: str) -> None:
    path = config.config_path()
    path.parent.mkdir()
    path.write_text(before)
    options, datasets = vars(config.defaults()), dict(config.datasets())
    add_dataset(folder, "mine")
    config.defaults.cache_clear()
    assert (vars(config.defaults()), config.datasets()) == (options, {**datasets, "mine": folder})
    assert all(f"#{line.partition('#')[2]}" in path.read_text() for line in before.splitlines() if "#" in line)
    remove_dataset("mine")
    config.defaults.cache_clear()
    assert (vars(config.defaults()), config.datasets()) == (options, datasets)
    for name in datasets:
        remove_dataset(name)
    assert config.datasets() == {}
    assert [file.name for file in path.parent.iterdir()] == ["config.yaml"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("datasets: [a]\n", "line 1: datasets: must be a mapping of names to directories, not a list"),
        ("datasets:\n  demo: /x\n", "line 2: datasets.demo: 'demo' is the name of a benchmark"),
        ("datasets:\n  a: 3\n  b: [x]\n", "line 2: datasets.a: must be the path of a directory, not 3; line 3: "),
    ],
)
def test_mistakes_in_the_datasets_of_config_yaml(folder: Path, content: str, message: str) -> None:
    config.config_path().parent.mkdir()
    config.config_path().write_text(content)
    with pytest.raises(UserError) as caught:
        config.datasets()
    assert message in str(caught.value)


def test_a_relative_path_in_config_yaml_begins_at_its_folder(folder: Path) -> None:
    config.config_path().parent.mkdir()
    config.config_path().write_text("datasets: {mine: ../tasks}\n")
    assert registry.resolve_task("mine/lines_one", datasets=config.datasets())[1].directory == folder / "lines_one"


def test_a_row_is_read_again_when_its_files_change(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def titles() -> list[object]:
        return [row["title"] for row in Dataset("any", folder).rows().rows]

    assert titles() == ["Count lines_one", "Count lines_two"]
    reading = dataset.Dataset._row
    read: list[str] = []
    monkeypatch.setattr(dataset.Dataset, "_row", lambda self, id: read.append(id) or reading(self, id))
    assert titles() == ["Count lines_one", "Count lines_two"]
    assert read == []
    (folder / "lines_two/task.yaml").write_text(TASK.format("words"))
    os.utime(folder / "lines_two/task.yaml", (0, 0))
    assert titles() == ["Count lines_one", "Count words"]
    assert read == ["lines_two"]
    for cache in (folder.parent / "cache").iterdir():
        cache.write_text('{"lines_one": {"state": 3, "row": 4}, "lines_two": []}')
    assert titles() == ["Count lines_one", "Count words"]


def test_benchmarks_have_reserved_names() -> None:
    assert set(config.RESERVED) == {*registry._LISTED, *registry._UNLISTED, registry.PATH}


def test_a_list_from_the_cache_loads_neither_the_record_nor_an_adapter(folder: Path) -> None:
    """Both together take longer than the list itself."""
    add_dataset(folder, "mine")
    code = (
        "import sys; from agent.cli.main import app; import typer\n"
        "typer.main.get_command(app)(['tasks', 'list', '--benchmark', 'mine'], standalone_mode=False)\n"
        "print(*(name for name in sys.modules if name.startswith(('trajectories.record.', 'benchmarks.'))))"
    )
    for _ in range(2):  # the first list makes the cache
        listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    *lines, modules = listed.splitlines()
    assert len(lines) == 3
    assert "benchmarks.task.datasets.dataset" in modules
    assert not {"trajectories.record.events", "benchmarks.task.directory"} & set(modules.split())
