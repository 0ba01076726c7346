"""The tasks of a dataset: directories at any depth, or those that Harbor's `registry.json` names for a checkout."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks.task.datasets.dataset import Dataset
from benchmarks.task.task import TaskError
from tests.benchmarks.test_datasets import make_task

URL = "https://git.example.org/tasks.git"


def make_harbor_task(folder: Path, name: str) -> None:
    """Write a small task directory in Harbor's format."""
    for file, text in (
        ("task.toml", ""),
        ("instruction.md", "Do it.\n"),
        ("environment/Dockerfile", "FROM scratch\n"),
        ("tests/test.sh", "true\n"),
    ):
        (folder / name / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / file).write_text(text)


def git(folder: Path, *words: str) -> str:
    """Run git in a folder; return its output."""
    settings = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    run = subprocess.run(["git", "-C", folder, *settings, *words], check=True, capture_output=True, text=True)
    return run.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> tuple[Path, str]:
    """A repository with three tasks, and its commit."""
    root = tmp_path / "checkout"
    for name in ("tasks/first", "tasks/second", "other/third"):
        make_harbor_task(root, name)
    git(tmp_path, "init", "-q", str(root))
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "tasks")
    return root, git(root, "rev-parse", "HEAD")


def entry(path: str, commit: str | None, name: str | None = None, url: str | None = URL) -> dict[str, str | None]:
    """Return a task as the registry lists it."""
    return {"name": name or path.rpartition("/")[2], "path": path, "git_url": url, "git_commit_id": commit}


def register(root: Path, *versions: list[dict[str, str | None]]) -> None:
    """Write a registry with these versions of the dataset `set`, the oldest first."""
    rows = [
        {"name": "set", "version": str(number), "description": "", "tasks": tasks, "metrics": []}
        for number, tasks in enumerate(versions)
    ]
    (root / "registry.json").write_text(json.dumps([{"name": "another", "tasks": "not read"}, *rows]))


def test_directories_at_any_depth_are_tasks_and_equal_names_get_their_paths(tmp_path: Path) -> None:
    for name in ("one/sample", "one/other", "two/deep/sample", ".git/hidden", "one/other/inside", "a/b/c/d/e/too-deep"):
        make_harbor_task(tmp_path, name)
    make_task(tmp_path / "two", "ours")
    dataset = Dataset("set", tmp_path)
    assert dataset.ids() == ["one__sample", "other", "ours", "two__deep__sample"]
    assert [row["id"] for row in dataset.rows().rows] == [f"set/{id}" for id in dataset.ids()]
    for id in dataset.ids():
        adapter, task = dataset.load(id)
        assert (task.id, task.benchmark, adapter.name) == (f"set/{id}", "set", "set")
    assert dataset.load("two__deep__sample")[1].directory == (tmp_path / "two/deep/sample").resolve()
    with pytest.raises(TaskError, match=r"set/sample: the dataset in .* has no such task"):
        dataset.load("sample")


def test_a_task_right_in_the_folder_keeps_its_name(tmp_path: Path) -> None:
    make_harbor_task(tmp_path, "sample")
    make_harbor_task(tmp_path, "more/sample")
    assert Dataset("set", tmp_path).ids() == ["more__sample", "sample"]


def test_a_broken_task_is_named_and_the_others_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETRACE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("fine", "torn", "deep/empty"):
        make_harbor_task(tmp_path / "tasks", name)
    (tmp_path / "tasks/torn/task.toml").write_bytes(b"version = \xff")
    (tmp_path / "tasks/deep/empty/tests/test.sh").unlink()
    for _ in range(2):  # also from the cache
        rows = Dataset("set", tmp_path / "tasks").rows()
        assert [row["id"] for row in rows.rows] == ["set/fine"]
        assert len(rows.broken) == 2
        assert any("empty/tests/test.sh: is missing" in line for line in rows.broken)
        assert any("torn/task.toml" in line for line in rows.broken)


def test_a_registry_names_the_tasks_of_the_commit_that_is_checked_out(checkout: tuple[Path, str]) -> None:
    root, commit = checkout
    old = [entry("tasks/first", "a" * 40), entry("other/third", "a" * 40)]
    here = [
        entry("tasks/first", commit, name="org/first"),
        entry("tasks/second", commit[:12]),
        entry("tasks/gone", commit),
        entry("other/third", "b" * 40),
        entry("../tasks/first", commit, name="outside"),
        entry("other/third", None, name="local", url=None),
        entry("other/third", None, name="newest"),
    ]
    register(root, old, here, old)
    dataset = Dataset("set", root)
    assert dataset.ids() == ["local", "org__first", "second"]
    assert dataset.load("org__first")[1].id == "set/org__first"
    assert dataset.load("org__first")[1].directory == (root / "tasks/first").resolve()
    listed = dataset.rows()
    assert len(listed.rows) == 3
    for line in (
        f"third: is in commit {'b' * 40} of {URL}",
        "gone: ",
        "outside: its path",
        "newest: is in the newest",
    ):
        assert any(line in broken for broken in listed.broken), (line, listed.broken)
    with pytest.raises(TaskError, match="no such task"):  # its directory is there, but the registry has another commit
        dataset.load("third")
    assert Dataset("other-name", root).ids() == ["first", "second", "third"]


def test_another_commit_and_a_folder_without_git_are_errors_that_name_the_commit(checkout: tuple[Path, str]) -> None:
    root, commit = checkout
    register(root, [entry("tasks/first", "a" * 40)])
    with pytest.raises(TaskError, match=f"set is at commit {'a' * 40} of {URL}, but .* is at {commit}; check that"):
        Dataset("set", root).ids()
    (root / ".git").rename(root / "moved")
    with pytest.raises(TaskError, match="is not a Git checkout"):
        Dataset("set", root).ids()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("{}", "must be a list of datasets"),
        ('[{"name": "set"}]', "set: tasks: Field required"),
        ('[{"name": "set", "tasks": [{"name": "x"}]}]', "set: tasks.0.path: Field required"),
        ('[{"name": "set", "tasks": []}]', "has no task"),
    ],
)
def test_a_registry_with_mistakes_is_an_error_with_its_place(tmp_path: Path, content: str, message: str) -> None:
    make_harbor_task(tmp_path, "sample")
    (tmp_path / "registry.json").write_text(content)
    with pytest.raises(TaskError, match=message):
        Dataset("set", tmp_path).ids()
