"""Lists that a caller gives as files: the tier of each task, the tasks of a benchmark."""

from __future__ import annotations

from pathlib import Path

from scoring.agentmeter.tiers import Tier, tiers_from_words
from scoring.errors import ScoringError


def read_tiers(path: Path) -> dict[str, Tier]:
    """Return tiers by task from YAML or JSON: `TASK: easy|medium|hard`, or a report of `agent score --json`.

    Raises: ScoringError, naming the file.
    """
    import yaml

    from trajectories.strict_yaml import StrictLoader

    try:
        content = yaml.load(_text(path), StrictLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise ScoringError(f"{path}: not a list of tiers: {' '.join(str(error).split())}") from None
    if isinstance(content, dict) and isinstance(content.get("task_tiers"), dict):
        content = content["task_tiers"]
    if not isinstance(content, dict) or not content:
        raise ScoringError(f"{path}: not a list of tiers: write a line `TASK: easy`, `medium` or `hard` for each task")
    try:
        return tiers_from_words({str(task): str(word) for task, word in content.items()})
    except ScoringError as error:
        raise ScoringError(f"{path}: {error}") from None


def read_tasks(path: Path) -> tuple[str, ...]:
    """Return task ids, one per line; empty lines and lines that begin with # are skipped.

    Raises: ScoringError, naming the file.
    """
    lines = [line.strip() for line in _text(path).splitlines()]
    tasks = [line for line in lines if line and not line.startswith("#")]
    if not tasks:
        raise ScoringError(f"{path}: names no task; write one id per line")
    if duplicates := sorted({task for task in tasks if tasks.count(task) > 1}):
        raise ScoringError(f"{path}: names {duplicates[0]} twice")
    return tuple(tasks)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScoringError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScoringError(f"{path}: cannot be read: it is not UTF-8 text") from None
