"""What makes a trial this trial, and the directory it gets.

In: task content, image reference and conditions of the environment, model and settings, prompt and
plan content, limits, environment kind, variant. Out: ports, paths, uuids, dates, local image ids,
log levels. The attempt makes trials of one configuration distinct.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trajectories.errors import RecordError
from trajectories.record.events import TrialStarted

_CONDITIONS = ("image", "platform", "network", "cpus", "memory_bytes", "pids", "user", "env")
_LATER: Mapping[str, Any] = {"disk_bytes": None, "shm_bytes": None, "ulimits": {}, "shell": "fresh"}
"""Conditions that came later, with their defaults: left out where they have them, so that identities stay."""
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


def sha256_of(value: Any) -> str:
    """sha256 in hex over the canonical JSON of a value (text: over its UTF-8 bytes)."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def configuration_hash(start: TrialStarted) -> str:
    """The identity without the attempt: trials that share it are attempts at the same thing."""
    return sha256_of(
        {
            "task": start.task.digest,
            "conditions": _conditions(start.environment_spec),
            "model": [start.model.name, start.model.settings],
            "prompt": start.prompt.sha256,
            "plan": start.plan and start.plan.sha256,
            "limits": start.limits.model_dump(),
            "environment": start.environment,
            "variant": start.variant,
            "parent": start.parent and start.parent.model_dump(),
            **({"injected": start.injected.sha256} if start.injected else {}),
        }
    )


def _conditions(spec: Mapping[str, Any]) -> dict[str, Any]:
    later = {key: spec[key] for key, usual in _LATER.items() if spec.get(key, usual) != usual}
    return {key: value for key, value in spec.items() if key in _CONDITIONS} | later


def claim_directory(
    batch: Path, task: str, model: str, configuration: str, attempt: int | None = None
) -> tuple[Path, int]:
    """Make and return the directory of the next free attempt (or of `attempt`), and its number.

    Raises: RecordError if it cannot be made or `attempt` is taken.
    """
    stem = f"{_slug(task)}.{_slug(model)}.{configuration[:8]}"
    try:
        batch.mkdir(parents=True, exist_ok=True)
        number = attempt or 1 + max((_number(path, stem) for path in batch.glob(f"{stem}.*")), default=0)
        while True:
            directory = batch / f"{stem}.{number}"
            try:
                directory.mkdir()
            except FileExistsError:
                if attempt is not None:
                    raise RecordError(f"{directory}: attempt {attempt} is there already") from None
                number += 1
            else:
                return directory, number
    except OSError as error:
        raise RecordError(
            f"cannot write trials to {batch}: {error.strerror}; choose another place with --runs"
        ) from None


def _number(path: Path, stem: str) -> int:
    suffix = path.name[len(stem) + 1 :]
    return int(suffix) if suffix.isascii() and suffix.isdecimal() else 0


def _slug(text: str) -> str:
    return _NOT_SLUG.sub("-", text.rpartition("/")[2].lower()).strip("-")[:40] or "x"
