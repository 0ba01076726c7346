"""Detection of the program that wrote a document, by the content and never by the name."""

from __future__ import annotations

import re
from typing import Any, Literal

from trajectories.formats.errors import BadDocument

MINI = "mini-swe-agent"
_ONLY = f"only trajectories of {MINI} and in ATIF can be imported"
_MINI_LABEL = re.compile(r"mini-swe-agent-1(\.\d+)?(\s.*)?")


def detect(value: Any) -> Literal["mini", "atif"]:
    """Return the format of a document: a mini-swe-agent trajectory of a known version, or an ATIF trajectory.

    Raises: BadDocument for anything else, with what it seems to be.
    """
    if isinstance(value, list):
        if value and all(isinstance(item, dict) and "role" in item for item in value):
            return "mini"
        raise BadDocument(f"{_foreign_list(value)}; {_ONLY}")
    if not isinstance(value, dict):
        raise BadDocument(f"not a trajectory; {_ONLY}")
    if str(value.get("schema_version", "")).startswith("ATIF") or _looks_like_atif(value):
        return "atif"
    label = value.get("trajectory_format")
    if isinstance(value.get("messages"), list) and (isinstance(value.get("info"), dict) or label is not None):
        if label is not None and not (isinstance(label, str) and _MINI_LABEL.fullmatch(label)):
            raise BadDocument(f"unknown version {label!r}; known are mini-swe-agent-1 and 1.x", "trajectory_format")
        return "mini"
    raise BadDocument(f"{_foreign(value)}; {_ONLY}")


def _foreign_list(value: list[Any]) -> str:
    items = [item for item in value if isinstance(item, dict)]
    if items and all("source" in item and ("action" in item or "observation" in item) for item in items):
        return "a list of events of OpenHands"
    if items and all("conversations" in item for item in items):
        return "an export of conversations"
    return "a list that is not a conversation"


def _looks_like_atif(value: dict[str, Any]) -> bool:
    """Recognize a document that leaves out its version, which the format allows."""
    return (
        "schema_version" not in value and isinstance(value.get("agent"), dict) and isinstance(value.get("steps"), list)
    )


def _foreign(value: dict[str, Any]) -> str:
    if "trajectory" in value or "history" in value:
        return "a trajectory of SWE-agent"
    if value.get("version") in (2, 3) and ("width" in value or "term" in value):
        return "an asciicast"
    if "sessionId" in value:
        return "a session of another agent"
    if isinstance(value.get("messages"), list):
        return "a conversation without the `info` of a trajectory"
    return "not a trajectory"
