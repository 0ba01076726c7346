"""Harbor's `registry.json` in a checkout: a dataset's tasks by name, each with its repository, commit and path.

An entry counts if it has the dataset's name and the commit that is checked out. Nothing is downloaded: tasks of another
commit are named with the commit that has them.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, ValidationError

from benchmarks.task import formats
from benchmarks.task.task import TaskError

_BYTES = 256 << 20
_GIT_S = 20.0


class RegisteredTask(BaseModel):
    """A task of a dataset: a path in a repository."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    path: str
    git_url: str | None = None
    git_commit_id: str | None = None


class Entry(BaseModel):
    """One version of a dataset."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    version: str = ""
    tasks: tuple[RegisteredTask, ...]


def entry(name: str, path: Path) -> Entry | None:
    """Return the entry of this name, of the version that is checked out; None if the registry has no such name.

    Raises: TaskError if the registry cannot be read, or names other commits only.
    """
    versions = _entries(path, name)
    if not versions:
        return None
    root = path.parent
    commit = _commit(root)
    fitting = max(reversed(versions), key=lambda version: len(_here(version, commit)))
    if not _here(fitting, commit):
        wanted = next((task for task in fitting.tasks if task.git_commit_id), None)
        if wanted is None:
            raise TaskError(f"{path}: {fitting.name} {fitting.version} has no task")
        raise TaskError(
            f"{path}: {name} is at commit {wanted.git_commit_id} of {wanted.git_url}, but {root} "
            + (f"is at {commit}" if commit else "is not a Git checkout")
            + "; check that commit out, or use another --name for all tasks in the folder"
        )
    return fitting


def located(entry: Entry, root: Path) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return the directories of an entry's tasks by name, sorted, and a line for each task that is not there."""
    commit = _commit(root)
    tasks, absent = {}, []
    for task in sorted(entry.tasks, key=lambda task: task.name):
        place = root / task.path
        if not _is_at(task, commit):
            where = f"commit {task.git_commit_id}" if task.git_commit_id else "the newest commit"
            absent.append(f"{task.name}: is in {where} of {task.git_url}, and not in {root}")
        elif PurePosixPath(task.path).is_absolute() or ".." in PurePosixPath(task.path).parts:
            absent.append(f"{task.name}: its path {task.path!r} in the registry leads out of the checkout")
        elif formats.format_of(place) is None:
            absent.append(f"{task.name}: {place} holds no task")
        else:
            tasks[task.name.replace("/", "__")] = place
    return tasks, tuple(absent)


def _entries(path: Path, name: str) -> list[Entry]:
    """Return the versions of a dataset. A name with other characters than a dataset may have is compared without them.

    Raises: TaskError.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_BYTES + 1)
        if len(data) > _BYTES:
            raise TaskError(f"{path}: is larger than {_BYTES >> 20} MiB")
        content = json.loads(data)
        if not isinstance(content, list):
            raise TaskError(f"{path}: must be a list of datasets, as Harbor's registry is")
        chosen = [
            item for item in content if isinstance(item, dict) and _plain(str(item.get("name", ""))) == _plain(name)
        ]
        return [Entry.model_validate(item) for item in chosen]
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise TaskError(f"{path}: {name}: {key}: {first['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{path}: is not JSON: {error}") from None


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).lower()


def _here(entry: Entry, commit: str) -> Sequence[RegisteredTask]:
    return [task for task in entry.tasks if _is_at(task, commit)]


def _is_at(task: RegisteredTask, commit: str) -> bool:
    """Return True for a task of this commit, and for one of no commit in no repository: a path beside the registry."""
    if task.git_commit_id is None:
        return task.git_url is None
    return bool(commit) and commit.startswith(task.git_commit_id.lower()) and len(task.git_commit_id) >= 7


def _commit(root: Path) -> str:
    """Return the commit of a checkout in hex; empty if the folder is not the top of one."""
    if not (root / ".git").exists():
        return ""
    try:
        run = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "--verify", "HEAD"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_GIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.strip().lower() if run.returncode == 0 else ""
