"""A model's reasoning, if its provider returned it as text; signed and encrypted parts are ignored."""

from __future__ import annotations

from typing import Any

from trajectories.record.events import Reply


def reasoning_of(reply: Reply) -> str:
    """Return the text of `reasoning_content`, Anthropic's thinking blocks or Responses summaries; otherwise empty."""
    message = reply.message
    if isinstance(message.get("reasoning_content"), str):
        return str(message["reasoning_content"])
    for key, kind, name in (("thinking_blocks", "thinking", "thinking"), ("content", "thinking", "thinking")):
        texts = [block.get(name) for block in _objects(message.get(key)) if block.get("type") == kind]
        if texts:
            return "\n\n".join(text for text in texts if isinstance(text, str))
    summaries = [
        part.get("text")
        for item in _objects(message.get("output"))
        if item.get("type") == "reasoning"
        for part in _objects(item.get("summary"))
    ]
    return "\n\n".join(text for text in summaries if isinstance(text, str))


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
