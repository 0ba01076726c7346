"""ProgramBench's instances on disk, from the package `programbench` and from the user's own directories.

Only reads files, and never imports the package itself (its own commands take 0.2 s to start).
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
from scoring.families.programbench_tasks import published_tiers

TASKS_VARIABLE = "RETRACE_PROGRAMBENCH_TASKS"
"""Variable with the user's directories of instances, separated like PATH, laid out like the package's `data/tasks`."""
FIXTURE = "testorg__"
"""Prefix of the id of the package's test fixture, which can be solved and evaluated but is not listed."""
TESTS_FILE = "tests.json"
IMAGE_TAG = "task_cleanroom_v6"


@dataclass(frozen=True)
class Branch:
    """A branch of hidden tests: their names, and the names of those that do not count."""

    tests: tuple[str, ...]
    ignored: frozenset[str]

    @property
    def active(self) -> tuple[str, ...]:
        """Return the names that count."""
        return tuple(name for name in self.tests if name not in self.ignored)


@dataclass(frozen=True)
class Instance:
    """An instance. `directory` has its task.yaml and tests.json and, for the user's own, perhaps `solution/`."""

    id: str
    repository: str
    commit: str
    language: str
    difficulty: str
    """Its tier: easy, medium or hard; for one of the 200 the published one, otherwise empty if its data has none."""
    clean_hashes: tuple[str, ...]
    """sha256 of the files that the evaluator removes from a submission: the original executable."""
    directory: Path
    own: bool
    """True if it is from one of the user's directories, not from the package."""

    @property
    def image(self) -> str:
        """Return the clean-room image, in which the instance is solved and evaluated."""
        organization = os.environ.get("PROGRAMBENCH_DOCKER_ORG") or "programbench"
        return f"{organization}/{self.id.replace('__', '_1776_')}:{IMAGE_TAG}"

    def branches(self) -> Mapping[str, Branch]:
        """Return the branches that count, by name. Reads the file (up to 2 MB) each time.

        Raises: TaskError.
        """
        path = self.directory / TESTS_FILE
        try:
            data: dict[str, Any] = json.loads(path.read_bytes())
            return {
                name: Branch(
                    tuple(branch["tests"]), frozenset(test["name"] for test in branch.get("ignored_tests") or ())
                )
                for name, branch in data["branches"].items()
                if not branch.get("ignored")
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise TaskError(f"{path}: cannot be read as ProgramBench's tests ({error!r})") from None


def active_tests(branches: Mapping[str, Branch]) -> int:
    """Return the number of tests that count."""
    return sum(len(branch.active) for branch in branches.values())


def ids(*, listed: bool = True) -> tuple[str, ...]:
    """Return the ids of all instances, sorted; `listed` leaves out the fixture."""
    return tuple(sorted(id for id in _directories() if not (listed and id.startswith(FIXTURE))))


def official(id: str) -> bool:
    """Return True for one of the 200 instances that the benchmark's website counts."""
    place = _directories().get(id)
    return place is not None and not place.own and id in published_tiers()


def instance(id: str) -> Instance:
    """Return the instance with this id.

    Raises: TaskError (unknown, no package, malformed file).
    """
    place = _directories().get(id)
    if place is None:
        raise TaskError(f"ProgramBench has no instance {id!r}; see `agent tasks list --benchmark programbench`")
    path = place.directory / "task.yaml"
    try:
        data = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return Instance(
            id=id,
            repository=str(data["repository"]),
            commit=str(data["commit"]),
            language=str(data["language"]),
            difficulty=published_tiers().get(id, "") if official(id) else str(data.get("difficulty") or ""),
            clean_hashes=tuple(map(str, data.get("eval_clean_hashes") or ())),
            directory=place.directory,
            own=place.own,
        )
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise TaskError(f"{path}: cannot be read as a ProgramBench task ({error!r})") from None


@cache
def package_tasks() -> Path | None:
    """Return the installed package's directory of instances; None without the package."""
    spec = importlib.util.find_spec("programbench")
    return Path(spec.origin).parent / "data" / "tasks" if spec is not None and spec.origin else None


def own_tasks() -> tuple[Path, ...]:
    """Return the user's own directories of instances."""
    return tuple(Path(part) for part in os.environ.get(TASKS_VARIABLE, "").split(os.pathsep) if part)


@dataclass(frozen=True)
class _Place:
    """The directory of an instance; `own` if it is one of the user's."""

    directory: Path
    own: bool


def _directories() -> Mapping[str, _Place]:
    return _scan(package_tasks(), own_tasks())


@cache
def _scan(package: Path | None, own: tuple[Path, ...]) -> Mapping[str, _Place]:
    """Return each instance's place by id; for an id that both have, the package's instance counts."""
    places: dict[str, _Place] = {}
    for root, is_own in (*((path, True) for path in own), *([(package, False)] if package else [])):
        try:
            entries = list(os.scandir(root))
        except OSError as error:
            if is_own:
                raise TaskError(f"{TASKS_VARIABLE}: {root}: {error.strerror}") from None
            continue
        for entry in entries:
            if "__" in entry.name and os.path.isfile(os.path.join(entry.path, "task.yaml")):
                places[entry.name] = _Place(Path(entry.path), is_own)
    return places
