"""The format of a task directory, recognized by its files and keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.task import formats
from benchmarks.task.task import TaskError

OURS = "title: T\nkind: repair\nenvironments: [docker]\n"
THEIRS = "# canary\ninstruction: |-\n  title: no key\n  kind: neither\ndifficulty: easy\nparser_name: pytest\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (OURS, "retrace"),
        (THEIRS, "terminal-bench"),
        ("instruction: |-\n  Do it.\nparser_nam: pytest\ntags: [a\n", "terminal-bench"),
        ("titel: T\nkind: repair\n", "retrace"),
        ('{"title": "T", "kind": "k"}', "retrace"),
        ("\ufeff'title' : T\nkind: k\n", "retrace"),
        ("", "retrace"),
        ("- a list\n", "retrace"),
    ],
)
def test_task_yaml_is_recognized_by_its_keys_also_with_mistakes(tmp_path: Path, content: str, expected: str) -> None:
    (tmp_path / "task.yaml").write_text(content)
    assert formats.format_of(tmp_path) == expected


def test_an_empty_task_yaml_beside_a_test_script_is_of_terminal_bench(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text("")
    (tmp_path / "run-tests.sh").write_text("")
    assert formats.format_of(tmp_path) == "terminal-bench"


def test_task_toml_is_of_harbor_unless_there_is_a_task_yaml(tmp_path: Path) -> None:
    assert formats.format_of(tmp_path) is None
    (tmp_path / "task.toml").write_text("")
    assert formats.format_of(tmp_path) == "harbor"
    (tmp_path / "task.yaml").write_text(OURS)
    assert formats.format_of(tmp_path) == "retrace"


def test_a_format_without_an_adapter_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "_ADAPTERS", {})
    with pytest.raises(TaskError, match="in the format harbor cannot be read by this version"):
        formats.adapter("harbor", "path", tmp_path)
