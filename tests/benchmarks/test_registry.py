"""The task that a user's TASK means, and the errors for an unknown or ambiguous one."""

from __future__ import annotations

from pathlib import Path

import pytest

import benchmarks
from benchmarks.task import registry
from benchmarks.task.task import TaskError

DEMOS = ["demo/cronwhen", "demo/ledger", "demo/spans"]


def test_rows_describe_every_task() -> None:
    rows = {row["id"]: row for row in benchmarks.task_rows()}
    assert set(DEMOS) <= set(rows)
    assert [(rows[id]["kind"], rows[id]["environments"]) for id in DEMOS] == [
        ("repair", ["docker", "sandbox", "local"]),
        ("from-scratch", ["docker", "sandbox", "local"]),
        ("rebuild", ["docker"]),
    ]
    for row in rows.values():
        assert isinstance(row["tests"], int)
        assert row["tests"] >= 25
        assert {"id", "title", "kind", "language", "environments"} <= row.keys()
    demos = benchmarks.task_rows("demo")
    assert demos == list(rows.values())[: len(demos)]
    assert {id.partition("/")[0] for id in rows} == set(registry.names())


def test_a_list_has_the_tasks_that_match_all_words() -> None:
    def ids(*words: str) -> list[object]:
        return [row["id"] for tasks in registry.task_lists("demo", words) for row in tasks.rows]

    assert ids("rebuild") == ["demo/figlet", "demo/spans"]
    assert ids("REBUILD", "folder") == ["demo/spans"]
    assert ids("c") == ["demo/cronwhen", "demo/ledger", "demo/spans"], "in a title, or the language as a whole"
    assert ids("xyzzy") == []


@pytest.mark.parametrize("reference", ["demo/spans", "spans"])
def test_a_task_can_be_named_with_or_without_its_benchmark(reference: str) -> None:
    adapter, task = benchmarks.resolve_task(reference)
    assert (adapter.name, task.id) == ("demo", "demo/spans")


def test_a_task_can_be_named_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "spans"
    directory.mkdir()
    (directory / "task.yaml").write_text("title: T\nkind: k\nenvironments: [local]\n")
    (directory / "instruction.md").write_text("Do it.")
    monkeypatch.chdir(tmp_path)
    for reference in ("./spans", str(directory), "./spans/task.yaml"):
        adapter, task = benchmarks.resolve_task(reference)
        assert (adapter.name, task.id, task.directory) == ("path", "path/spans", directory)
    assert benchmarks.resolve_task("spans")[1].id == "demo/spans"
    (tmp_path / "an").mkdir()
    with pytest.raises(TaskError, match="an: is not a task directory"):
        benchmarks.resolve_task("./an")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("legder", "unknown task 'legder'; did you mean demo/ledger?"),
        ("demo/span", "unknown task 'demo/span'; did you mean demo/spans?"),
        ("xyzzy", "unknown task 'xyzzy'; see `agent tasks list`"),
        ("x" * 5000, "unknown task 'xxx"),
        ("", "the task's name is empty"),
        ("a\0b", "the task's name contains a NUL"),
        ("/", "/: is not a task directory, because it has no task.yaml and no task.toml"),
    ],
)
def test_an_unknown_task_is_an_error(reference: str, message: str) -> None:
    with pytest.raises(TaskError) as caught:
        benchmarks.resolve_task(reference)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 300


def test_a_name_that_two_benchmarks_have_is_ambiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._LISTED, "again", "benchmarks.demos:DEMO")
    with pytest.raises(TaskError, match="'spans' is ambiguous: demo/spans, again/spans"):
        benchmarks.resolve_task("spans")
    assert benchmarks.resolve_task("demo/spans")[1].id == "demo/spans"


def test_an_unknown_benchmark_is_an_error_with_similar_names() -> None:
    with pytest.raises(TaskError, match="unknown benchmark 'dmo'; did you mean demo"):
        benchmarks.benchmark("dmo")


def test_importing_the_package_imports_no_adapter() -> None:
    import subprocess
    import sys

    code = "import sys, benchmarks; print(sorted(m for m in sys.modules if m in ('yaml', 'docker', 'pydantic')))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "[]\n"
