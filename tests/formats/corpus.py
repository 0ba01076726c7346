"""Real mini-swe-agent files, and an independent count of their contents that uses none of our code."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trajectories.record.events import ActionFinished, Event

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "mini-swe-agent"
FILES = sorted(path for path in DATA.rglob("*") if path.is_file() and ".json" in path.name)


def with_known_end(events: Iterable[Event]) -> list[ActionFinished]:
    """Return the ends of the commands, without those of which the file holds nothing."""
    ends = [event for event in events if isinstance(event, ActionFinished)]
    return [event for event in ends if event.ended != "unknown" or event.output.complete]


def name_of(path: Path) -> str:
    return str(path.relative_to(DATA))


@dataclass(frozen=True)
class Count:
    """The figures of a file, added up independently."""

    replies: int
    lost_replies: int
    calls: int | None
    prompt: int | None
    cached: int | None
    output: int | None
    cost_usd: float | None
    codes: list[int | None]
    """Return code of each observation; None if the text does not show it."""
    commands: int
    status: str | None


def count(path: Path) -> Count:
    value = json.loads(path.read_text())
    messages = value if isinstance(value, list) else value["messages"]
    info = {} if isinstance(value, list) else value["info"]
    replies = [m for m in messages if m.get("role") == "assistant" or m.get("object") == "response"]
    usages = [usage for m in replies if (usage := _usage(m)) is not None]
    costs = [m["extra"]["cost"] for m in replies if "cost" in m.get("extra", {})]
    stats = info.get("model_stats", {})
    total = 0.0
    for cost in costs:
        total += cost
    has_all = bool(replies) and len(costs) == len(replies)
    return Count(
        replies=len(replies),
        lost_replies=sum(m.get("extra", {}).get("interrupt_type") == "FormatError" for m in messages),
        calls=stats.get("api_calls"),
        prompt=sum(_prompt(usage) for usage in usages) if usages else None,
        cached=sum(_cached(usage) for usage in usages) if usages else None,
        output=sum(u["completion_tokens"] if "completion_tokens" in u else u["output_tokens"] for u in usages)
        if usages
        else None,
        cost_usd=total if has_all else stats.get("instance_cost"),
        codes=[code for m in messages for code in _codes(m)],
        commands=sum(_commands(m) for m in replies),
        status=info.get("exit_status"),
    )


def _usage(message: dict[str, Any]) -> dict[str, Any] | None:
    return message.get("usage") or message.get("extra", {}).get("response", {}).get("usage")


def _prompt(usage: dict[str, Any]) -> int:
    if "prompt_tokens" in usage:
        return usage["prompt_tokens"]
    if "input_tokens_details" in usage:
        return usage["input_tokens"]
    return usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]


def _cached(usage: dict[str, Any]) -> int:
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
    return details.get("cached_tokens") or usage.get("cache_read_input_tokens") or 0


def _commands(message: dict[str, Any]) -> int:
    actions = message.get("extra", {}).get("actions")
    if actions is not None:
        return len(actions)
    return len(re.findall(r"```(?:bash|mswea_bash_command)\n", message["content"]))


def _codes(message: dict[str, Any]) -> list[int | None]:
    extra = message.get("extra", {})
    if "returncode" in extra:
        return [extra["returncode"]]
    if "observations" in extra:
        return [observation["returncode"] for observation in extra["observations"]]
    if message.get("role") != "user":
        return []
    content = message["content"]
    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
    if text.startswith("Observation: "):
        return [ast.literal_eval(text.removeprefix("Observation: "))["returncode"]]
    match = re.match(r"<returncode>(-?\d+)</returncode>", text)
    return [int(match[1])] if match else []
