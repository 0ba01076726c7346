"""ProgramBench's instances, as the package `programbench` and directories of one's own have them on disk.

Reads files only: the package itself is never imported here (its own commands take 0.2 s to start).
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from benchmarks.task.task import TaskError

TASKS_VARIABLE = "RETRACE_PROGRAMBENCH_TASKS"
"""Directories with instances of one's own, separated like PATH, each laid out like the package's `data/tasks`."""
FIXTURE = "testorg__"
"""How the ids of the package's own test fixture begin: it is solved and evaluated like any, and not listed."""
IMAGE_TAG = "task_cleanroom_v6"


@dataclass(frozen=True)
class Branch:
    """A branch of hidden tests: their names, and which of them do not count."""

    tests: tuple[str, ...]
    ignored: frozenset[str]

    @property
    def active(self) -> tuple[str, ...]:
        """The names that count."""
        return tuple(name for name in self.tests if name not in self.ignored)


@dataclass(frozen=True)
class Instance:
    """One instance; `directory` holds its task.yaml, tests.json and, for one of one's own, perhaps `solution/`."""

    id: str
    repository: str
    commit: str
    language: str
    difficulty: str
    """easy, medium, hard, or empty where the data does not say."""
    clean_hashes: tuple[str, ...]
    """sha256 of files that the evaluator removes from a submission: the original executable."""
    directory: Path
    own: bool
    """Whether it is from one of the user's directories, not from the package."""

    @property
    def image(self) -> str:
        """The clean-room image, in which it is solved and evaluated."""
        organisation = os.environ.get("PROGRAMBENCH_DOCKER_ORG") or "programbench"
        return f"{organisation}/{self.id.replace('__', '_1776_')}:{IMAGE_TAG}"

    def branches(self) -> Mapping[str, Branch]:
        """The branches that count, by name; read anew each time (up to 2 MB).

        Raises: TaskError.
        """
        path = self.directory / "tests.json"
        try:
            data: dict[str, Any] = json.loads(path.read_bytes())
            return {
                name: Branch(tuple(found["tests"]), frozenset(one["name"] for one in found.get("ignored_tests") or ()))
                for name, found in data["branches"].items()
                if not found.get("ignored")
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise TaskError(f"{path}: cannot be read as ProgramBench's tests ({error!r})") from None


def ids(*, listed: bool = True) -> tuple[str, ...]:
    """All instances' ids, sorted; without the fixture if only the `listed` are wanted."""
    return tuple(sorted(id for id in _directories() if not (listed and id.startswith(FIXTURE))))


def official(id: str) -> bool:
    """Whether this is one of the benchmark's own instances, which its website counts."""
    found = _directories().get(id)
    return found is not None and not found[1] and not id.startswith(FIXTURE)


def instance(id: str) -> Instance:
    """The instance with this id.

    Raises: TaskError (unknown, no package, malformed file).
    """
    found = _directories().get(id)
    if found is None:
        raise TaskError(f"ProgramBench has no instance {id!r}; see `agent tasks list --benchmark programbench`")
    directory, own = found
    path = directory / "task.yaml"
    try:
        data = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return Instance(
            id=id,
            repository=str(data["repository"]),
            commit=str(data["commit"]),
            language=str(data["language"]),
            difficulty=str(data.get("difficulty") or ""),
            clean_hashes=tuple(map(str, data.get("eval_clean_hashes") or ())),
            directory=directory,
            own=own,
        )
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise TaskError(f"{path}: cannot be read as a ProgramBench task ({error!r})") from None


@cache
def package_tasks() -> Path | None:
    """Where the installed package keeps its instances; None without the package."""
    spec = importlib.util.find_spec("programbench")
    return Path(spec.origin).parent / "data" / "tasks" if spec is not None and spec.origin else None


def own_tasks() -> tuple[Path, ...]:
    """The user's own directories of instances."""
    return tuple(Path(part) for part in os.environ.get(TASKS_VARIABLE, "").split(os.pathsep) if part)


def _directories() -> Mapping[str, tuple[Path, bool]]:
    return _scan(package_tasks(), own_tasks())


@cache
def _scan(package: Path | None, own: tuple[Path, ...]) -> Mapping[str, tuple[Path, bool]]:
    """Each instance's directory by id; the package's instance wins over one of the same id."""
    found: dict[str, tuple[Path, bool]] = {}
    for root, is_own in (*((path, True) for path in own), *([(package, False)] if package else [])):
        try:
            entries = list(os.scandir(root))
        except OSError:
            continue
        for entry in entries:
            if "__" in entry.name and os.path.isfile(os.path.join(entry.path, "task.yaml")):
                found[entry.name] = Path(entry.path), is_own
    return found
