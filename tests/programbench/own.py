"""Instances of the user's own, written in the layout of the package's `data/tasks`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def make_instance(
    root: Path,
    repository: str,
    *,
    language: str = "c",
    tests: Mapping[str, Sequence[str]] | None = None,
    task_yaml: str | None = None,
) -> str:
    """Write an instance directory below `root`, and return its id."""
    id = f"{repository.lower().replace('/', '__')}.{COMMIT[:7]}"
    directory = root / id
    directory.mkdir(parents=True)
    content = f"repository: {repository}\ncommit: {COMMIT}\nlanguage: {language}\n"
    (directory / "task.yaml").write_text(content if task_yaml is None else task_yaml)
    branches = {
        name: {"ignored": False, "ignore_reason": "", "tests": list(names), "ignored_tests": []}
        for name, names in (tests or {"0a1b2c3d4e5f": ["tests.test_a.test_one"]}).items()
    }
    (directory / "tests.json").write_text(json.dumps({"branches": branches}))
    return id
