"""Answers of the judges in the tests."""

from __future__ import annotations

import json
from pathlib import Path

from trajectories.record.panel import KINDS


def answer(**violated: int) -> str:
    """Write a good answer; each named kind is violated at this step."""
    content = {}
    for kind in KINDS:
        content[kind] = {
            "violated": kind in violated,
            "confidence": 0.9,
            "step": violated.get(kind),
            "why": f"{kind}: as recorded",
        }
    return json.dumps(content)


def judge(folder: Path, name: str, *texts: str, usage: dict[str, int] | None = None) -> str:
    """Name a `script:` model that replies with these texts in turn."""
    path = folder / f"judge-{name}.json"
    path.write_text(json.dumps([{"text": text, "usage": usage or {}} for text in texts]))
    return f"script:{path}"
