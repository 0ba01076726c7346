"""The order of events and the messages of a call, as docs/reference/record.md describes them, hold in all records.

Nothing of Retrace reads the records here: it is the page that is tested.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "record.md").read_text(encoding="utf-8")
RECORDS = sorted([*ROOT.glob("tests/records/v*/*/*/events.jsonl"), *ROOT.glob("docs/recordings/*/events.jsonl")])
every_record = pytest.mark.parametrize("path", RECORDS, ids=lambda path: f"{path.parts[-4]}-{path.parent.name}")


def events_of(path: Path) -> list[dict[str, Any]]:
    """Return the objects of all lines that end with a newline."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def rules() -> dict[str, str]:
    """Return the rules of the page's grammar."""
    section = PAGE.split("### Order of events")[1].split("```")[1]
    return dict(re.findall(r"^(\w+)\s*=\s*(.+)$", section, re.M))


class Prefixes:
    """All beginnings of what a rule of the grammar describes: the sets of positions that a list of types can reach."""

    def __init__(self, types: list[str]) -> None:
        self._types = types
        self._rules = rules()
        self.passed: set[int] = set()
        """Positions after an event that fits: the part may be cut off there."""

    def ends(self, text: str, starts: set[int]) -> set[int]:
        """Return the positions at which a part of the grammar can end that begins at one of these positions."""
        ends: set[int] = set()
        for sequence in self._split(text, "|"):
            reached = starts
            for atom, repeated in re.findall(r"(\w+|\((?:[^()]|\([^()]*\))*\))([*+?]?)", sequence):
                reached = self._repeat(atom, repeated, reached)
            ends |= reached
        return ends

    def _repeat(self, atom: str, repeated: str, starts: set[int]) -> set[int]:
        reached = set(starts) if repeated in ("*", "?") else set()
        fresh = self._atom(atom, starts)
        while fresh - reached:
            reached |= fresh
            fresh = self._atom(atom, fresh) if repeated in ("*", "+") else set()
        return reached

    def _atom(self, atom: str, starts: set[int]) -> set[int]:
        if atom.startswith("("):
            return self.ends(atom[1:-1], starts)
        if atom in self._rules:
            return self.ends(self._rules[atom], starts)
        reached = {at + 1 for at in starts if at < len(self._types) and self._types[at] == atom}
        self.passed |= reached
        return reached

    @staticmethod
    def _split(text: str, separator: str) -> list[str]:
        parts, depth = [""], 0
        for character in text:
            depth += (character == "(") - (character == ")")
            if character == separator and depth == 0:
                parts.append("")
            else:
                parts[-1] += character
        return parts


def problem(types: list[str]) -> str:
    """Return the part of a record that is not in the documented order, or an empty text."""
    types = [name for name in types if name != "warning"]
    of_trial = types[:1] != ["role_record_started"]
    ends, todo = {0}, [(0, "begin rest" if of_trial else "plan")]
    while todo:
        start, beginning = todo.pop()
        prefixes = Prefixes(types)
        prefixes.ends(beginning, {start})
        todo += [(end, "resume rest") for end in prefixes.passed - ends if of_trial]
        ends |= prefixes.passed
    return "" if len(types) in ends else f"event {max(ends)}: {types[max(ends) :][:5]}"


@every_record
def test_the_events_of_a_record_come_in_the_documented_order(path: Path) -> None:
    assert problem([event["type"] for event in events_of(path)]) == ""


@pytest.mark.parametrize(
    "types",
    [
        ["env_started"],
        ["trial_started", "call_finished"],
        ["trial_started", "env_started", "snapshot", "message", "action_finished"],
        ["trial_started", "call_started", "call_finished", "vote"],
        ["trial_started", "exit", "workspace_exported", "call_started"],
        ["role_record_started", "exit"],
    ],
    ids=lambda types: types[-1],
)
def test_another_order_is_not_the_documented_one(types: list[str]) -> None:
    assert problem(types) != ""


def test_every_type_of_event_has_its_place() -> None:
    """`paused` and `resumed` around a person's reply, `warning` and `checkpoint` are described in words."""
    documented = set(re.findall(r"^### `(\w+)`", PAGE, re.M))
    placed = set(re.findall(r"\w+", " ".join(rules().values()))) - set(rules())
    assert placed - documented == set()
    assert documented - placed == {"warning"}


@every_record
def test_the_messages_of_a_call_are_those_that_the_page_describes(path: Path) -> None:
    """For each `call_started`: their number, the ids of the new ones, and the hash over all of them."""
    ids: dict[str | None, list[str]] = {}
    hashes: dict[str | None, bytes] = {}
    told: dict[str | None, int] = {}
    for event in events_of(path):
        thread = event.get("thread")
        if event["type"] == "message":
            content = [event["role"], event["content"], event.get("tool_call_id")]
        elif event["type"] in ("inherited_reply", "call_finished"):
            content = ["assistant", with_defaults(event["reply"])]
        elif event["type"] == "call_started":
            own = ids.get(thread, [])
            assert event["messages"] == len(own)
            assert event["message_ids"] == own[told.get(thread, 0) :]
            assert event["messages_sha256"] == hashlib.sha256(hashes.get(thread, b"")).hexdigest()
            told[thread] = len(own)
            continue
        else:
            continue
        line = json.dumps(content, sort_keys=True, separators=(",", ":"))
        ids.setdefault(thread, []).append(event["id"])
        hashes[thread] = hashes.get(thread, b"") + hashlib.sha256(line.encode()).digest()


def with_defaults(reply: dict[str, Any]) -> dict[str, Any]:
    """Return a reply with all of its four fields, and the texts in its message that the line leaves out."""
    whole = {"text": "", "tool_calls": [], "refusal": "", "message": {}, **reply}
    if whole.pop("without_copies", False):
        message = whole["message"]
        output = message.get("output") or []
        content = [part for part in message.get("content") or [] if isinstance(part, dict)]
        places = [message, *content, *(part for item in output for part in item.get("content") or [])]
        calls = [call["function"] for call in message.get("tool_calls") or []]
        calls += [item for item in output if item["type"] == "function_call"]
        for key in ("content", "text"):
            for place in places:
                if key in place and place[key] is None:
                    place[key] = whole["text"]
        for place, call in zip(calls, whole["tool_calls"], strict=bool(calls)):
            if place["arguments"] is None:
                place["arguments"] = call["arguments"]
    return whole
