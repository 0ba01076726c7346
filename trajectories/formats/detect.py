"""Detection of the program that wrote a document, by the content and never by the name."""

from __future__ import annotations

import re
from typing import Any

from trajectories.formats.errors import BadDocument

MINI = "mini-swe-agent"
_MINI_LABEL = re.compile(r"mini-swe-agent-1(\.\d+)?(\s.*)?")


def require_mini(value: Any) -> None:
    """Accept a mini-swe-agent trajectory of a known version.

    Raises: BadDocument for anything else, with what it seems to be.
    """
    if isinstance(value, list):
        if value and all(isinstance(item, dict) and "role" in item for item in value):
            return
        raise BadDocument(f"a list that is not a conversation; only {MINI}'s trajectories can be imported")
    if not isinstance(value, dict):
        raise BadDocument(f"not a trajectory; only {MINI}'s trajectories can be imported")
    label = value.get("trajectory_format")
    if isinstance(value.get("messages"), list) and (isinstance(value.get("info"), dict) or label is not None):
        if label is not None and not (isinstance(label, str) and _MINI_LABEL.fullmatch(label)):
            raise BadDocument(f"unknown version {label!r}; known are mini-swe-agent-1 and 1.x", "trajectory_format")
        return
    raise BadDocument(f"{_foreign(value)}; only {MINI}'s trajectories can be imported")


def _foreign(value: dict[str, Any]) -> str:
    if str(value.get("schema_version", "")).startswith("ATIF"):
        return "an ATIF trajectory"
    if "trajectory" in value or "history" in value:
        return "a trajectory of SWE-agent"
    if value.get("version") in (2, 3) and ("width" in value or "term" in value):
        return "an asciicast"
    if "sessionId" in value:
        return "a session of another agent"
    if isinstance(value.get("messages"), list):
        return "a conversation without the `info` of a trajectory"
    return "not a trajectory"
