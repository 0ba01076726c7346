"""The cached numbers of the instances' tests: right after every change, and never in the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.programbench import counts, instances
from benchmarks.programbench.adapter import ProgramBench
from tests.programbench.own import make_instance


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory of the cache, which does not exist yet; the tasks are those of the user only."""
    monkeypatch.setenv("RETRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv(instances.TASKS_VARIABLE, str(tmp_path / "tasks"))
    monkeypatch.setattr(instances, "package_tasks", lambda: None)
    return tmp_path / "cache"


def listed() -> dict[str, int]:
    return {row["id"]: row["tests"] for row in ProgramBench().rows()}


def data_of(cache: Path, id: str) -> Path:
    return cache.parent / "tasks" / id / "tests.json"


def write_tests(path: Path, *names: str) -> None:
    path.write_text(json.dumps({"branches": {"b": {"tests": names}}}))


def test_a_number_is_counted_once_and_again_after_a_change(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    id = make_instance(cache.parent / "tasks", "us/odd")
    path = data_of(cache, id)
    write_tests(path, "a", "b", "c")
    assert listed() == {f"programbench/{id}": 3}
    with monkeypatch.context() as patch:
        patch.setattr(counts, "active_tests", lambda _: pytest.fail("counted again"))
        assert listed() == {f"programbench/{id}": 3}
    write_tests(path, "a", "b")
    assert listed() == {f"programbench/{id}": 2}
    path.write_text("{")
    with pytest.raises(instances.TaskError, match="cannot be read"):
        listed()


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"x": 1}', '{"PATH": [1, 2]}', '{"PATH": ["a", "b", "c"]}', "\xff"]
)
def test_a_broken_cache_is_not_used(cache: Path, content: str) -> None:
    id = make_instance(cache.parent / "tasks", "us/odd")
    write_tests(data_of(cache, id), "a", "b", "c")
    cache.mkdir()
    (cache / "programbench-tests.json").write_bytes(content.replace("PATH", str(data_of(cache, id))).encode("latin-1"))
    assert listed() == {f"programbench/{id}": 3}
    assert json.loads((cache / "programbench-tests.json").read_bytes())[str(data_of(cache, id))][2] == 3


def test_a_cache_that_cannot_be_written_is_no_problem(cache: Path) -> None:
    id = make_instance(cache.parent / "tasks", "us/odd")
    write_tests(data_of(cache, id), "a")
    cache.write_text("a file")
    assert listed() == {f"programbench/{id}": 1}
    cache.unlink()
    (cache / "programbench-tests.json").mkdir(parents=True)
    assert listed() == {f"programbench/{id}": 1}
    assert [path.name for path in cache.iterdir()] == ["programbench-tests.json"], "no unfinished file is left"
