"""Identity of a trial: a hash of everything that distinguishes its configuration from others.

Included: content of the task, image reference and conditions of the environment, model and settings, content of prompt
and plan, limits, kind of the environment, variant, and where they are set the chain's policy, guidance, the rule of a
plan and revealed tests. Excluded: ports, paths, uuids, dates, local image ids, log levels, mode and label. The number
of the attempt distinguishes trials of one configuration, and that of the turn the trials of one chain.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from trajectories.record.events import TrialStarted

_CONDITIONS = ("image", "platform", "network", "cpus", "memory_bytes", "pids", "user", "env")
_LATER: Mapping[str, Any] = {"disk_bytes": None, "shm_bytes": None, "ulimits": {}, "shell": "fresh"}
"""Conditions that were added later, with their defaults. A default is left out, so that identities stay the same."""


def sha256_of(value: Any) -> str:
    """Return the sha256 in hex over the canonical JSON of a value, or over the UTF-8 bytes of a text."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def identity_of(start: TrialStarted) -> str:
    """Return the identity of a trial, from everything else in its first event."""
    return identity_in(configuration_hash(start), start.attempt, start.turn)


def identity_in(configuration: str, attempt: int, turn: int | None) -> str:
    """Return the identity of a trial, from the hash of its configuration and its numbers."""
    numbers = [attempt] if turn is None else [attempt, turn]
    return sha256_of([configuration, *numbers])


def configuration_hash(start: TrialStarted) -> str:
    """Return the identity without the numbers. Trials that share it are attempts at, or turns of, one configuration."""
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
            **_interventions(start),
        }
    )


def _interventions(start: TrialStarted) -> dict[str, Any]:
    """Return what came with schema 2.1, only where it is set, so that older identities stay the same."""
    chain, guidance = start.chain, start.guidance
    parts: dict[str, Any] = {}
    if chain is not None and not chain.stages:  # those are part of the task
        parts["chain"] = [chain.turns, chain.feedback, chain.conversation, chain.until]
    if guidance is not None:
        model, prompt, file = guidance.model, guidance.prompt, guidance.file
        parts["guidance"] = [
            guidance.by,
            model and [model.name, model.settings],
            prompt and prompt.sha256,
            file and file.sha256,
            guidance.max,
            guidance.rule,
        ]
    if start.plan is not None and start.plan.rule == "no-code":
        parts["plan_rule"] = start.plan.rule
    if start.tests_revealed:
        parts["tests_revealed"] = True
    return parts


def _conditions(spec: Mapping[str, Any]) -> dict[str, Any]:
    later = {key: spec[key] for key, default in _LATER.items() if spec.get(key, default) != default}
    return {key: value for key, value in spec.items() if key in _CONDITIONS} | later
