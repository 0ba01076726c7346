"""Which program wrote a document, told by its content and never by its name."""

from __future__ import annotations

import re
from typing import Any

from trajectories.formats.errors import BadDocument

MINI = "mini-swe-agent"
_MINI_LABEL = re.compile(r"mini-swe-agent-1(\.\d+)?(\s.*)?")


def require_mini(value: Any) -> None:
    """Pass over a mini-swe-agent trajectory of a version that is known.

    Raises: BadDocument for anything else, saying what it seems to be.
    """
    if isinstance(value, list):
        if value and all(isinstance(item, dict) and "role" in item for item in value):
            return
        raise BadDocument(f"a list that is no conversation; imported are {MINI}'s trajectories")
    if not isinstance(value, dict):
        raise BadDocument(f"no trajectory; imported are {MINI}'s")
    label = value.get("trajectory_format")
    if isinstance(value.get("messages"), list) and (isinstance(value.get("info"), dict) or label is not None):
        if label is not None and not (isinstance(label, str) and _MINI_LABEL.fullmatch(label)):
            raise BadDocument(f"version {label!r} is not known; read are mini-swe-agent-1 and 1.x", "trajectory_format")
        return
    raise BadDocument(f"{_foreign(value)}; imported are {MINI}'s trajectories")


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
    return "no trajectory"
