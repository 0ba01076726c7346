"""Counts of the tokens of a prompt, and of those that a provider's prompt cache holds.

A prompt is a list of blocks in the order in which the provider reads them (tools, system, messages),
each a canonical text without its cache mark. OpenAI caches by longest common prefix; Anthropic reads
and writes at marked blocks, looking back at most 20 blocks from a mark.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

LOOK_BACK = 20
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True)
class Block:
    """One piece of a prompt, with the lifetime of its cache mark ("5m", "1h"), or None without a mark."""

    text: str
    mark: str | None = None


@dataclass(frozen=True)
class Counted:
    """Disjoint counts of one prompt."""

    input: int
    read: int = 0
    write_5m: int = 0
    write_1h: int = 0

    @property
    def prompt(self) -> int:
        return self.input + self.read + self.write_5m + self.write_1h


@lru_cache(maxsize=100_000)
def tokens(text: str) -> int:
    """Count words, runs of blanks and single other characters."""
    return len(_TOKEN.findall(text))


def block(where: str, part: Any) -> Block:
    """Return a block with the canonical text of `part`, without its `cache_control`."""
    mark = None
    if isinstance(part, dict) and "cache_control" in part:
        mark = part["cache_control"].get("ttl", "5m")
        part = {key: value for key, value in part.items() if key != "cache_control"}
    return Block(where + " " + json.dumps(part, sort_keys=True, ensure_ascii=False), mark)


def openai_blocks(body: dict[str, Any]) -> list[Block]:
    """Return the blocks of a chat-completions or Responses request; a text that is a string is one text part."""
    blocks = [block("tool", tool) for tool in body.get("tools", [])]
    if body.get("instructions"):
        blocks.append(block("system", body["instructions"]))
    for item in body.get("messages", body.get("input", [])):
        content = item.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if isinstance(parts, list) and "role" in item:
            rest = {key: value for key, value in item.items() if key != "content"}
            blocks += [block(json.dumps(rest, sort_keys=True), part) for part in parts]
        else:
            blocks.append(block("item", item))
    return blocks


def anthropic_blocks(body: dict[str, Any]) -> list[Block]:
    """Return the blocks of a messages request; a text that is a string is one text block."""
    blocks = [block("tool", tool) for tool in body.get("tools", [])]
    for where, content in [("system", body.get("system", []))] + [(m["role"], m["content"]) for m in body["messages"]]:
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks += [block(where, part) for part in parts]
    return blocks


class PromptCache:
    """The earlier prompts that a provider remembers for each model."""

    def __init__(self) -> None:
        self._prompts: dict[str, list[list[Block]]] = {}
        self._marked: set[tuple[str, bytes]] = set()
        self._lock = threading.Lock()

    def automatic(self, model: str, blocks: Sequence[Block]) -> Counted:
        """Count as OpenAI does: by the longest prefix in common with any earlier prompt."""
        texts = [part.text for part in blocks]
        total = sum(map(tokens, texts))
        with self._lock:
            earlier = self._prompts.setdefault(model, [])
            read = max((_common(texts, [part.text for part in other]) for other in earlier), default=0)
            earlier.append(list(blocks))
        return Counted(total - read, read)

    def marked(self, model: str, blocks: Sequence[Block]) -> Counted:
        """Count as Anthropic does: read the longest marked prefix, and write the blocks between it and each mark."""
        digests, digest = [], hashlib.sha256(model.encode())
        for part in blocks:
            digest.update(part.text.encode())
            digests.append((model, digest.digest()))
        marks = [index for index, part in enumerate(blocks) if part.mark]
        with self._lock:
            hits = [
                k for mark in marks for k in range(max(0, mark - LOOK_BACK), mark + 1) if digests[k] in self._marked
            ]
            self._marked.update(digests[mark] for mark in marks)
        start = max(hits, default=-1) + 1
        read = sum(tokens(part.text) for part in blocks[:start])
        written = {"5m": 0, "1h": 0}
        for mark in (mark for mark in marks if mark >= start):
            written[str(blocks[mark].mark)] += sum(tokens(part.text) for part in blocks[start : mark + 1])
            start = mark + 1
        return Counted(sum(tokens(part.text) for part in blocks[start:]), read, written["5m"], written["1h"])


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    count = 0
    for ours, other in zip(left, right, strict=False):
        if ours == other:
            count += tokens(ours)
            continue
        for token, against in zip(_TOKEN.findall(ours), _TOKEN.findall(other), strict=False):
            if token != against:
                break
            count += 1
        break
    return count
