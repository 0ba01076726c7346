"""What makes a trial this trial.

In: task content, image reference and conditions of the environment, model and settings, prompt and
plan content, limits, environment kind, variant. Out: ports, paths, uuids, dates, local image ids,
log levels. The attempt makes trials of one configuration distinct.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from trajectories.record.events import TrialStarted

_CONDITIONS = ("image", "platform", "network", "cpus", "memory_bytes", "pids", "user", "env")
_LATER: Mapping[str, Any] = {"disk_bytes": None, "shm_bytes": None, "ulimits": {}, "shell": "fresh"}
"""Conditions that came later, with their defaults: left out where they have them, so that identities stay."""


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
