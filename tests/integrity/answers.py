"""What judges of the tests say."""

from __future__ import annotations

import json
from pathlib import Path

from trajectories.record.panel import KINDS


def answer(**violated: int) -> str:
    """A good answer; each named kind is violated at this step."""
    content = {}
    for kind in KINDS:
        why = f"{kind}: as recorded"
        content[kind] = {"violated": kind in violated, "confidence": 0.9, "step": violated.get(kind), "why": why}
    return json.dumps(content)


def judge(folder: Path, name: str, *texts: str, usage: dict[str, int] | None = None) -> str:
    """A `script:` model that replies with these texts in turn."""
    path = folder / f"judge-{name}.json"
    path.write_text(json.dumps([{"text": text, "usage": usage or {}} for text in texts]))
    return f"script:{path}"
